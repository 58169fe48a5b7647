"""Sending a write that has passed the gate, and finding out what became of it (design, state rules 1, 3 and 4).

Intent before act, outcome after. A conflict looks for our own key first; equal fingerprints may try again, three
times at most, each through the whole gate. A lost answer leaves the intent open: `settle` looks before anything else.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from handrail.adapters.kubernetes import carries_key, is_gone
from handrail.core.fingerprint import fingerprint
from handrail.core.gate import GateFacts, attempts, judge
from handrail.effects.latch import held_by_cluster, latch, stop_of
from handrail.effects.tools import Tools
from handrail.model import events as ev
from handrail.model.errors import Bug, OutcomeUnknown, Transient
from handrail.model.hands import Answer, Held, Sent
from handrail.model.incident import Incident, WriteRun
from handrail.model.reason import Reason, Refusal
from handrail.model.switch import Permit
from handrail.model.value import Raw
from handrail.model.write import Verb, Write

MAX_ATTEMPTS = 3

Refused = Callable[[Refusal], Awaitable[Incident]]


async def carry_out(
    tools: Tools, incident: Incident, intent: ev.Intent, refused: Refused, begun: ev.StepBegun | None = None
) -> Incident:
    """The gate's transaction, then the write. `refused` says what a gate's no means for this incident; `begun` is
    journalled with the intent, or not at all."""
    if attempts(incident, intent.write.key) >= MAX_ATTEMPTS:
        spent = f"{intent.write.summary}: tried {MAX_ATTEMPTS} times"
        return await refused(Refusal(reason=Reason.ATTEMPTS_SPENT, detail=spent))
    passed = await _gate(tools, incident, intent, intent, begun)
    if isinstance(passed, Refusal):
        return await refused(passed)
    incident, permit = passed
    return await _send(tools, incident, intent, permit)


async def _gate(
    tools: Tools,
    incident: Incident,
    intent: ev.Intent,
    event: ev.Intent | ev.Attempted,
    begun: ev.StepBegun | None = None,
) -> tuple[Incident, Permit] | Refusal:
    """`event` is the intent itself, or a further attempt at it."""
    policy = tools.policy()
    own = tools.config.kubernetes.own_namespace

    def judged(facts: GateFacts) -> Refusal | None:
        return judge(facts, policy, own, intent.write, intent.direction)

    return await tools.store.commit_intent(incident, event, judged, begun=begun)


async def _send(tools: Tools, incident: Incident, intent: ev.Intent, permit: Permit) -> Incident:
    try:
        sent = await _in_time(tools, permit)
    except OutcomeUnknown:
        return incident
    except Transient as away:
        if not _may_still_land(incident, permit):
            never = ev.Outcome(key=permit.write.key, result=ev.Result.ABSENT, detail=f"not applied: {away}")
            await _end(tools, incident, never)
        raise
    if sent.answer is Answer.CONFLICT:
        return await _after_conflict(tools, incident, intent)
    held = await held_by_cluster(tools, permit.write, sent) if sent.answer is Answer.REFUSED else None
    if held is not None:
        return await _held(tools, incident, permit, held)
    answered = sent.answer is Answer.DONE
    return await _end(
        tools, incident, done(permit.write, sent.object) if answered else _refused(incident, permit, sent)
    )


async def _end(tools: Tools, incident: Incident, outcome: ev.Outcome, held: Held | None = None) -> Incident:
    """What is not done is said of the attempts that this fold knows of: a replica that has taken over meanwhile may
    have another one on its way."""
    known = None if outcome.result is ev.Result.DONE else attempts(incident, outcome.key)
    stop = stop_of(held) if held else None
    return await tools.store.append_outcome(incident.id, outcome, held=stop, attempt=known)


def _may_still_land(incident: Incident, permit: Permit) -> bool:
    """An earlier attempt that names this very version, and whose answer was lost: what this one says is not said of
    that one. An eviction names no version: any earlier one may."""
    run = incident.open_write
    earlier = run.attempts[:-1] if run is not None else ()
    return permit.resource_version in earlier or (permit.write.verb is Verb.EVICT and bool(earlier))


async def _held(tools: Tools, incident: Incident, permit: Permit, held: Held) -> Incident:
    """Surely not applied, so it may be written again after `start`; but one with this very version that was lost
    before may still land, and stays unknown."""
    if _may_still_land(incident, permit):
        return await latch(tools, incident, held)
    absent = ev.Outcome(key=permit.write.key, result=ev.Result.ABSENT, reason=held.reason, detail=held.detail)
    return await _end(tools, incident, absent, held)


async def _in_time(tools: Tools, permit: Permit) -> Sent:
    """The write must have ended, one way or the other, while the lease still holds (design, state rule 5). Raises
    Transient where too little is left of it, or the server is away (surely not applied), and OutcomeUnknown."""
    left = tools.store.seconds_left(permit.incident)
    if left is not None and left <= 0:
        raise Transient("too little is left of the lease to send it", retry_after=1.0)
    try:
        async with asyncio.timeout(left):
            return await tools.hands.send(permit)
    except TimeoutError as over:
        raise OutcomeUnknown(f"{permit.write.summary}: no answer while the lease held") from over


def _refused(incident: Incident, permit: Permit, sent: Sent) -> ev.Outcome:
    write = permit.write
    if _may_still_land(incident, permit):
        return _stuck(
            write, f"an earlier attempt may have been lost and still land; then the server refused: {sent.detail}"
        )
    return ev.Outcome(key=write.key, result=ev.Result.REFUSED, reason=sent.reason, detail=sent.detail)


def done(write: Write, live: Raw | None) -> ev.Outcome:
    """The outcome of an applied write, with the fingerprint that a later write or an undo will expect."""
    if live is None:
        return ev.Outcome(key=write.key, result=ev.Result.DONE)
    return ev.Outcome(
        key=write.key,
        result=ev.Result.DONE,
        resource_version=live["metadata"].get("resourceVersion", ""),
        after=fingerprint(live, with_replicas=write.sets_replicas),
    )


async def settle(tools: Tools, incident: Incident) -> Incident:
    """An open intent on load: its outcome is unknown, so look. Raises Transient when that can't be done now."""
    run = incident.open_write
    if run is None:
        raise Bug("nothing to settle")
    live = await tools.hands.read(run.intent.write.object)
    ending = judge_open(run, live)
    if ending is not None:
        return await _end(tools, incident, ending)
    return await _resend(tools, incident, run)


