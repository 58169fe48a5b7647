"""Freezes: when one stands, by the clock on the wall too, what it refuses, and what a bad one in the policy is told."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from handrail.adapters.settings import load_policy
from handrail.core import freeze
from handrail.core.asking import WORTH_WAITING, not_yet
from handrail.core.fold import apply
from handrail.core.gate import GateFacts, Recent, Rules, foresee, foreseen_end, judge
from handrail.model import events as ev
from handrail.model.errors import BadConfig
from handrail.model.freeze import Freeze
from handrail.model.incident import Incident, State
from handrail.model.policy import Policy
from handrail.model.reason import Reason, Refusal
from handrail.model.taking_back import TakeBack
from handrail.model.write import Direction, Write
from tests.factories import NOW, a_policy, a_rehearsal, a_saga, a_target, a_write, an_incident_in
from tests.gate.facts import facts_of

BERLIN = ZoneInfo("Europe/Berlin")


def absolute(begins: datetime = NOW - timedelta(hours=1), hours: float = 2, **more: Any) -> Freeze:
    given_ = {"name": "year-end", "reason": "the books are closed", "from": begins}
    return Freeze.model_validate({**given_, "until": begins + timedelta(hours=hours), **more})


def weekly(days: str, begins: str, ends: str, zone: str = "Europe/Berlin", **more: Any) -> Freeze:
    window = {"days": days.split(), "from": begins, "until": ends, "zone": zone}
    return Freeze.model_validate({"name": "weekend", "reason": "nobody is in", "weekly": window, **more})


def frozen(*some: Freeze) -> Policy:
    return a_policy().model_copy(update={"freezes": some})


def stands(one: Freeze, at: datetime, *others: Freeze) -> datetime | None:
    found = freeze.standing((one, *others), ["shop"], at)
    return found.until if found else None


def passing(state: State) -> GateFacts:
    return facts_of(an_incident_in(state))


def says(facts: GateFacts, policy: Policy, write: Write, direction: Direction = Direction.DO) -> Refusal | None:
    return judge(facts, policy, "handrail", write, direction)


def of(state: State, direction: Direction = Direction.DO) -> tuple[GateFacts, Write]:
    facts = passing(state)
    assert facts.incident.saga is not None
    return facts, a_write(facts.incident.saga, direction)


# what it refuses


def test_nothing_new_is_written_in_a_freeze_which_is_named_with_its_end_and_reason() -> None:
    facts, write = of(State.EXECUTING)
    assert says(facts, frozen(), write) is None
    said = "the freeze 'year-end' stands until 2026-11-03 04:00 UTC: the books are closed"
    assert says(facts, frozen(absolute()), write) == Refusal(reason=Reason.FROZEN, detail=said)
    assert says(facts, frozen(absolute(NOW + timedelta(minutes=1))), write) is None


@pytest.mark.parametrize(
    ("namespaces", "held"), [([], True), (["*"], True), (["shop"], True), (["bank"], False), (["bank", "shop"], True)]
)
def test_a_freeze_holds_the_namespaces_that_it_names_and_without_names_all(namespaces: list[str], held: bool) -> None:
    facts, write = of(State.EXECUTING)
    no = says(facts, frozen(absolute(namespaces=namespaces)), write)
    assert (no is not None and no.reason is Reason.FROZEN) is held


def test_a_node_belongs_to_the_whole_cluster_and_is_held_by_any_freeze() -> None:
    assert freeze.refused(frozen(absolute(namespaces=["bank"])), ["shop", ""], NOW) is not None


def test_what_runs_is_taken_back_in_a_freeze_as_at_any_time() -> None:
    facts, write = of(State.UNDOING, Direction.UNDO)
    assert says(facts, frozen(), write, Direction.UNDO) is None
    assert says(facts, frozen(absolute()), write, Direction.UNDO) is None


def test_a_whole_run_that_a_person_wants_taken_back_is_not_held_by_a_freeze() -> None:
    facts, write = of(State.EXECUTING)
    back = TakeBack(
        step="rollout_undo", risk="disruptive", target=a_target(), params={}, summary="x", before={}, after={}
    )
    asked_for = facts.incident.model_copy(update={"taking_back": (back,)})
    assert says(facts.model_copy(update={"incident": asked_for}), frozen(absolute()), write) is None


def test_another_attempt_of_what_was_intended_before_the_freeze_is_no_new_write() -> None:
    facts, write = of(State.EXECUTING)
    saga = facts.incident.saga
    assert saga is not None
    open_ = an_intent_in_flight(facts.incident, write)
    assert says(facts.model_copy(update={"incident": open_}), frozen(absolute()), write) is None
    other = open_.model_copy(update={"writes": ()})
    no = says(facts.model_copy(update={"incident": other}), frozen(absolute()), write)
    assert no is not None


def an_intent_in_flight(incident: Incident, write: Write) -> Incident:
    intent = ev.Intent(step=0, direction=Direction.DO, write=write, expected="before", resource_version="1")
    entry = ev.Entry(incident=incident.id, seq=incident.seq + 1, at=NOW, actor="t", event=intent, previous="", hash="x")
    return apply(incident, entry)


# before anybody is asked


def foreseen(policy: Policy) -> tuple[Incident, Refusal | None, datetime | None]:
    incident = an_incident_in(State.REHEARSING)
    rehearsal = a_rehearsal(a_saga(incident.id))
    incident = incident.model_copy(update={"rehearsal": rehearsal})
    rules = Rules(policy=policy, own_namespace="handrail", now=NOW)
    refusal = foresee(incident, [one.write for one in rehearsal.writes], Recent(), rules)
    return incident, refusal, foreseen_end(refusal, incident, Recent(), rules) if refusal else None


@pytest.mark.parametrize(("minutes", "waits"), [(10, True), (16, False)])
def test_nobody_is_asked_in_a_freeze_its_end_is_waited_for_or_a_person_has_it_with_the_plan(
    minutes: int, waits: bool
) -> None:
    end = NOW + timedelta(minutes=minutes)
    incident, refusal, until = foreseen(frozen(absolute(end - timedelta(hours=2))))
    assert refusal is not None
    assert (refusal.reason, until) == (Reason.FROZEN, end)
    after = not_yet(refusal, incident, until, NOW)
    assert type(after) is (ev.Waiting if waits else ev.HandedOver)
    assert after.reason is Reason.FROZEN
    assert waits == (timedelta(minutes=minutes) <= WORTH_WAITING)
    assert waits or "else it would ask to do this: go back to revision 1" in after.detail


def test_without_a_freeze_nothing_is_foreseen() -> None:
    assert foreseen(frozen(absolute(NOW - timedelta(hours=3))))[1] is None


# when it stands


def at(text: str, fold: int = 0) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=BERLIN, fold=fold).astimezone(UTC)


def test_a_window_ends_at_its_end_and_not_before() -> None:
    one = absolute(NOW, hours=1)
    end = NOW + timedelta(hours=1)
    assert stands(one, NOW - timedelta(microseconds=1)) is None
    assert stands(one, NOW) == stands(one, end - timedelta(microseconds=1)) == end
    assert stands(one, end) is None


@pytest.mark.parametrize(
    ("moment", "until"),
    [
        ("2026-11-27 21:59", None),
        ("2026-11-27 22:00", "2026-11-28 06:00"),
        ("2026-11-28 05:59", "2026-11-28 06:00"),
        ("2026-11-28 06:00", None),
        ("2026-11-28 23:00", None),
    ],
)
def test_an_end_that_is_earlier_than_the_beginning_is_on_the_next_day(moment: str, until: str | None) -> None:
    assert stands(weekly("fri", "22:00", "06:00"), at(moment)) == (at(until) if until else None)


def test_windows_without_a_gap_are_one_freeze_with_one_end() -> None:
    parts = (weekly("fri", "18:00", "24:00"), weekly("sat sun", "00:00", "24:00"), weekly("mon", "00:00", "06:00"))
    assert stands(parts[0], at("2026-11-27 18:00"), *parts[1:]) == at("2026-11-30 06:00")
    elsewhere = weekly("mon", "00:00", "06:00", namespaces=["bank"])
    assert stands(parts[0], at("2026-11-27 18:00"), parts[1], elsewhere) == at("2026-11-30 00:00")


def test_a_freeze_that_never_ends_still_has_a_time_to_look_again() -> None:
    always = weekly("mon tue wed thu fri sat sun", "00:00", "24:00")
    end = stands(always, NOW)
    assert end is not None
    assert end > NOW + timedelta(days=30)


@pytest.mark.parametrize("fold", [0, 1])
def test_an_hour_that_the_clock_shows_twice_is_frozen_both_times(fold: int) -> None:
    """Europe/Berlin, 25 October 2026: 02:00 to 03:00 comes twice."""
    one = weekly("sun", "02:15", "02:45")
    assert stands(one, at("2026-10-25 02:30", fold)) == at("2026-10-25 02:45", 1)
    assert stands(one, at("2026-10-25 02:14", 0)) is None
    assert stands(one, at("2026-10-25 02:45", 1)) is None


def test_a_window_in_the_hour_that_summer_time_skips_is_not_lost() -> None:
    """Europe/Berlin, 29 March 2026: after 01:59 comes 03:00."""
    one = weekly("sun", "02:15", "02:45")
    assert stands(one, at("2026-03-29 03:00")) is not None
    assert stands(one, at("2026-03-29 04:00")) is None


def test_the_same_wall_clock_in_winter_and_in_summer() -> None:
    one = weekly("mon tue wed thu fri sat sun", "09:00", "10:00")
    for day in ("2026-01-15", "2026-07-15"):
        assert [stands(one, at(f"{day} {clock}")) is not None for clock in ("08:59", "09:00", "09:59", "10:00")] == [
            False,
            True,
            True,
            False,
        ]


@given(
    st.integers(0, 3 * 365 * 24 * 60),
    st.sampled_from(["Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kolkata", "UTC"]),
    st.integers(0, 23),
    st.integers(0, 24),
    st.sets(st.sampled_from(["mon", "tue", "wed", "thu", "fri", "sat", "sun"]), min_size=1),
)
def test_whenever_the_wall_clock_reads_as_written_it_is_frozen(
    minute: int, zone: str, begins: int, ends: int, days: set[str]
) -> None:
    if begins == ends:
        return
    one = weekly(" ".join(sorted(days)), f"{begins:02}:00", f"{ends:02}:00", zone)
    now = datetime(2025, 1, 1, tzinfo=UTC) + timedelta(minutes=minute)
    local = now.astimezone(ZoneInfo(zone))
    names = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"]
    today, yesterday = names[local.weekday()], names[local.weekday() - 1]
    over_night = ends <= begins
    written = (today in days and local.hour >= begins and (over_night or local.hour < ends)) or (
        over_night and yesterday in days and local.hour < ends
    )
    found = stands(one, now)
    assert found is not None if written else True
    assert found is None or found > now
    upcoming = freeze.next_window(one, now)
    assert upcoming is not None
    assert now < upcoming.begins < upcoming.ends
    assert stands(one, upcoming.begins) is not None


@pytest.mark.parametrize(
    ("moment", "said"),
    [
        (NOW.replace(second=0, microsecond=0), "2026-11-03 03:00 UTC"),
        (NOW.replace(second=0, microsecond=1), "2026-11-03 03:01 UTC"),
        (NOW.replace(second=0, microsecond=500_000), "2026-11-03 03:01 UTC"),
        (NOW.replace(second=59, microsecond=999_999), "2026-11-03 03:01 UTC"),
    ],
)
def test_a_time_to_begin_again_is_never_said_earlier_than_it_is(moment: datetime, said: str) -> None:
    assert freeze.when(moment) == said


def test_there_is_no_next_window_of_what_is_over() -> None:
    assert freeze.next_window(absolute(NOW - timedelta(days=3)), NOW) is None
    assert freeze.next_window(absolute(NOW + timedelta(days=30)), NOW) is not None


# what is written in the policy

GOOD: dict[str, Any] = {
    "name": "a",
    "reason": "b",
    "from": "2026-12-18T18:00:00+01:00",
    "until": "2027-01-04T06:00:00Z",
}
WEEK: dict[str, Any] = {"days": ["fri"], "from": "18:00", "until": "06:00", "zone": "UTC"}
WEEKLY: dict[str, Any] = {"name": "a", "reason": "b", "weekly": WEEK}


@pytest.mark.parametrize(
    ("given_", "said"),
    [
        ({**GOOD, "until": "2026-12-18T17:00:00Z"}, "freezes.1.until: until must be later than from"),
        ({**GOOD, "from": "2026-12-18T18:00:00"}, "freezes.1.from: Input should have timezone info"),
        ({**GOOD, "from": "2026-12-18"}, "freezes.1.from: write a moment with its zone"),
        ({**GOOD, "from": 1080}, "freezes.1.from: write a moment with its zone"),
        (
            {key: GOOD[key] for key in ("name", "reason", "from")},
            "freezes.1: write either both from and until, or weekly",
        ),
        ({**GOOD, "weekly": WEEK}, "freezes.1: write either both from and until, or weekly"),
        ({**GOOD, "till": "2027"}, "freezes.1.till: unknown key; did you mean 'until'?"),
        ({**GOOD, "reason": ""}, "freezes.1.reason: "),
        ({**WEEKLY, "weekly": {**WEEK, "zone": "Mars/Olympus"}}, "freezes.1.weekly.zone: there is no such zone"),
        ({**WEEKLY, "weekly": {**WEEK, "zone": "../../etc/passwd"}}, "freezes.1.weekly.zone: there is no such zone"),
        ({**WEEKLY, "weekly": {**WEEK, "days": ["friday"]}}, "freezes.1.weekly.days.0: "),
        ({**WEEKLY, "weekly": {**WEEK, "days": []}}, "freezes.1.weekly.days: "),
        (
            {**WEEKLY, "weekly": {**WEEK, "from": 1080}},
            'freezes.1.weekly.from: write the time in quotes, such as "18:00"',
        ),
        ({**WEEKLY, "weekly": {**WEEK, "from": "25:00"}}, "freezes.1.weekly.from: no clock shows that"),
        ({**WEEKLY, "weekly": {**WEEK, "until": "18:00"}}, "freezes.1.weekly.until: until is from"),
        ({**WEEKLY, "weekly": {**WEEK, "till": "18:00"}}, "freezes.1.weekly.till: unknown key; did you mean 'until'?"),
    ],
)
def test_a_bad_window_is_refused_when_it_is_loaded_with_the_path_of_its_field(
    tmp_path: Path, given_: dict[str, Any], said: str
) -> None:
    path = tmp_path / "policy.yaml"
    path.write_text(yaml.safe_dump({"version": 1, "freezes": [GOOD, given_]}))
    with pytest.raises(BadConfig) as refused:
        load_policy(path)
    assert str(refused.value).startswith(f"{path}: {said}"), refused.value


def test_times_that_yaml_itself_makes_moments_of_are_read_as_they_are_written(tmp_path: Path) -> None:
    path = tmp_path / "policy.yaml"
    path.write_text(
        "version: 1\nfreezes:\n  - {name: a, reason: b, from: 2026-12-18T18:00:00+01:00, until: 2027-01-04 06:00:00Z}\n"
    )
    (found,) = load_policy(path).freezes
    assert (found.begins, found.ends) == (datetime(2026, 12, 18, 17, tzinfo=UTC), datetime(2027, 1, 4, 6, tzinfo=UTC))
