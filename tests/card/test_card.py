"""What stands on a card in each state, and that nothing of the world can make it too long."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from handrail.core.card import card
from handrail.core.report import report
from handrail.model import events as ev
from handrail.model.card import Card
from handrail.model.evidence import Away, Trust
from handrail.model.incident import State
from handrail.model.reason import Reason
from handrail.model.step import Verdict
from tests.card import journals as j

NOW = j.T0 + timedelta(minutes=3)

STANDINGS: dict[str, tuple[tuple[ev.Event, ...], str, str]] = {
    "opened": ((j.opened(),), "nothing has been looked at yet", "`handrail take"),
    "gathering": (j.LOOKING[:2], "Looking at the cluster", "`handrail take"),
    "planning": (j.LOOKING, "Choosing what would help", "`handrail take"),
    "compiling": (j.PLANNED, "Writing the plan out", "`handrail take"),
    "rehearsing": ((*j.PLANNED, ev.Compiled(saga=j.SAGA)), "Rehearsing every write", "`handrail take"),
    "asking": (j.ASKED, "Waits for a person to decide until 12:31:00 UTC. Nothing has been", "`handrail approve"),
    "void": (
        (*j.ASKED, ev.Voided(reason=Reason.DRIFTED, detail="")),
        "Things changed under the plan (1 time)",
        "`handrail take",
    ),
    "executing": (j.APPROVED, "Approved by slack:U0ONCALL; step 1 of 1: roll Deployment", "`handrail stop"),
    "writing": (
        (*j.APPROVED, ev.StepBegun(step=0, before={}), j.intent()),
        "its outcome is awaited: set the template",
        "`handrail stop",
    ),
    "verifying": (j.VERIFYING, "watching whether it heals. Done so far: set the template", "`handrail take"),
    "undoing": (j.WORSE, "Taking back what was done, because of 0 of 3 pods are ready", "`handrail take"),
    "undone": (j.UNDONE, "has been taken back", "`handrail take"),
    "resolved": (
        j.HEALED,
        "Resolved at 12:02:20 UTC, 2 min 20 s after it was opened: all 3 pods",
        "`handrail incidents report",
    ),
    "handed over": (
        (*j.LOOKING, j.handed_over()),
        "Handed over to a person at 12:00:30 UTC: NO_RUNBOOK: no runbook is sure. Nothing has been changed.",
        "`handrail incidents report",
    ),
    "handed over half-done": (
        (*j.WORSE, j.handed_over(Reason.CANNOT_UNDO, "somebody changed it.")),
        "CANNOT_UNDO: somebody changed it. Done so far: set the template of revision 1.",
        "It is yours now",
    ),
    "handed over unclear": (
        (
            *j.APPROVED,
            ev.StepBegun(step=0, before={}),
            j.intent(),
            j.outcome(ev.Result.STUCK),
            j.handed_over(Reason.OUTCOME_UNCLEAR, "the object is someone else's now"),
        ),
        "someone else's now. Nobody can tell yet whether this was applied: set the template of revision 1.",
        "It is yours now",
    ),
    "handed over taken back": (
        (*j.UNDONE, j.handed_over(Reason.WORSE, "it got worse")),
        "WORSE: it got worse. What was done has been taken back.",
        "It is yours now",
    ),
    "stopped": ((*j.ASKED, ev.Paused(by="x", why="y")), "Everything is stopped", "`handrail start`"),
    "taken": ((*j.WROTE, ev.Taken(by=j.SAM)), "slack:U0SECOND has taken this", "`handrail give-back"),
    "noise": (
        (*j.LOOKING, ev.Suppressed(reason=Reason.RESOLVED_BY_ITSELF, detail="healthy again")),
        "Closed at 12:00:30 UTC, nothing to do: RESOLVED_BY_ITSELF",
        "Nothing to do",
    ),
}


@pytest.mark.parametrize(("events", "status", "following"), STANDINGS.values(), ids=STANDINGS.keys())
def test_each_state_has_one_plain_sentence_and_a_next_step(
    events: tuple[ev.Event, ...], status: str, following: str
) -> None:
    made = card(j.incident(events), NOW)
    assert status in made.status
    assert following in made.next_action
    assert ".." not in made.status


def test_only_what_can_be_answered_now_has_a_request() -> None:
    for events, _, _ in STANDINGS.values():
        incident = j.incident(events)
        made = card(incident, NOW)
        answerable = incident.state is State.ASKING and not incident.paused and incident.taken_by is None
        assert (made.request == "req-1") is answerable
        assert (made.expires is not None) is answerable
        assert bool(made.approvers) is answerable


def test_after_the_deadline_nobody_is_told_to_decide() -> None:
    made = card(j.incident(j.ASKED), j.request().expires + timedelta(seconds=1))
    assert "time to decide is over" in made.status
    assert "approve" not in made.next_action


def test_a_question_shows_everything_that_is_decided_from() -> None:
    away = (Away(source="prometheus", why="connection refused"),)
    made = card(j.incident((*j.LOOKING[:2], j.gathered(away=away), *j.ASKED[3:])), NOW)
    assert made.title == "KubeDeploymentRolloutStuck"
    assert made.target == "Deployment shop/checkout"
    assert made.diagnosis[0] == "high confidence: revision 2 crashes at start (e3, e1)"
    assert made.diagnosis[-1] == "this would prove it wrong: revision 1 crashes too"
    assert made.away == ("prometheus: connection refused",)
    assert made.actions == ("1. roll Deployment shop/checkout back to revision 1 (shop/checkout:1.4.2) (disruptive)",)
    assert made.diff.endswith("-  image: shop/checkout:1.5.0\n+  image: shop/checkout:1.4.2")
    assert made.undo_diff.endswith("-  image: shop/checkout:1.4.2\n+  image: shop/checkout:1.5.0")
    assert made.blast == "up to 3 pods may be replaced; 2 of 3 pods are ready now"
    assert made.approvers == "slack:U0ONCALL, slack:U0SECOND, kubernetes:alice, kubernetes group sre"


def test_evidence_stands_typed_facts_first_then_most_trusted_and_cited_before_uncited_and_words_are_marked() -> None:
    made = card(j.incident(j.ASKED), NOW)
    assert made.evidence[0] == "found by bad_rollout: revision 2 crashes, revision 1 was healthy"
    assert [fact.split()[0] for fact in made.evidence[1:]] == ["e3", "e4", "e2", "e1"]
    assert made.evidence[4].startswith("e1 (")
    assert not any("(" in fact for fact in made.evidence[1:4])


def attached(name: str, deployment: str = "checkout", status: str = "firing") -> ev.AlertAttached:
    labels = {"namespace": "shop", "deployment": deployment}
    return ev.AlertAttached(alert=j.alert(status, name).model_copy(update={"labels": labels}), source=j.SOURCE)


def attached_again() -> ev.AlertAttached:
    return ev.AlertAttached(alert=j.alert(), source=j.SOURCE)


def test_what_else_fires_about_it_is_counted_with_its_names_and_since_when() -> None:
    others = [attached("KubePodNotReady", f"c-{n}") for n in range(3)] + [attached("KubeContainerWaiting")]
    again = [attached("KubeContainerWaiting"), attached("KubePodNotReady", "c-1", "resolved")]
    made = card(j.incident((j.opened(), *others, *again)), NOW)
    assert made.evidence[-1] == (
        "5 alerts about it since 11:58:00 UTC: KubePodNotReady 3, KubeContainerWaiting 1, "
        "KubeDeploymentRolloutStuck 1; 1 of them say that they are resolved"
    )


def test_an_alert_alone_is_not_counted_and_many_are_counted_as_far_as_they_are_kept() -> None:
    assert not any("alerts about it" in line for line in card(j.incident((j.opened(), attached_again())), NOW).evidence)
    many = [attached(f"Alert{n} *bold* <!channel>\u202e", f"c-{n}") for n in range(300)]
    (line,) = [line for line in card(j.incident((j.opened(), *many)), NOW).evidence if "alerts about it" in line]
    assert line.startswith("at least 101 alerts about it")
    assert line.endswith("96 other names")
    assert "\u202e" not in line


def test_too_much_evidence_says_how_much_more_there_is() -> None:
    many = tuple(j.item(f"e{n}", Trust.TEXT, "log") for n in range(40))
    made = card(j.incident((*j.LOOKING[:2], j.gathered(many))), NOW)
    assert len(made.evidence) == 9
    assert made.evidence[-1] == "and 32 more in the report"


def test_without_a_plan_it_shows_what_was_found_and_what_was_not_offered() -> None:
    made = card(j.incident((*j.LOOKING, ev.Offered(menu=j.MENU), j.handed_over())), NOW)
    assert made.diagnosis == (
        "found: revision 2 crashes, revision 1 was healthy",
        "not offered: scale_workload: AUTOSCALED: an HPA sets it",
    )


def test_an_incident_after_a_repair_says_first_which_repair_did_not_hold() -> None:
    incident = j.incident(j.ASKED).model_copy(update={"follows": ev.Follows(incident="inc-a", ended="RESOLVED")})
    assert card(incident, NOW).diagnosis[0].startswith("The repair of inc-a did not hold")


def test_a_write_that_could_not_be_rehearsed_is_shown_by_its_body() -> None:
    one = j.rehearsal().writes[0].model_copy(update={"rehearsed": False, "diff": "", "undo_diff": ""})
    made_of = j.rehearsal().model_copy(update={"writes": (one,)})
    made = card(j.incident((*j.REHEARSED[:-1], ev.Rehearsed(rehearsal=made_of))), NOW)
    assert "not rehearsed" in made.diff
    assert '"path": "/spec"' in made.diff
    assert made.undo_diff == ""


@pytest.mark.parametrize(
    ("events", "decided"),
    [
        (j.APPROVED, "approved by slack:U0ONCALL"),
        ((*j.ASKED, ev.Rejected(request="req-1", by=j.SAM)), "rejected by slack:U0SECOND"),
        (
            (*j.REHEARSED, ev.Cleared(hash=j.rehearsal().hash, run_until=NOW)),
            "policy lets this run without asking",
        ),
        (j.ASKED, ""),
    ],
)
def test_it_says_who_decided(events: tuple[ev.Event, ...], decided: str) -> None:
    assert card(j.incident(events), NOW).decided == decided


def size(made: Card) -> int:
    return len(made.model_dump_json())


@settings(max_examples=50, deadline=None)
@given(st.text(max_size=200).flatmap(lambda t: st.integers(1, 200).map(lambda n: t * n)))
def test_text_of_any_length_keeps_the_card_small_and_its_lines_single(text: str) -> None:
    text = text.encode(errors="replace").decode()
    finding = j.FINDING.model_copy(update={"summary": text})
    gathered = j.gathered(tuple(j.item(f"e{n}", Trust.TEXT, text, text) for n in range(40)))
    gathered = gathered.model_copy(update={"findings": (finding,) * 40, "away": (Away(source=text, why=text),) * 40})
    rehearsal = j.rehearsal(text, text)
    events = (j.opened(text), *j.LOOKING[1:2], gathered, *j.PLANNED[3:], ev.Compiled(saga=j.SAGA))
    asked = (*events, ev.Rehearsed(rehearsal=rehearsal), ev.Asked(request=j.request(bound_to=rehearsal)))
    ends = j.handed_over(detail=text), ev.Voided(reason=Reason.DRIFTED, detail=text)
    worse = ev.Verified(verdict=Verdict.WORSE, severity=j.SEVERITY, detail=text)
    for journal in (asked, *((*asked, end) for end in ends), (*j.VERIFYING, worse)):
        made = card(j.incident(journal), NOW)
        assert size(made) < 80_000
        for one in (made.title, made.status, made.next_action, *made.diagnosis, *made.evidence, *made.away):
            assert "\n" not in one
            assert len(one) <= 700


@pytest.mark.parametrize(
    ("number", "said"), [(1, "1 more alert of its group was"), (7, "7 more alerts of its group were")]
)
def test_alerts_that_alertmanager_cut_off_are_said_on_the_card_and_in_the_report(number: int, said: str) -> None:
    opened = j.LOOKING[0]
    assert isinstance(opened, ev.Opened)
    cut = opened.model_copy(update={"alert": opened.alert.model_copy(update={"left_out": number})})
    events = (cut, *j.ASKED[1:])
    line = f"{said} cut by Alertmanager (max_alerts)"
    assert card(j.incident(events), j.T0).evidence[-1] == line
    assert f"    - {line}" in report(j.incident(events), j.entries(events)).splitlines()
    assert not any("Alertmanager" in fact for fact in card(j.incident(j.ASKED), j.T0).evidence)
