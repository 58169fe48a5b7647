"""The story line by line, and the report over the whole journal."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from handrail.core.card import card
from handrail.core.move import Decided
from handrail.core.report import MOST, report
from handrail.core.report_times import times
from handrail.core.saga import next_move
from handrail.core.standing import half_done, status
from handrail.core.story import line
from handrail.model import events as ev
from handrail.model.approval import Person
from handrail.model.evidence import Away, Trust
from handrail.model.incident import State
from handrail.model.policy import Policy
from handrail.model.reason import Reason
from handrail.model.severity import Severity
from handrail.model.step import Verdict
from handrail.model.switch import Switch
from handrail.model.taking_back import TakeBack
from handrail.model.write import Direction
from tests.card import journals as j
from tests.factories import story_to


def lines(events: tuple[ev.Event, ...]) -> list[str]:
    return [told for entry in j.entries(events) if (told := line(entry))]


def test_the_story_of_a_repair_reads_from_alert_to_end() -> None:
    assert lines(j.HEALED) == [
        "Opened for the alert KubeDeploymentRolloutStuck about Deployment shop/checkout.",
        "Looked at Deployment shop/checkout: 2 of 3 ready, 4 pieces of evidence. "
        "Found: revision 2 crashes, revision 1 was healthy.",
        "Planned by runbooks with high confidence: revision 2 crashes at start.",
        "Asked slack:U0ONCALL, slack:U0SECOND, kubernetes:alice, kubernetes group sre. "
        "Please decide until 12:31:00 UTC.",
        "slack:U0ONCALL approved exactly what the card shows.",
        "Doing now: set the template of revision 1.",
        "Step 1 is done.",
        "Every step is done; watching whether it heals.",
        "It healed (3 of 3 ready): all 3 pods are ready.",
    ]


def test_what_an_alert_only_suggests_is_no_finding() -> None:
    guess = j.FINDING.model_copy(update={"corroborated": False, "summary": "is the old one ready?"})
    (both, alone, nothing) = (
        line(j.entries((j.gathered().model_copy(update={"findings": found}),))[0])
        for found in ((guess, j.FINDING), (guess,), ())
    )
    assert both is not None
    assert both.endswith("Found: revision 2 crashes, revision 1 was healthy.")
    assert alone is not None
    assert alone.endswith("The API shows no cause; the alert suggests: is the old one ready.")
    assert nothing is not None
    assert nothing.endswith("Found no known cause.")


def test_the_story_of_an_undo_says_what_is_taken_back() -> None:
    assert lines(j.UNDONE)[-4:] == [
        "It got worse (0 of 3 ready): 0 of 3 pods are ready.",
        "Taking back: set the template of revision 2 again.",
        "Step 1 is taken back.",
        "Nothing that was written is left in place.",
    ]


def _late(closed: str, status: str = "firing") -> ev.AlertAttached:
    return ev.AlertAttached(alert=j.alert(status, "A"), source=j.SOURCE, closed=closed)


def _after(ended: str) -> ev.Opened:
    follows = ev.Follows(incident="inc-a", ended=ended)
    return j.opened("A").model_copy(update={"target": None, "follows": follows})


@pytest.mark.parametrize(
    ("event", "told"),
    [
        (ev.AlertAttached(alert=j.alert(), source=j.SOURCE), None),
        (
            ev.AlertAttached(alert=j.alert("resolved"), source=j.SOURCE),
            "The alert KubeDeploymentRolloutStuck says it is resolved; the live object decides whether it is.",
        ),
        (
            ev.ModelAnswered(request="r", failed=Reason.MODEL_AWAY, detail="429."),
            "The model gave no usable answer: MODEL_AWAY: 429.",
        ),
        (ev.ModelAnswered(request="r", raw="x"), None),
        (
            ev.CompileRefused(reason=Reason.CONFLICTING_STEPS, detail="two"),
            "The plan could not become steps: CONFLICTING_STEPS: two.",
        ),
        (
            ev.Voided(reason=Reason.DRIFTED, detail="x"),
            "Void, nothing of it was written; looking and asking anew: DRIFTED: x.",
        ),
        (j.outcome(ev.Result.DONE), None),
        (j.outcome(ev.Result.REFUSED, reason=Reason.DENIED), "The API server refused a write (DENIED)."),
        (j.outcome(ev.Result.STUCK), "Nobody can tell whether a write was applied."),
        (j.outcome(ev.Result.ABSENT), "A write did not reach the cluster; it may be tried again."),
        (
            ev.StepFailed(step=0, reason=Reason.DRIFTED, detail="somebody changed it."),
            "Step 1 failed: DRIFTED: somebody changed it.",
        ),
        (
            ev.Rejected(request="r", by=j.SAM, why="too\nrisky"),
            "slack:U0SECOND rejected it: too risky.",
        ),
        (ev.Rejected(request="r", by=j.SAM), "slack:U0SECOND rejected it; nothing of it was written."),
        (ev.Paused(by="local:root", why="freeze"), "local:root stopped everything: freeze."),
        (ev.Taken(by=j.ONA), "slack:U0ONCALL took it; nothing is done to it until it is given back."),
        (
            ev.Suppressed(reason=Reason.MERGED, detail="same target", into="inc-b"),
            "Closed, nothing to do: MERGED: same target. It goes on as inc-b.",
        ),
        (_late("HANDED_OVER"), "The alert A still fires. This is with a person; nothing more is done to it."),
        (
            _late("RESOLVED"),
            "The alert A still fires after the repair. If it does so after 15 minutes, it opens a new incident.",
        ),
        (_late("RESOLVED", "resolved"), "The alert A says it is resolved."),
        (_late("SUPPRESSED"), None),
        (_late("", "resolved"), "The alert A says it is resolved; the live object decides whether it is."),
        (_late(""), None),
        (_after("RESOLVED"), "The repair of inc-a did not hold, or its alert fires on. Opened for the alert A."),
        (_after("SUPPRESSED"), "The alert of inc-a fires again, though it was closed. Opened for the alert A."),
        (
            ev.Held(until=j.T0, detail="it is well"),
            "Nothing wrong to be seen; looking once more at 12:00:00 UTC before it is closed.",
        ),
        (ev.GatheringBegun(), None),
        (ev.Rehearsed(rehearsal=j.rehearsal()), None),
        (ev.Compiled(saga=j.SAGA), None),
    ],
)
def test_each_event_is_told_in_one_sentence_or_not_at_all(event: ev.Event, told: str | None) -> None:
    (entry,) = j.entries((event,))
    assert line(entry) == told


@given(st.text(max_size=3000))
def test_a_line_stays_one_line_whatever_the_world_says(text: str) -> None:
    for event in (
        j.opened(text),
        j.handed_over(detail=text),
        ev.Noted(text=text, by=text),
        ev.Rejected(request="r", by=Person(via="slack", name=text), why=text),
        j.gathered(away=(Away(source=text, why=text),) * 30),
    ):
        (entry,) = j.entries((event,))
        told = line(entry) or ""
        assert len(told) <= 700
        assert "\n" not in told


def test_times_are_given_with_and_without_waiting_for_people() -> None:
    taken = times(j.incident(j.HEALED), j.entries(j.HEALED))
    assert taken.before == timedelta(minutes=2)
    assert taken.mitigated == timedelta(seconds=140)
    assert taken.waited == timedelta(seconds=10)


def test_waits_that_overlap_count_once() -> None:
    events = (
        *j.ASKED,
        ev.Taken(by=j.SAM),
        ev.Paused(by="x", why="y"),
        ev.GivenBack(by=j.SAM),
        ev.Resumed(by="x"),
        ev.Approved(request="req-1", by=j.ONA),
    )
    assert times(j.incident(events), j.entries(events)).waited == timedelta(seconds=50)


def test_an_open_wait_counts_up_to_the_last_event() -> None:
    events = (*j.ASKED, ev.Noted(text="still here"))
    assert times(j.incident(events), j.entries(events)).waited == timedelta(seconds=10)


def test_in_a_second_round_nobody_is_told_that_nothing_at_all_was_written() -> None:
    """What the first round wrote is still in place."""
    no_effect = ev.Verified(verdict=Verdict.NO_EFFECT, severity=Severity(desired=3, ready=2), detail="it did not help")
    second = (*j.VERIFYING, no_effect, ev.Replanned(), *j.ASKED[2:])
    incident = j.incident(second)
    move = next_move(incident, Switch(), Policy(version=1), j.T0 + timedelta(hours=2))
    assert isinstance(move, Decided)
    voided = ev.Voided(reason=Reason.DRIFTED, detail="x")
    for end in (*move.events, ev.Rejected(request="req-1", by=j.SAM), voided):
        told = [lines((*second, end))[-1], status(j.incident((*second, end)), j.T0)]
        assert [text for text in told if "nothing was written" in text.lower()] == []
        assert "Done so far: set the template of revision 1." in told[1]


def test_an_undo_that_was_asked_for_mitigates_nothing() -> None:
    step = TakeBack(
        step="rollout_undo", risk=j.STEP.risk, target=j.REF, params={}, summary="undo", before={}, after={"u": "f"}
    )
    begun = (j.opened(), ev.TakingBack(steps=(step,)), *j.HEALED[1:])
    assert times(j.incident(begun), j.entries(begun)).mitigated is None
    assert times(j.incident(j.HEALED), j.entries(j.HEALED)).mitigated is not None


def test_the_report_of_a_repair_tells_everything_once() -> None:
    away = (Away(source="prometheus", why="connection refused"),)
    calls = (ev.ModelAsked(request="m", model="x", input_tokens=1200),)
    answered = ev.ModelAnswered(request="m", raw="r", input_tokens=1000, output_tokens=90)
    events = (*j.LOOKING[:2], j.gathered(away=away), j.HEALED[3], *calls, answered, *j.HEALED[4:])
    text = report(j.incident(events), j.entries(events))
    for part in (
        "# KubeDeploymentRolloutStuck: Deployment shop/checkout",
        "- state: RESOLVED",
        "- time to mitigate: 2 min 40 s",
        "- time to mitigate without waiting for people: 2 min 30 s",
        "- e3 (api) pods of revision 2 crash, from kubernetes: pods",
        "- away: prometheus: connection refused",
        "high: revision 2 crashes at start (evidence e3, e1)",
        "slack:U0ONCALL approved exactly what the card shows.",
        "do: set the template of revision 1 (key inc-abcdefghij/1/0/do/uid-1/patch)",
        "        +  image: shop/checkout:1.4.2",
        "It healed (3 of 3 ready)",
        "- 1 call, 1200 tokens in, 90 tokens out",
    ):
        assert text.count(part) >= 1, part


def test_the_report_of_an_undo_shows_the_undo_diff_and_nothing_left_in_place() -> None:
    events = (*j.UNDONE, j.handed_over(Reason.WORSE, "it got worse; what was done has been taken back"))
    text = report(j.incident(events), j.entries(events))
    assert "undo: set the template of revision 2 again" in text
    assert text.count("        +  image: shop/checkout:1.5.0") == 1
    assert "- in place:" not in text
    assert "not mitigated by Handrail" in text


def test_a_write_that_has_no_diff_of_its_own_is_not_shown_with_the_diff_of_its_undo() -> None:
    """As a second write of one step to one object has none."""
    second = j.intent().write.model_copy(update={"key": "another/key", "summary": "then uncordon it"})
    own = j.intent().model_copy(update={"write": second})
    text = report(j.incident((*j.WROTE[:-1], own)), j.entries((*j.WROTE[:-1], own)))
    after = text.partition("do: then uncordon it")[2].partition("## What came of it")[0]
    assert "image:" not in after
    assert text.count("        +  image: shop/checkout:1.4.2") == 1


def test_what_is_taken_back_first_is_what_was_written_last() -> None:
    first, last = j.rehearsal(undo_diff="+first"), j.rehearsal(undo_diff="+last")
    other = last.writes[0].model_copy(update={"write": j.write().model_copy(update={"key": "k2"})})
    both = first.model_copy(update={"writes": (*first.writes, other)})
    events = (*j.PLANNED, ev.Compiled(saga=j.SAGA), ev.Rehearsed(rehearsal=both), j.intent(Direction.UNDO))
    entries = j.entries(events)
    text = report(j.incident(j.UNDONE), entries)
    assert "        +last" in text
    assert "        +first" not in text


FAILED = ev.StepFailed(step=0, reason=Reason.DRIFTED, detail="somebody else has changed it")


@pytest.mark.parametrize(
    "before",
    [
        j.APPROVED,
        (*j.APPROVED, ev.StepBegun(step=0, before={})),
        (*j.APPROVED, ev.StepBegun(step=0, before={}), j.intent(), j.outcome(ev.Result.REFUSED)),
        (*j.APPROVED, ev.StepBegun(step=0, before={}), j.intent(), j.outcome(ev.Result.ABSENT)),
    ],
)
def test_what_failed_before_it_wrote_anything_is_not_told_as_taken_back(before: tuple[ev.Event, ...]) -> None:
    undoing, undone = (*before, FAILED), (*before, FAILED, ev.Undone())
    over = (*undone, j.handed_over(Reason.DRIFTED, "somebody else has changed it; nothing had been changed"))
    for events in (undoing, undone, over):
        shown = j.incident(events)
        text = report(shown, j.entries(events)) + status(shown, j.T0) + card(shown, j.T0).status
        assert "taken back" not in text
        assert "Taking back" not in text
    for events in (undoing, undone):
        assert status(j.incident(events), j.T0).startswith("Nothing of it was written, so there ")


def test_while_it_is_taken_back_what_is_still_in_place_is_said() -> None:
    assert "Still in place: set the template of revision 1." in status(j.incident(j.WORSE), j.T0)
    assert status(j.incident(j.UNDONE), j.T0).startswith("What was done has been taken back, because of ")


def test_what_is_known_late_to_have_been_taken_back_is_no_longer_said_to_be_in_place() -> None:
    """An undo of which nobody could tell, and then somebody could: the incident had ended by then."""
    stuck, late = (j.outcome(result, Direction.UNDO) for result in (ev.Result.STUCK, ev.Result.DONE))
    over = (*j.WORSE, j.intent(Direction.UNDO), stuck, j.handed_over(Reason.OUTCOME_UNCLEAR, "lost"))
    assert "Nobody can tell yet whether this was applied" in half_done(j.incident(over))
    known = j.incident((*over, late, ev.Noted(text="It is known by now.")))
    assert half_done(known) == "What was done has been taken back."


def test_what_is_half_done_stands_at_the_head_of_the_report() -> None:
    events = (*j.WORSE, j.handed_over(Reason.CANNOT_UNDO, "somebody changed it"))
    text = report(j.incident(events), j.entries(events))
    assert "- in place: set the template of revision 1" in text.split("## Times")[0]


@pytest.mark.parametrize("state", [s for s in State if s is not State.SUPPRESSED])
def test_every_state_can_be_reported(state: State) -> None:
    try:
        events = (j.opened(), *story_to(state, j.ID))
    except KeyError:
        pytest.skip("no story leads there")
    text = report(j.incident(events), j.entries(events))
    assert f"- state: {state}" in text
    assert "## The story" in text


def test_nothing_in_story_or_report_can_steer_a_terminal() -> None:
    nasty = "\x1b]0;owned\x07\x9b31m\r\u202e"
    rehearsed = j.rehearsal(f"+{nasty}", nasty)
    asked = (ev.Rehearsed(rehearsal=rehearsed), ev.Asked(request=j.request(bound_to=rehearsed)))
    evidence = j.gathered((j.item("e1", Trust.TEXT, nasty, nasty),), (Away(source=nasty, why=nasty),))
    events = (j.opened(nasty), j.LOOKING[1], evidence, *j.REHEARSED[3:-1], *asked, *j.HEALED[8:], ev.Noted(text=nasty))
    shown = report(j.incident(events), j.entries(events)) + "".join(lines(events))
    assert not [sign for sign in shown if sign != "\n" and (sign < " " or "\x7f" <= sign <= "\x9f" or sign == "\u202e")]


@settings(max_examples=20, deadline=None)
@given(st.text(max_size=100).flatmap(lambda t: st.integers(1, 200).map(lambda n: t * n)))
def test_a_report_is_bounded(text: str) -> None:
    text = text.encode(errors="replace").decode()
    notes = tuple(ev.Noted(text=text) for _ in range(300))
    events = (j.opened(text), *j.HEALED[1:], *notes)
    made = report(j.incident(events), j.entries(events))
    assert len(made) <= MOST + 100