def judge_open(run: WriteRun, live: Raw | None) -> ev.Outcome | None:
    """Pure: done, absent or stuck; None while the lost write may still land (its version is still the live one)."""
    write = run.intent.write
    if write.verb in (Verb.DELETE, Verb.EVICT):
        return _judge_removal(run, live)
    if live is None or live["metadata"].get("uid") != write.object.uid:
        return _stuck(write, f"{write.object} is gone or was replaced")
    if carries_key(live, write.key):
        return done(write, live)
    if fingerprint(live, with_replicas=write.sets_replicas) != run.intent.expected:
        return _stuck(write, f"{write.object} is neither as before nor does it carry our key: somebody else changed it")
    if live["metadata"].get("resourceVersion") != run.attempts[-1]:
        return ev.Outcome(key=write.key, result=ev.Result.ABSENT, detail="the object has moved past the lost write")
    return None


def _judge_removal(run: WriteRun, live: Raw | None) -> ev.Outcome | None:
    """Gone, replaced or terminating is done (state rule 3). An eviction names no version: a lost one may still land."""
    write = run.intent.write
    if is_gone(write, live):
        return ev.Outcome(key=write.key, result=ev.Result.DONE, detail=f"{write.object} is gone or going")
    passed = live is not None and live["metadata"].get("resourceVersion") != run.attempts[-1]
    if write.verb is Verb.DELETE and passed:
        return ev.Outcome(key=write.key, result=ev.Result.ABSENT, detail="the object has moved past the lost write")
    return None


def _stuck(write: Write, why: str) -> ev.Outcome:
    """A person decides, who has to know that it is one of two things."""
    both = f"{why}. Either our write was applied and something came after it, or it never was"
    return ev.Outcome(key=write.key, result=ev.Result.STUCK, reason=Reason.OUTCOME_UNCLEAR, detail=both)


async def _resend(tools: Tools, incident: Incident, run: WriteRun) -> Incident:
    """The very same version again: whichever of the two lands first, the other answers 409 (state rule 3)."""
    return await _again(tools, incident, run.intent, run.attempts[-1])


async def _after_conflict(tools: Tools, incident: Incident, intent: ev.Intent) -> Incident:
    """Our key first; then whether the object is still what was approved; never force."""
    write = intent.write
    live = await tools.hands.read(write.object)
    if write.verb in (Verb.DELETE, Verb.EVICT) and is_gone(write, live):
        return await _end(tools, incident, done(write, None))
    if live is not None and carries_key(live, write.key):
        return await _end(tools, incident, done(write, live))
    same = live is not None and live["metadata"].get("uid") == write.object.uid
    if live is None or not same or fingerprint(live, with_replicas=write.sets_replicas) != intent.expected:
        return await _end(tools, incident, _drifted(incident, write))
    return await _again(tools, incident, intent, live["metadata"]["resourceVersion"])


def _drifted(incident: Incident, write: Write) -> ev.Outcome:
    run, why = incident.open_write, f"{write.object} was changed meanwhile"
    if write.verb is Verb.EVICT and run is not None and len(run.attempts) > 1:
        return _stuck(write, f"{why}, and an earlier attempt names no version")
    return ev.Outcome(key=write.key, result=ev.Result.REFUSED, reason=Reason.DRIFTED, detail=why)


async def _again(tools: Tools, incident: Incident, intent: ev.Intent, version: str) -> Incident:
    """A further attempt: through the whole gate, journalled with its version before it is sent."""
    key = intent.write.key
    if attempts(incident, key) >= MAX_ATTEMPTS:
        run = incident.open_write
        if run is not None and (version == run.attempts[-1] or intent.write.verb is Verb.EVICT):
            unclear = f"{intent.write.object} is as it was, and a lost {intent.write.verb} may still come"
            return await _end(tools, incident, _stuck(intent.write, unclear))
        spent = ev.Outcome(
            key=key,
            result=ev.Result.REFUSED,
            reason=Reason.CONFLICTS_SPENT,
            detail=f"tried {MAX_ATTEMPTS} times; the object changes faster than it can be written",
        )
        return await _end(tools, incident, spent)
    attempted = ev.Attempted(key=key, resource_version=version)
    passed = await _gate(tools, incident, intent, attempted)
    if isinstance(passed, Refusal):
        return await _stopped_between(tools, incident, intent, passed)
    incident, permit = passed
    return await _send(tools, incident, intent, permit)


async def _stopped_between(tools: Tools, incident: Incident, intent: ev.Intent, refusal: Refusal) -> Incident:
    """The gate closed after the first attempt. While the lost write may still land its outcome stays unknown."""
    run = incident.open_write
    live = await tools.hands.read(intent.write.object)
    ending = judge_open(run, live) if run else None
    if ending is not None:
        return await _end(tools, incident, ending)
    raise Transient(f"{refusal}; whether the last attempt landed is not known yet", retry_after=5.0)
