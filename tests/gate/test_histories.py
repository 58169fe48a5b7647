"""Several incidents of one cluster, whatever they do and whoever answers: budgets hold in every window, and no freeze
sees a new write."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from hypothesis import given, settings
from hypothesis import strategies as st

from handrail.core.budgets import Begun, Spent, objects
from handrail.core.freeze import standing
from handrail.core.gate import judge
from handrail.model import events as ev
from handrail.model.budgets import Budgets
from handrail.model.freeze import Freeze
from handrail.model.incident import State
from handrail.model.policy import Mode, Policy
from handrail.model.reason import Refusal
from handrail.model.step import Risk
from handrail.model.write import Direction, Write
from tests.gate.facts import facts_of, most_within
from tests.saga.world import START, Choose, PureWorld, policy

BUDGETS = Budgets.model_validate(
    {
        "per_target": {"most": 2, "minutes": 60},
        "per_cluster": {"most": 3, "minutes": 90},
        "per_risk": {"reversible": {"most": 2, "minutes": 45}},
        "at_once": 1,
    }
)
AFTER_WRITING = (State.EXECUTING, State.VERIFYING, State.UNDOING, State.UNDONE)
LONG = 70
OPEN = frozenset({"send", "outcome", "undo", "verify", "before writing"})
"""What is left to chance; else all goes well, so that many come to write."""


class Cluster:
    """The clock and the rows that all its incidents share, as the store has them."""

    def __init__(self, rules: Policy) -> None:
        self.rules = rules
        self.now = START
        self.worlds: list[Sharing] = []
        self.begun: list[Begun] = []
        self.most_at_work = 0

    def spent(self, asking: Sharing) -> Spent:
        uids = frozenset(objects(asking.incident))
        begun = tuple(one.model_copy(update={"uids": one.uids & uids}) for one in self.begun)
        return Spent(begun=begun, at_work=tuple(world.id for world in self.at_work() if world is not asking))

    def at_work(self) -> list[Sharing]:
        return [w for w in self.worlds if w.incident.has_acted and w.incident.state in AFTER_WRITING]

    def tick(self, world: Sharing) -> None:
        world.now = self.now
        world.tick()
        self.now = world.now
        self.most_at_work = max(self.most_at_work, len(self.at_work()))


class Sharing(PureWorld):
    """One of several incidents: the gate counts what the others have begun."""

    def __init__(self, cluster: Cluster, number: int, choose: Choose[str]) -> None:
        self.id = f"inc-{number}"
        super().__init__(choose, mode=Mode.ACT, risk=Risk.REVERSIBLE)
        self.cluster = cluster
        self.policy = cluster.rules
        cluster.worlds.append(self)

    def gate(self, planned: Write, direction: Direction) -> Refusal | None:
        facts = facts_of(self.incident, now=self.now, switch=self.switch, spent=self.cluster.spent(self))
        return judge(facts, self.policy, "handrail", planned, direction)

    def _intend(self, index: int, mine: Write, direction: Direction) -> None:
        begins, before, round_ = not self.incident.has_acted, len(self.entries), self.incident.round
        uids = frozenset(objects(self.incident))
        super()._intend(index, mine, direction)
        passed = any(isinstance(entry.event, ev.Intent) for entry in self.entries[before:])
        if passed and begins and direction is Direction.DO:
            run = Begun(at=self.now, incident=self.id, round=round_, risk=self.risk, uids=uids)
            self.cluster.begun.append(run)


def play(data: st.DataObject) -> Cluster:
    def choose(what: str, options: Sequence[str]) -> str:
        return data.draw(st.sampled_from(options), label=what) if what in OPEN else options[0]

    windows = st.tuples(st.integers(0, 180), st.integers(1, 90))
    freezes = tuple(
        Freeze.model_validate({"name": "x", "reason": "y", "from": at(begins), "until": at(begins + minutes)})
        for begins, minutes in data.draw(st.lists(windows, max_size=3), label="freezes")
    )
    found = Cluster(policy(Mode.ACT).model_copy(update={"budgets": BUDGETS, "freezes": freezes}))
    for number in range(3):
        Sharing(found, number, choose)
    for _ in range(LONG):
        alive = [world for world in found.worlds if not world.incident.state.terminal]
        if not alive:
            break
        found.now += timedelta(minutes=data.draw(st.sampled_from((0, 0, 0, 4, 25)), label="minutes go by"))
        found.tick(data.draw(st.sampled_from(alive), label="whose turn"))
    return found


def at(minute: int) -> datetime:
    return START + timedelta(minutes=minute)


@settings(deadline=None)
@given(st.data())
def test_no_window_of_any_history_holds_more_runs_than_a_budget_allows(data: st.DataObject) -> None:
    found = play(data)
    times = [one.at for one in found.begun]
    assert most_within(times, 60) <= 2, "all are on the same objects"
    assert most_within(times, 90) <= 3
    assert most_within(times, 45) <= 2
    assert found.most_at_work <= 1


@settings(deadline=None)
@given(st.data())
def test_no_intent_to_do_falls_into_a_freeze_whatever_was_approved_before(data: st.DataObject) -> None:
    found = play(data)
    for world in found.worlds:
        for entry in world.entries:
            if isinstance(entry.event, ev.Intent) and entry.event.direction is Direction.DO:
                assert standing(found.rules.freezes, ["shop"], entry.at) is None
