"""Who may answer what, and when: core/answer.py, over every state that the fold can reach here."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handrail.core import lifecycle
from handrail.core.answer import decide, hold, is_one_of
from handrail.core.fold import event_name
from handrail.model import events as ev
from handrail.model.approval import Approvers, Person
from handrail.model.incident import State
from handrail.model.reason import Reason, Refusal
from tests.card import journals as j

SOON = j.T0 + timedelta(minutes=5)
LATE = j.request().expires + timedelta(seconds=1)

PAUSED = ev.Paused(by="local:root", why="freeze")
TAKEN = ev.Taken(by=j.SAM)
STORIES: dict[str, tuple[ev.Event, ...]] = {
    "looking": j.LOOKING,
    "planned": j.PLANNED,
    "rehearsed": j.REHEARSED,
    "asked": j.ASKED,
    "asked and stopped": (*j.ASKED, PAUSED),
    "asked and taken": (*j.ASKED, TAKEN),
    "asked, then void": (*j.ASKED, ev.Voided(reason=Reason.DRIFTED, detail="")),
    "approved": j.APPROVED,
    "wrote": j.WROTE,
    "verifying": j.VERIFYING,
    "healed": j.HEALED,
    "undone": j.UNDONE,
    "rejected": (*j.ASKED, ev.Rejected(request="req-1", by=j.SAM)),
    "expired": (*j.ASKED, j.handed_over(Reason.APPROVAL_EXPIRED, "nobody decided in time")),
    "asked for another hash": (*j.REHEARSED, ev.Asked(request=j.request(bound_to=j.rehearsal("another")))),
    "asked nobody": (*j.REHEARSED, ev.Asked(request=j.request(approvers=Approvers()))),
}

persons = st.builds(
    Person,
    via=st.sampled_from(["slack", "kubernetes", "local", "email", ""]),
    name=st.sampled_from(["U0ONCALL", "U0SECOND", "alice", "mallory", ""]),
    groups=st.sampled_from([(), ("sre",), ("dev",)]),
)
times = st.integers(-10, 7200).map(lambda s: j.T0 + timedelta(seconds=s))
request_ids = st.sampled_from(["req-1", "req-2", "", None])


@given(st.sampled_from(sorted(STORIES)), persons, request_ids, times)
def test_nothing_is_approved_unless_every_condition_holds(story: str, person: Person, id_: str | None, now) -> None:  # type: ignore[no-untyped-def]
    incident = j.incident(STORIES[story])
    answer = decide(incident, "approve", id_, person, now)
    if isinstance(answer, Refusal):
        return
    request = incident.request
    assert request is not None
    assert incident.rehearsal is not None
    assert answer == (ev.Approved(request=request.id, by=person),)
    assert story == "asked"
    assert incident.state is State.ASKING
    assert id_ == request.id
    assert now <= request.expires
    assert request.hash == incident.rehearsal.hash
    assert (person.via, person.name) in {("slack", "U0ONCALL"), ("slack", "U0SECOND"), ("kubernetes", "alice")} or (
        person.via == "kubernetes" and "sre" in person.groups and person.name
    )


@given(st.sampled_from(sorted(STORIES)), st.sampled_from(["approve", "reject", "take", "give_back", "steal"]), persons)
def test_whatever_is_recorded_is_allowed_in_that_state(story: str, verb: str, person: Person) -> None:
    incident = j.incident(STORIES[story])
    answer = decide(incident, verb, "req-1", person, SOON)
    if not isinstance(answer, Refusal):
        assert all(lifecycle.allowed(incident.state, event_name(event)) for event in answer)


@given(persons, st.booleans())
def test_an_empty_list_names_nobody(person: Person, reject: bool) -> None:
    assert not is_one_of(Approvers(), person)
    answer = decide(j.incident(STORIES["asked nobody"]), "reject" if reject else "approve", "req-1", person, SOON)
    assert isinstance(answer, Refusal)
    assert answer.reason is Reason.NOT_AN_APPROVER


def test_the_right_person_approves_in_time() -> None:
    assert decide(j.incident(j.ASKED), "approve", "req-1", j.ONA, SOON) == (ev.Approved(request="req-1", by=j.ONA),)


def test_groups_count_only_for_kubernetes_and_local_only_where_it_is_allowed() -> None:
    assert is_one_of(j.APPROVERS, Person(via="kubernetes", name="bob", groups=("sre",)))
    assert not is_one_of(j.APPROVERS, Person(via="slack", name="bob", groups=("sre",)))
    assert not is_one_of(j.APPROVERS, Person(via="slack", name="alice"))
    assert not is_one_of(j.APPROVERS, Person(via="kubernetes", name="U0ONCALL"))
    assert not is_one_of(j.APPROVERS, Person(via="local", name="root"))
    assert is_one_of(Approvers(local=True), Person(via="local", name="root"))


def refused(story: str, verb: str = "approve", id_: str | None = "req-1", person: Person = j.ONA, now=SOON) -> Refusal:  # type: ignore[no-untyped-def]
    answer = decide(j.incident(STORIES[story]), verb, id_, person, now)
    assert isinstance(answer, Refusal)
    return answer


@pytest.mark.parametrize(
    ("story", "id_", "reason", "says"),
    [
        ("approved", "req-1", Reason.APPROVAL_USED, "slack:U0ONCALL has already approved"),
        ("wrote", "req-1", Reason.APPROVAL_USED, "slack:U0ONCALL has already approved"),
        ("verifying", "req-1", Reason.APPROVAL_USED, "verifying"),
        ("healed", "req-1", Reason.APPROVAL_USED, "RESOLVED"),
        ("rejected", "req-1", Reason.APPROVAL_USED, "rejected by slack:U0SECOND"),
        ("expired", "req-1", Reason.APPROVAL_EXPIRED, "nobody decided in time"),
        ("asked, then void", "req-1", Reason.APPROVAL_MISMATCH, "no longer what would happen"),
        ("asked", "req-0", Reason.APPROVAL_MISMATCH, "answer the newest card"),
        ("asked", None, Reason.APPROVAL_MISMATCH, "handrail incidents show"),
        ("planned", "req-1", Reason.APPROVAL_MISMATCH, "not asked any more"),
        ("asked and taken", "req-1", Reason.TAKEN, "slack:U0SECOND has taken"),
        ("asked and stopped", "req-1", Reason.STOPPED, "handrail start"),
        ("asked for another hash", "req-1", Reason.APPROVAL_MISMATCH, "never carried out"),
    ],
)
def test_an_old_card_is_told_what_happened_meanwhile(story: str, id_: str | None, reason: Reason, says: str) -> None:
    refusal = refused(story, id_=id_)
    assert refusal.reason is reason
    assert says in refusal.detail


def test_a_stranger_is_told_who_may() -> None:
    refusal = refused("asked", person=j.STRANGER)
    assert refusal.reason is Reason.NOT_AN_APPROVER
    assert "slack:U0SECOND" in refusal.detail
    assert "kubernetes group sre" in refusal.detail


def test_after_the_deadline_neither_answer_counts_and_at_the_deadline_both_do() -> None:
    assert refused("asked", now=LATE).reason is Reason.APPROVAL_EXPIRED
    assert refused("asked", verb="reject", now=LATE).reason is Reason.APPROVAL_EXPIRED
    assert not isinstance(decide(j.incident(j.ASKED), "reject", "req-1", j.ONA, j.request().expires), Refusal)


@pytest.mark.parametrize("story", ["asked", "asked and stopped", "asked and taken"])
def test_rejecting_is_possible_also_under_stop_and_while_taken(story: str) -> None:
    answer = decide(j.incident(STORIES[story]), "reject", "req-1", j.ONA, SOON)
    assert answer == (ev.Rejected(request="req-1", by=j.ONA),)


@pytest.mark.parametrize("story", ["asked", "asked and stopped", "approved", "wrote", "verifying"])
def test_an_approver_may_take_it_in_any_state_before_the_end(story: str) -> None:
    assert decide(j.incident(STORIES[story]), "take", None, j.ONA, SOON) == (ev.Taken(by=j.ONA),)
    assert refused(story, "take", person=j.STRANGER).reason is Reason.NOT_AN_APPROVER


def test_before_anything_is_asked_only_the_standing_approvers_may_take_it() -> None:
    incident = j.incident(j.LOOKING)
    assert refused("looking", "take").reason is Reason.NOT_AN_APPROVER
    assert hold(incident, "take", j.ONA, j.APPROVERS) == (ev.Taken(by=j.ONA),)
    assert isinstance(hold(incident, "take", j.STRANGER, j.APPROVERS), Refusal)
    assert isinstance(hold(j.incident(j.HEALED), "take", j.ONA, j.APPROVERS), Refusal)


def test_what_is_taken_is_not_taken_twice() -> None:
    assert refused("asked and taken", "take").reason is Reason.TAKEN


def test_the_holder_or_an_approver_gives_it_back_and_a_stranger_does_not() -> None:
    taken = j.incident(STORIES["asked and taken"])
    assert decide(taken, "give_back", None, j.SAM, SOON) == (ev.GivenBack(by=j.SAM),)
    assert decide(taken, "give_back", None, j.ONA, SOON) == (ev.GivenBack(by=j.ONA),)
    assert refused("asked and taken", "give_back", person=j.STRANGER).reason is Reason.NOT_AN_APPROVER
    assert refused("asked", "give_back").reason is Reason.STATE_CHANGED


def test_the_holder_gives_back_what_was_taken_before_anything_was_asked() -> None:
    taken = j.incident((*j.LOOKING, TAKEN))
    assert decide(taken, "give_back", None, j.SAM, SOON) == (ev.GivenBack(by=j.SAM),)


@pytest.mark.parametrize("verb", ["approve", "reject", "take", "give_back", "dance"])
def test_nothing_counts_after_the_end(verb: str) -> None:
    for story in ("healed", "rejected", "expired"):
        refused(story, verb)


def test_an_unknown_verb_is_refused() -> None:
    assert refused("asked", "dance").reason is Reason.NOT_ALLOWED
