"""Rehearsing: every write of the saga is sent to the API server with dryRun=All; then a person is asked, or not.

Needs the stop switch and rights, no approval. A write that depends on an earlier one of the same saga can't be
rehearsed (the earlier one has not happened); it is labelled so, and bound by its body.
"""

from __future__ import annotations

from handrail.core.asking import after_rehearsal, asked, not_yet, only_observes
from handrail.core.blast import blast
from handrail.core.budgets import objects
from handrail.core.fingerprint import NOT_COMING_BACK, diff, fingerprint, gone
from handrail.core.gate import Rules, foresee, foreseen_end
from handrail.core.passing import may_pass
from handrail.effects import storm
from handrail.effects.around import around
from handrail.effects.latch import held_by_cluster, latch
from handrail.effects.quiet import kept_off, silenced_now
from handrail.effects.taking_back import touched_since
from handrail.effects.tools import Tools
from handrail.model import events as ev
from handrail.model.errors import Bug
from handrail.model.hands import DryRun, Held
from handrail.model.incident import Incident
from handrail.model.reason import Reason, Refusal
from handrail.model.saga import Rehearsal, RehearsedWrite, Saga, SagaStep
from handrail.model.step import Sight, Step
from handrail.model.write import Direction, Verb, Write, key_of


async def rehearse(tools: Tools, incident: Incident) -> Incident:
    """Appends the rehearsal and, with it, the question or the clearance; or voids, or hands over."""
    saga = _saga(incident)
    policy = tools.policy()
    refusal = only_observes(saga, policy, tools.config.kubernetes.hands_enabled)
    if refusal is not None:
        return await _hand_over(tools, incident, refusal)
    rehearsal = await _rehearsal(tools, saga)
    if isinstance(rehearsal, Refusal):
        flaps = not incident.taking_back and may_pass(rehearsal, saga.at, tools.now())
        return incident if flaps else await _refused(tools, incident, rehearsal)
    seen, silence = await silenced_now(tools, incident)
    if silence is not None and not incident.taking_back:
        return await tools.store.append(incident, (silence,))
    rules = Rules(policy=policy, own_namespace=tools.config.kubernetes.own_namespace, now=tools.now())
    after = await _refused_anyway(tools, incident, rehearsal, rules)
    decide = asked if await storm.asks_anyway(tools, incident) else after_rehearsal
    after = after or decide(rehearsal, policy, tools.new_id(), rules.now, seen.away)
    return await tools.store.append(incident, (ev.Rehearsed(rehearsal=rehearsal), after))


async def _refused_anyway(tools: Tools, incident: Incident, rehearsal: Rehearsal, rules: Rules) -> ev.Event | None:
    """Nobody is asked for what the gate would refuse whatever they say."""
    writes = [one.write for one in rehearsal.writes]
    planned = incident.model_copy(update={"rehearsal": rehearsal})
    recent = await tools.store.recent(incident, {write.object.uid for write in writes})
    spent = await tools.store.spent(incident, objects(planned))
    refusal = foresee(planned, writes, recent, rules, spent)
    if refusal is None:
        return None
    return not_yet(refusal, incident, foreseen_end(refusal, planned, recent, rules, spent), rules.now)


async def _rehearsal(tools: Tools, saga: Saga) -> Rehearsal | Refusal:
    rehearsed: list[RehearsedWrite] = []
    touched: set[str] = set()
    first: Sight | None = None
    for step in saga.steps:
        seen = await look(tools, step)
        if isinstance(seen, Refusal):
            return seen
        first = first or seen
        for write in stamped(tools.step(step.step), step, seen, saga):
            one = await _one(tools, step.index, write, depends=write.object.uid in touched)
            if not isinstance(one, Refusal):
                one = touched_since(step, one) or one
            if isinstance(one, Refusal):
                return one
            touched.add(write.object.uid)
            rehearsed.append(one)
    if first is None or not rehearsed:
        return Refusal(reason=Reason.NO_CHANGE, detail="the plan would change nothing")
    writes = tuple(one.write for one in rehearsed)
    beside = await around(tools.eyes, first.thing, saga.steps, writes)
    touches = blast(first.thing, saga.steps, writes, beside)
    return Rehearsal(saga=saga, writes=tuple(rehearsed), blast=touches)


