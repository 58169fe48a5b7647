"""Acting: one write of one step, or of its undo. Read again, dry-run again, pass the gate, write, record.

Before the first intent any difference voids the approval and the incident looks anew; after it a difference means the
step failed and what was done is taken back. The fingerprint that a write expects comes from the journal, never from
the look (design, section 4).
"""

from __future__ import annotations

from handrail.core.budgets import turn_never_came
from handrail.core.conditions import REASONS
from handrail.core.fingerprint import fingerprint
from handrail.core.passing import may_pass
from handrail.core.standing import still_in_place, taken_back
from handrail.effects.latch import held_by_cluster, latch
from handrail.effects.quiet import kept_off, silenced_now
from handrail.effects.rehearse import shown_by, stamp
from handrail.effects.send import carry_out
from handrail.effects.tools import Tools
from handrail.model import events as ev
from handrail.model.errors import Bug, NotYet, Transient
from handrail.model.hands import Held
from handrail.model.incident import Incident
from handrail.model.reason import Reason, Refusal
from handrail.model.saga import RehearsedWrite, Saga, SagaStep
from handrail.model.step import CannotUndo, Done, Step, Undone, Wait
from handrail.model.value import Raw
from handrail.model.write import Direction, Write


async def step(tools: Tools, incident: Incident, index: int) -> Incident:
    """One look of the step and at most one write."""
    if not incident.has_acted and not incident.taking_back:
        left_alone = await _left_alone(tools, incident)
        if left_alone is not None:
            return await tools.store.append(incident, (left_alone,))
    saga, spec, code = _spec(tools, incident, index)
    params = code.Params.model_validate(spec.params)
    seen = await code.look(tools.eyes, spec.target)
    if seen is None:
        return await _no(tools, incident, index, Refusal(reason=Reason.TARGET_GONE, detail=f"{spec.target} is gone"))
    begun = incident.step_run(index)
    if begun is None or not incident.done_writes:  # a stop may lie between the beginning and its first write
        refusal = code.check(seen, params) or await kept_off(tools.eyes, seen.thing, tools.now())
        if refusal is not None:
            return await _no(tools, incident, index, refusal)
    before = begun.before if begun and _intended(incident, index) else code.remember(seen, params)
    following = code.next(seen, params, before, tools.now())
    match following:
        case Wait():
            return incident
        case Done():
            began = _begins(incident, index, before)
            return await tools.store.append(incident, (*([began] if began else []), _done(index, following)))
        case Refusal():
            return await _no(tools, incident, index, following)
        case Write():
            write = stamp(following, saga, index, Direction.DO)
            return await _write(tools, incident, index, before, write)


async def _left_alone(tools: Tools, incident: Incident) -> ev.Event | None:
    """Silenced since it was asked. Where that can't be told, whoever approved knew it or was asked a moment ago; what
    policy lets run by itself is asked now."""
    seen, silence = await silenced_now(tools, incident)
    if silence is not None or seen.away is None or incident.approved_by is not None:
        return silence
    return ev.Voided(reason=Reason.SOURCE_AWAY, detail=f"{seen.away.source}: {seen.away.why}")


def _intended(incident: Incident, index: int) -> bool:
    """Until then what was before may change: others may have been at work first, or a stop stood between."""
    return any(run.intent.step == index for run in incident.writes)


def _begins(incident: Incident, index: int, before: Raw) -> ev.StepBegun | None:
    """What was before is recorded with the step's first intent, as it is then."""
    begun = incident.step_run(index)
    return None if begun and begun.before == before else ev.StepBegun(step=index, before=before)


def _done(index: int, done: Done) -> ev.Event:
    return ev.StepDone(step=index, detail=done.detail)


