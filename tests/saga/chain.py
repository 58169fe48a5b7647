"""Incidents that people begin from one another: a world goes on in another incident, on the same clock and switch."""

from __future__ import annotations

from handrail.core import again
from handrail.model import events as ev
from handrail.model.incident import Incident
from handrail.model.reason import Reason, Refusal
from handrail.model.step import Risk
from tests.saga.world import ONCALL, Choose, PureWorld

WHY = "as I said"


class Followed(PureWorld):
    """What `begun` says: the same alert again, or the taking back of what the one before did."""

    def __init__(self, before: PureWorld, id_: str, begun: tuple[ev.Event, ...], risk: Risk) -> None:
        self.id = id_
        self._before = before
        self._begun = begun
        self.way = next(event.follows.how for event in begun if isinstance(event, ev.Opened) and event.follows)
        self.may_be_silenced = self.way == "retry"
        super().__init__(before.choose, risk=risk)
        self.switch = before.switch

    def _open(self) -> Incident:
        self.now = self._before.now
        self.incident = None  # type: ignore[assignment]  # the first event makes it
        self.append(*self._begun)
        return self.incident

    def moved(self) -> ev.Event:
        """As effects/rehearse.py: nobody is asked to take back what somebody has touched since."""
        return super().moved() if self.way == "retry" else ev.HandedOver(reason=Reason.DRIFTED, detail="touched")

    def _plan(self) -> None:
        if self.way == "retry":
            super()._plan()
        else:
            self.append(ev.Planned(planner="the one who asked", proposal=again.proposal(self.incident)))

    def _compile(self) -> None:
        if self.way == "retry":
            super()._compile()
        else:
            self.append(ev.Compiled(saga=again.saga(self.incident, self.now)))


class Chain:
    """`worlds` in the order in which they began; only the last one goes on."""

    def __init__(self, choose: Choose[str], risk: Risk = Risk.DISRUPTIVE) -> None:
        self.risk = risk
        self.worlds: list[PureWorld] = [PureWorld(choose, risk=risk)]

    @property
    def last(self) -> PureWorld:
        return self.worlds[-1]

    def ask(self, way: again.Way) -> Refusal | None:
        """As effects/asked.py does it: both journals in one go, or neither."""
        old, id_ = self.last, f"inc-{len(self.worlds) + 1}"
        begun = again.begin(way, old.entries, id_, ONCALL, WHY)
        if isinstance(begun, Refusal):
            return begun
        told, first = begun
        old.append(told)
        self.worlds.append(Followed(old, id_, first, self.risk))
        return None
