"""Planning: offer the closed menu, let a runbook or the model choose from it, review, and compile the choice.

The menu is journalled before any planner sees it, so a request to the model is a function of the fold: after a crash
the same request finds its recorded answer. Every call is a ledger entry first: its budget is checked and reserved
before the call, the raw answer is stored before it is parsed (design, state rule 7).
"""

from __future__ import annotations

from handrail.adapters import claude
from handrail.adapters.claude import ModelFailed, ModelRequest
from handrail.core import again
from handrail.core.compile import compile_plan
from handrail.core.menu import Considered, build_menu, to_look_for
from handrail.core.review import review
from handrail.core.tried import after_all, without_tried
from handrail.effects.quiet import kept_off
from handrail.effects.tools import Model, Tools
from handrail.model import events as ev
from handrail.model.config import PlannerMode
from handrail.model.errors import Bug, HeadMoved, Transient
from handrail.model.incident import Incident, ModelCall
from handrail.model.menu import Menu
from handrail.model.plan import Brief, PlanProposal
from handrail.model.reason import Reason, Refusal
from handrail.model.target import ObjectRef
from handrail.model.value import digest


async def offer(tools: Tools, incident: Incident) -> Incident:
    """Every known step looks at the target; what its own check and the policy let through becomes an option.
    Nothing does where somebody is at work."""
    target = _target(incident)
    policy, own = tools.policy(), tools.config.kubernetes.own_namespace
    names = to_look_for(target, tools.steps, policy, own)
    seen = {name: await tools.steps[name].look(tools.eyes, target) for name in names}
    thing = next((sight.thing for sight in seen.values() if sight is not None), None)
    refusal = await kept_off(tools.eyes, thing, tools.now()) if thing else None
    if refusal is not None:
        over = ev.HandedOver(reason=refusal.reason, detail=f"nothing is planned: {refusal.detail}")
        return await tools.store.append(incident, (over,))
    menu = build_menu(Considered(target, seen, tools.now()), tools.steps, policy, own)
    return await tools.store.append(incident, (ev.Offered(menu=without_tried(menu, incident.tried)),))


async def plan(tools: Tools, incident: Incident) -> Incident:
    """A reviewed proposal, or the hand-over with the reason why there is none. An undo was planned by who asked."""
    if incident.taking_back:
        theirs = ev.Planned(planner="the one who asked", proposal=again.proposal(incident))
        return await tools.store.append(incident, (theirs,))
    menu = incident.menu
    if menu is None:
        raise Bug("planning without a menu")
    brief = await _brief(tools, incident)
    incident, planner, proposal = await _choose(tools, incident, brief, menu)
    planned = proposal if isinstance(proposal, Refusal) else review(proposal, brief, menu) or proposal
    if isinstance(planned, Refusal):
        planned = after_all(planned, incident)
        over = ev.HandedOver(reason=planned.reason, detail=f"{planner}: {planned.detail}")
        return await tools.store.append(incident, (over,))
    return await tools.store.append(incident, (ev.Planned(planner=planner, proposal=planned),))


async def compile_(tools: Tools, incident: Incident) -> Incident:
    """Pure but for the append: the choice as ordered steps with final parameters."""
    if incident.taking_back:
        return await tools.store.append(incident, (ev.Compiled(saga=again.saga(incident, tools.now())),))
    saga = compile_plan(incident, tools.steps, tools.now())
    if isinstance(saga, Refusal):
        return await tools.store.append(incident, (ev.CompileRefused(reason=saga.reason, detail=saga.detail),))
    return await tools.store.append(incident, (ev.Compiled(saga=saga),))


Chosen = tuple[Incident, str, PlanProposal | Refusal]


async def _choose(tools: Tools, incident: Incident, brief: Brief, menu: Menu) -> Chosen:
    """Runbooks first; the model only where the mode names it and, with `both`, where no runbook is sure."""
    mode = tools.config.planner.mode
    if mode is not PlannerMode.MODEL:
        proposal = tools.runbooks.plan(brief, menu)
        sure = isinstance(proposal, PlanProposal) or proposal.reason is not Reason.NO_RUNBOOK
        if sure or mode is PlannerMode.RUNBOOK or tools.model is None:
            return incident, tools.runbooks.name, proposal
    if not menu.options:
        return incident, "menu", Refusal(reason=Reason.NOTHING_OFFERED, detail=_why_nothing(menu))
    if tools.model is None:
        return incident, "model", Refusal(reason=Reason.MODEL_AWAY, detail="no model key is configured")
    return await _ask_model(tools, tools.model, incident, brief, menu)


def _why_nothing(menu: Menu) -> str:
    reasons = "; ".join(f"{no.step}: {no.reason} ({no.detail})" for no in menu.not_offered)
    return f"no step may be offered: {reasons or 'none is known for this kind of object'}"


