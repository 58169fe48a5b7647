"""What people do: look, decide, stop. A decision is checked against the newest fold, and appended only onto it."""

from __future__ import annotations

from typing import Any

import structlog

from handrail.adapters.http import Reply, no_such
from handrail.adapters.slack import USAGE, Click, Command, read
from handrail.core.answer import decide, hold, is_one_of, stopped_since
from handrail.core.card import card
from handrail.core.reading import may_read
from handrail.core.report import report
from handrail.core.saga import TAKEN_PATIENCE
from handrail.core.story import line
from handrail.effects import asked, switching
from handrail.effects.last_words import as_heard
from handrail.effects.tools import Tools
from handrail.model import events as ev
from handrail.model.approval import Approvers, Person
from handrail.model.errors import HeadMoved
from handrail.model.incident import Incident
from handrail.model.reason import Reason, Refusal
from handrail.model.switch import EVERYTHING, Reach

log = structlog.get_logger("desk")

TRIES = 10


class PeoplesDesk:
    """Behind the API and behind the buttons: the same checks, whichever way a person comes."""

    def __init__(self, tools: Tools) -> None:
        self._tools = tools

    def may_read(self, person: Person) -> Reply | None:
        """By the last policy that could be read: looking writes nothing, and is needed most while things are broken."""
        no = may_read(self._tools.policy.last_good(), person)
        return None if no is None else self._no(no, "read")

    async def incidents(self, limit: int) -> list[dict[str, Any]]:
        """`left` says why one is not driven here: a newer build wrote to its journal, or it is damaged; else ""."""
        unfit = self._tools.store.unfit()
        rows = await self._tools.store.rows(limit)
        return [{**row.model_dump(mode="json"), "left": unfit.get(row.id, "")} for row in rows]

    async def show(self, id_: str) -> dict[str, Any] | None:
        incident = await self._find(id_)
        if incident is None:
            return None
        incident, entries = await as_heard(self._tools, incident)
        story = [
            {"seq": entry.seq, "at": entry.at.isoformat(), "actor": entry.actor, "kind": entry.event.kind, "line": told}
            for entry in entries
            if (told := line(entry)) is not None
        ]
        shown = card(incident, self._tools.now())
        journal = [
            {"seq": entry.seq, "at": entry.at.isoformat(), "actor": entry.actor, "kind": entry.event.kind}
            for entry in entries
        ]
        return {
            "incident": incident.id,
            "card": shown.model_dump(mode="json"),
            "story": story,
            "journal": journal,
        }

    async def report(self, id_: str) -> str | None:
        incident = await self._find(id_)
        return None if incident is None else report(*await as_heard(self._tools, incident))

    def _no(self, refusal: Refusal, stage: str) -> Reply:
        """The same word for the one who asked, the log and the metric."""
        self._tools.signs.refused(refusal.reason, stage)
        log.info("refused", reason=str(refusal.reason), stage=stage, detail=refusal.detail[:300])
        return Reply(ok=False, message=refusal.detail, reason=refusal.reason)

    async def decide(self, id_: str, verb: str, person: Person, request: str | None) -> Reply:
        """The head may move between look and append (the incident is alive): look again then, with the same checks."""
        for _ in range(TRIES):
            incident = await self._find(id_)
            if self._is_stranger(person, incident):
                detail = f"{person} may not decide this: the policy does not name that user, nor a group of his"
                return self._no(Refusal(reason=Reason.NOT_AN_APPROVER, detail=detail), "answer")
            if incident is None:
                return Reply(ok=False, message=no_such(id_))
            events = await self._decided(incident, verb.replace("-", "_"), request, person)
            if isinstance(events, Refusal):
                return self._no(events, "answer")
            try:
                await self._tools.store.append(incident, events, actor=str(person))
            except HeadMoved:
                continue
            return Reply(ok=True, message=_thanks(events[-1], incident.id, person), incident=incident.id)
        moving = "the incident keeps moving; try again"
        return self._no(Refusal(reason=Reason.STATE_CHANGED, detail=moving), "answer")

    async def ask(self, id_: str, verb: str, person: Person, why: str) -> Reply:
        """Cancel, retry, undo. Whoever may neither ask nor read learns nothing of what there is."""
        no = switching.may_press(self._tools.policy.last_good(), person)
        if no is not None:
            return self._no(no, "answer")
        incident = await self._find(id_)
        if incident is None:
            return Reply(ok=False, message=no_such(id_))
        answer = await asked.ask(self._tools, incident, verb, person, why)
        return self._no(answer, "answer") if isinstance(answer, Refusal) else answer

    def _is_stranger(self, person: Person, incident: Incident | None) -> bool:
        """Whoever may not read must learn nothing by deciding either. In Slack, all see the card anyway."""
        asked = incident.request.approvers if incident and incident.request else Approvers()
        refused = may_read(self._tools.policy.last_good(), person) is not None
        return person.via == "kubernetes" and not is_one_of(asked, person) and refused

    async def _decided(
        self, incident: Incident, verb: str, request: str | None, person: Person
    ) -> tuple[ev.Event, ...] | Refusal:
        """Yes needs a policy that can be read and names the person now; no, take and give back work without one."""
        match verb:
            case "take" | "give_back":
                return hold(incident, verb, person, self._tools.policy.last_good().approvers)
        events = decide(incident, verb, request, person, self._tools.now())
        if verb != "approve" or isinstance(events, Refusal):
            return events
        if is_one_of(self._tools.policy().approvers, person):
            return stopped_since(incident, await self._tools.store.switch()) or events
        gone = f"the policy does not name {person} as an approver any more"
        return Refusal(reason=Reason.NOT_AN_APPROVER, detail=gone)

    async def switch(self, stop: bool, person: Person, why: str, reach: Reach = EVERYTHING) -> Reply:
        no = switching.may_press(self._tools.policy.last_good(), person)
        if no is not None:
            return self._no(no, "switch")
        return await switching.press(self._tools, stop, person, why, reach)

    async def click(self, click: Click) -> str:
        """A button on a card in Slack, by the same rules. The one that stops is about everything, whatever its card."""
        person = Person(via="slack", name=click.user)
        if click.verb == "stop":
            return (await self.switch(True, person, f"pressed on the card of {click.incident}")).message
        return (await self.decide(click.incident, click.verb, person, click.request_id)).message

    async def command(self, command: Command) -> str:
        """What `/handrail …` in Slack is answered: the same as on the command line, by the same rules."""
        person = Person(via="slack", name=command.user)
        order = read(command.text)
        if order is None:
            return f"That can't be read, and nothing was done. Write {USAGE}."
        if order.verb == "status":
            no = switching.may_press(self._tools.policy.last_good(), person)
            return self._no(no, "read").message if no else "\n".join((await self.status())["lines"])
        return (await self.switch(order.verb == "stop", person, order.why, order.reach)).message

    async def status(self) -> dict[str, Any]:
        return await switching.standing(self._tools)

    async def audit(self) -> dict[str, Any]:
        return (await self._tools.store.audit()).model_dump(mode="json")

    async def _find(self, id_: str) -> Incident | None:
        found = await self._tools.store.find(id_)
        return await self._tools.store.incident(found[0]) if len(found) == 1 else None


def _thanks(event: ev.Event, id_: str, person: Person) -> str:
    """What was recorded in whose name, and what comes of it."""
    match event:
        case ev.Approved():
            return (
                f"approved by {person}: {id_} looks once more, then does it; `handrail incidents show {id_}` follows it"
            )
        case ev.Rejected():
            return f"rejected by {person}: {id_} is handed over; nothing of it was written"
        case ev.Taken():
            ends = f"after {TAKEN_PATIENCE.total_seconds() / 3600:g} hours it is handed over"
            return f"taken by {person}: nothing is done to it until `handrail give-back {id_}`; {ends}"
        case _:
            return f"given back by {person}: {id_} goes on where it stood"