async def _write(tools: Tools, incident: Incident, index: int, before: Raw, write: Write) -> Incident:
    if write.key in incident.done_keys:
        drifted = Refusal(reason=Reason.DRIFTED, detail=f"done before and reverted by somebody: {write.summary}")
        return await _no(tools, incident, index, drifted)
    rehearsed = incident.rehearsal.of(index, write) if incident.rehearsal else None
    if rehearsed is None or rehearsed.write != write:
        changed = Refusal(reason=Reason.DIFF_CHANGED, detail=f"it would now write something else: {write.summary}")
        return await _no(tools, incident, index, changed)
    expected = expected_fingerprint(incident, write, rehearsed)
    shown = rehearsed.diff if rehearsed.rehearsed else None
    version = await _same_as_shown(tools, write, expected, shown, rehearsed.after)
    if isinstance(version, Refusal):
        return await _no(tools, incident, index, version)
    intent = ev.Intent(step=index, direction=Direction.DO, write=write, expected=expected, resource_version=version)
    begun = _begins(incident, index, before)
    return await carry_out(tools, incident, intent, lambda refusal: _no(tools, incident, index, refusal), begun)


def expected_fingerprint(incident: Incident, write: Write, rehearsed: RehearsedWrite) -> str:
    """The approved one for an object's first write, the `after` of the last done write for later ones."""
    for run in reversed(incident.done_writes):
        if run.intent.write.object.uid == write.object.uid and run.outcome is not None:
            return run.outcome.after
    return rehearsed.fingerprint


async def _same_as_shown(
    tools: Tools, write: Write, expected: str, shown: str | None, becomes: str = ""
) -> str | Refusal:
    """Read and dry-run again: the version to name, or why this is no longer what the approver saw.

    The look that came before may be a second old; what counts is the object of this very dry-run. `becomes` is the
    fingerprint that it had: a diff hides what a secret changes to.
    """
    dry = await tools.hands.dry_run(write)
    if isinstance(dry, Refusal):
        return await held_by_cluster(tools, write, dry) or dry
    live = fingerprint(dry.before, with_replicas=write.sets_replicas)
    if expected and live != expected:
        return Refusal(reason=Reason.DRIFTED, detail=f"somebody has changed {write.object} since it was approved")
    now = shown_by(dry, 0, write)
    if isinstance(now, Refusal):
        return now
    if shown is not None and (now.diff != shown or now.after != (becomes or now.after)):
        return Refusal(reason=Reason.DIFF_CHANGED, detail="the API server would now change something else than shown")
    return dry.resource_version


async def _no(tools: Tools, incident: Incident, index: int, refusal: Refusal) -> Incident:
    """Before the first intent: void, or hand over where the gate says never. After it: the step has failed."""
    if isinstance(refusal, Held):
        return await latch(tools, incident, refusal)
    if refusal.reason in _NOT_NOW:
        return incident
    if refusal.reason is Reason.HANDS_BUSY:
        return await _its_turn(tools, incident, refusal)
    if not incident.done_writes and may_pass(refusal, incident.let_go_at, tools.now()):
        return incident
    _wait_out(refusal, half_way=incident.has_acted)
    if incident.has_acted:
        event: ev.Event = ev.StepFailed(step=index, reason=refusal.reason, detail=refusal.detail)
    elif refusal.reason in _FINAL:
        waited = turn_never_came(incident) if refusal.reason in _TOO_LATE else ""
        event = ev.HandedOver(reason=refusal.reason, detail=f"{refusal.detail}{waited}")
    else:
        event = ev.Voided(reason=refusal.reason, detail=refusal.detail)
    return await tools.store.append(incident, (event,))


async def _its_turn(tools: Tools, incident: Incident, refusal: Refusal) -> Incident:
    """Approved, and others are at work: it has its turn when they are through, as long as the approval holds. Said
    once. Raises NotYet."""
    if incident.caution is None or incident.caution.reason is not refusal.reason:
        told = ev.Cautioned(reason=refusal.reason, detail=refusal.detail)
        return await tools.store.append(incident, (told,))
    raise NotYet(str(refusal), retry_after=TURN)


def _wait_out(refusal: Refusal, *, half_way: bool) -> None:
    """Half-way, what a stop condition holds up is tried again, as long as there is patience: to fail it would leave a
    person with half a repair. Raises Transient."""
    if half_way and refusal.reason in REASONS:
        raise Transient(str(refusal), retry_after=AGAIN)