async def _ask_model(tools: Tools, model: Model, incident: Incident, brief: Brief, menu: Menu) -> Chosen:
    limits = tools.config.planner.model
    # An equal share for each call, whatever was spent: the same fold gives the same request, hence the same hash.
    request = claude.request(brief, menu, limits, limits.max_input_tokens // limits.max_calls)
    if isinstance(request, Refusal):
        return incident, "model", request
    known = next((call for call in incident.model_calls if call.request == request.hash), None)
    if known is None or (not known.raw and known.failed is None) or _may_repeat(known):
        refusal = _over_budget(tools, incident, known, request)
        if refusal is not None:
            return incident, "model", refusal
        incident, known = await _call(tools, model, incident, request)
    if known.failed is not None:
        return incident, "model", Refusal(reason=known.failed, detail="the model gave no usable answer")
    raw = await tools.store.blob(known.raw)
    if raw is None:
        return incident, "model", Refusal(reason=Reason.MODEL_AWAY, detail="its recorded answer can't be read")
    return incident, "model", claude.parse(raw, brief, menu)


def _may_repeat(call: ModelCall) -> bool:
    """A failure that may pass (the API was busy) is tried once more, within the budget."""
    return call.failed is Reason.MODEL_AWAY and call.times < 2


def _over_budget(tools: Tools, incident: Incident, known: ModelCall | None, request: ModelRequest) -> Refusal | None:
    """Before each call: calls and input tokens of this incident, unanswered ones counted as spent."""
    limits = tools.config.planner.model
    calls = sum(call.times for call in incident.model_calls)
    tokens = sum(call.input_tokens * call.times for call in incident.model_calls)
    if known is not None and known.times >= 2:
        return Refusal(reason=Reason.MODEL_AWAY, detail="asked twice without a usable answer")
    if calls >= limits.max_calls or tokens + request.input_tokens > limits.max_input_tokens:
        spent = f"{calls} of {limits.max_calls} calls and {tokens} of {limits.max_input_tokens} input tokens are spent"
        return Refusal(reason=Reason.MODEL_BUDGET, detail=f"{spent}; this one needs {request.input_tokens}")
    return None


async def _call(tools: Tools, model: Model, incident: Incident, request: ModelRequest) -> tuple[Incident, ModelCall]:
    """The answer is recorded wherever the journal's head is by then. Raises HeadMoved where anything else came in while
    the model thought (a take, a stop, another replica that asks by now): what follows is decided from that."""
    name = tools.config.planner.model.name
    asked = ev.ModelAsked(request=request.hash, model=name, input_tokens=request.input_tokens)
    incident = await tools.store.append(incident, (asked,))
    asked_seq = incident.seq
    reply = await model.call(request)
    if isinstance(reply, ModelFailed):
        paid = request.input_tokens if reply.spent else 0
        answered = ev.ModelAnswered(request=request.hash, failed=reply.reason, detail=reply.detail, input_tokens=paid)
        blobs: dict[str, str] = {}
    else:
        answered, blobs = _recorded(request, reply.raw, reply.input_tokens, reply.output_tokens)
    incident = await tools.store.answer_model(incident.id, answered, blobs)
    call = next(call for call in incident.model_calls if call.request == request.hash)
    if isinstance(reply, ModelFailed) and reply.retry_after is not None and _may_repeat(call):
        raise Transient(f"the model is away: {reply.detail}", retry_after=min(reply.retry_after, 60.0))
    if incident.seq != asked_seq + 1:
        raise HeadMoved(f"{incident.id}: more than the answer came in since the model was asked")
    return incident, call


def _recorded(
    request: ModelRequest, raw: str, input_tokens: int, output_tokens: int
) -> tuple[ev.ModelAnswered, dict[str, str]]:
    key = digest(raw)
    answered = ev.ModelAnswered(request=request.hash, raw=key, input_tokens=input_tokens, output_tokens=output_tokens)
    return answered, {key: raw}


async def _brief(tools: Tools, incident: Incident) -> Brief:
    """Only folded state and stored texts: the same incident gives the same brief at any time."""
    texts = {item.id: await tools.store.blob(item.digest) or "" for item in incident.evidence}
    if incident.severity_before is None:
        raise Bug("planning before gathering")
    return Brief(
        incident=incident.id,
        round=incident.round,
        alert_name=incident.alert.name,
        target=_target(incident),
        severity=incident.severity_before,
        findings=incident.findings,
        evidence=incident.evidence,
        texts=texts,
        away=incident.away,
        done=(*incident.done_before, *map(str, incident.tried)),
    )


def _target(incident: Incident) -> ObjectRef:
    if incident.target is None:
        raise Bug("planning before the target is known")
    return incident.target
