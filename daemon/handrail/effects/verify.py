"""Verifying: did it heal, stay as it was, or get worse? Each step judges its own; nothing may have got worse."""

from __future__ import annotations

from handrail.core import severity
from handrail.effects.tools import Tools
from handrail.model import events as ev
from handrail.model.errors import Bug
from handrail.model.incident import Incident
from handrail.model.severity import Severity
from handrail.model.step import Verdict, Verification


async def verify(tools: Tools, incident: Incident) -> Incident:
    """Appends a verdict, or leaves the incident as it is while patience lasts."""
    judged, measured = await _judge_all(tools, incident)
    verdicts = {one.verdict for one in judged}
    if verdicts == {Verdict.HEALED}:
        verdict = Verdict.HEALED
    elif Verdict.WORSE in verdicts:
        verdict = Verdict.WORSE
    elif Verdict.NOT_YET in verdicts:
        return incident
    else:
        verdict = Verdict.NO_EFFECT
    detail = "; ".join(one.detail for one in judged)
    return await tools.store.append(incident, (ev.Verified(verdict=verdict, severity=measured, detail=detail),))


async def _judge_all(tools: Tools, incident: Incident) -> tuple[list[Verification], Severity]:
    if incident.saga is None or incident.acted_at is None:
        raise Bug("verifying what was not done")
    judged: list[Verification] = []
    measured = Severity(desired=0, ready=0)
    for spec in incident.saga.steps:
        code = tools.step(spec.step)
        run = incident.step_run(spec.index)
        seen = await code.look(tools.eyes, spec.target)
        if seen is None or run is None:
            judged.append(Verification(verdict=Verdict.NO_EFFECT, detail=f"{spec.target} is gone"))
            continue
        measured = severity.measure(seen.thing)
        params = code.Params.model_validate(spec.params)
        judged.append(code.verify(seen, params, run.before, incident.acted_at, tools.now()))
    return judged, measured