AGAIN = 15.0
"""Seconds."""

TURN = 5.0
"""Seconds between two looks whether a hand is free."""

_NOT_NOW = frozenset({Reason.STOPPED, Reason.TAKEN, Reason.LEASE_LOST, Reason.CANCELLED})
"""The next move knows what follows from these."""

_FINAL = frozenset(
    {
        Reason.NOT_ALLOWED,
        Reason.OBSERVE_ONLY,
        Reason.PROTECTED_NAMESPACE,
        Reason.TARGET_COOLING_DOWN,
        Reason.TARGET_BUSY,
        Reason.RUN_EXPIRED,
        Reason.APPROVAL_EXPIRED,
        Reason.DENIED,
        Reason.REFUSED_BY_SERVER,
        Reason.DISRUPTION_BUDGET,
    }
)
"""Looking again would not change these answers; everything else may be asked anew, at most three times."""


_TOO_LATE = frozenset({Reason.RUN_EXPIRED, Reason.APPROVAL_EXPIRED})


async def undo(tools: Tools, incident: Incident, index: int) -> Incident:
    """The computed inverse, as it stood on the card; only if nobody has touched the object since."""
    saga, spec, code = _spec(tools, incident, index)
    run = incident.step_run(index)
    seen = await code.look(tools.eyes, spec.target)
    if run is None or seen is None:
        return await _cannot(tools, incident, index, f"{spec.target} is gone")
    following = code.undo(seen, code.Params.model_validate(spec.params), run.before, tools.now())
    match following:
        case Undone():
            return await tools.store.append(incident, (ev.StepUndone(step=index, detail=following.detail),))
        case CannotUndo():
            return await _cannot(tools, incident, index, following.detail)
        case Write():
            return await _undo_write(tools, incident, index, stamp(following, saga, index, Direction.UNDO))


async def _undo_write(tools: Tools, incident: Incident, index: int, write: Write) -> Incident:
    last = next((r for r in reversed(incident.done_writes) if r.intent.write.object.uid == write.object.uid), None)
    if last is None or last.outcome is None or incident.rehearsal is None:
        raise Bug("an undo of what was never done")
    if write.key in incident.done_keys:
        return await _cannot(tools, incident, index, "it was taken back once and somebody has put it there again")
    rehearsed = incident.rehearsal.of(last.intent.step, last.intent.write)
    shown = rehearsed.undo_diff if rehearsed and rehearsed.rehearsed else None
    version = await _same_as_shown(tools, write, last.outcome.after, shown)
    if isinstance(version, Held):
        return await latch(tools, incident, version)
    if isinstance(version, Refusal):
        return await _cannot(tools, incident, index, f"{version.reason}: {version.detail}")
    intent = ev.Intent(
        step=index, direction=Direction.UNDO, write=write, expected=last.outcome.after, resource_version=version
    )

    async def refused(refusal: Refusal) -> Incident:
        if refusal.reason in _NOT_NOW:
            return incident
        _wait_out(refusal, half_way=True)
        return await _cannot(tools, incident, index, f"{refusal.reason}: {refusal.detail}")

    return await carry_out(tools, incident, intent, refused)


async def _cannot(tools: Tools, incident: Incident, index: int, why: str) -> Incident:
    """Nothing half-done stays unreported: the hand-over says what was done and could not be taken back.

    Where every write of the step has been taken back already, what others did since does not make that untrue.
    """
    if taken_back(incident, index):
        since = ev.StepUndone(step=index, detail=f"it was taken back; since then: {why}")
        return await tools.store.append(incident, (since,))
    done = "; ".join(still_in_place(incident)) or "nothing"
    over = ev.HandedOver(reason=Reason.CANNOT_UNDO, detail=f"{why}. Done and still in place: {done}")
    return await tools.store.append(incident, (over,))


def _spec(tools: Tools, incident: Incident, index: int) -> tuple[Saga, SagaStep, Step]:
    if incident.saga is None:
        raise Bug("acting without a saga")
    spec = incident.saga.steps[index]
    return incident.saga, spec, tools.step(spec.step)