async def look(tools: Tools, step: SagaStep) -> Sight | Refusal:
    """The step's own look, its check on what it saw, and whether somebody wants to be left alone there."""
    code = tools.step(step.step)
    seen = await code.look(tools.eyes, step.target)
    if seen is None:
        return Refusal(reason=Reason.TARGET_GONE, detail=f"{step.target} is gone")
    refusal = code.check(seen, code.Params.model_validate(step.params))
    refusal = refusal or await kept_off(tools.eyes, seen.thing, tools.now())
    return refusal if refusal is not None else seen


def stamped(code: Step, step: SagaStep, seen: Sight, saga: Saga) -> tuple[Write, ...]:
    """The step's writes with their keys."""
    params = code.Params.model_validate(step.params)
    return tuple(stamp(write, saga, step.index, Direction.DO) for write in code.writes(seen, params))


def stamp(write: Write, saga: Saga, step: int, direction: Direction) -> Write:
    return write.model_copy(update={"key": key_of(saga.incident, saga.round, step, direction, write)})


async def _one(tools: Tools, step: int, write: Write, *, depends: bool) -> RehearsedWrite | Refusal:
    if depends:
        return RehearsedWrite(step=step, write=write, fingerprint="", after="", diff="", undo_diff="", rehearsed=False)
    dry = await tools.hands.dry_run(write)
    if isinstance(dry, Refusal):
        return await held_by_cluster(tools, write, dry) or dry
    return shown_by(dry, step, write)


def shown_by(dry: DryRun, step: int, write: Write) -> RehearsedWrite | Refusal:
    """What the API server says would change. A dry-run that changes nothing is no repair (case 24).

    What is deleted or evicted has no other side: it is bound by its UID and declared body.
    """
    if write.verb in (Verb.DELETE, Verb.EVICT):
        print_ = fingerprint(dry.before, with_replicas=False)
        return RehearsedWrite(
            step=step, write=write, fingerprint=print_, after="", diff=gone(dry.before), undo_diff=NOT_COMING_BACK
        )
    if dry.after is None:
        raise Bug(f"{write.verb} has no other side to compare")
    with_replicas = write.sets_replicas
    change = diff(dry.before, dry.after, with_replicas=with_replicas)
    if not change:
        return Refusal(reason=Reason.NO_CHANGE, detail=f"{write.summary}: the API server would change nothing")
    return RehearsedWrite(
        step=step,
        write=write,
        fingerprint=fingerprint(dry.before, with_replicas=with_replicas),
        after=fingerprint(dry.after, with_replicas=with_replicas),
        diff=change,
        undo_diff=diff(dry.after, dry.before, with_replicas=with_replicas),
    )


async def _refused(tools: Tools, incident: Incident, refusal: Refusal) -> Incident:
    """The world moved between look and rehearsal: gather again. The cluster holds a stop: it is ours from now on, and
    this goes on from here after `start`. Else the server (or a check) said no."""
    if isinstance(refusal, Held):
        return await latch(tools, incident, refusal)
    if incident.taking_back:
        return await _hand_over(tools, incident, refusal)
    if refusal.reason in (Reason.DRIFTED, Reason.NO_CHANGE, Reason.NO_HEALTHY_REVISION, Reason.ROLLOUT_IN_PROGRESS):
        voided = ev.Voided(reason=refusal.reason, detail=refusal.detail)
        return await tools.store.append(incident, (voided,))
    return await _hand_over(tools, incident, refusal)


async def _hand_over(tools: Tools, incident: Incident, refusal: Refusal) -> Incident:
    return await tools.store.append(incident, (ev.HandedOver(reason=refusal.reason, detail=refusal.detail),))


def _saga(incident: Incident) -> Saga:
    if incident.saga is None:
        raise Bug("rehearsing without a saga")
    return incident.saga
