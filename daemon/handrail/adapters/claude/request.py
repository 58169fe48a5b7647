"""What is asked of the model, as a pure function of brief, menu and limits: the same fold gives the same hash.

Typed facts come first, evidence last and quoted as JSON strings, which no text can break out of. What does not fit
the budget is cut from text evidence, the last piece first: of a log its oldest lines, of all else the end. The request
says what was cut.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any

from handrail.adapters.claude.prompt import SCHEMA, SYSTEM
from handrail.model.config import ModelConfig
from handrail.model.evidence import LOGS, EvidenceItem, Trust
from handrail.model.menu import Menu, Option
from handrail.model.plan import Brief
from handrail.model.reason import Reason, Refusal
from handrail.model.value import Value, canonical, digest

BYTES_A_TOKEN = 3
"""Conservative: English has about four, JSON and hashes fewer."""

SHORTEST = 200
"""Characters below which a cut text is left out altogether: a shred misleads."""

WORD = re.compile(r"[A-Za-z0-9_.:-]{1,100}")

Json = dict[str, Any]


class ModelRequest(Value):
    """`hash` is the ledger's key: the digest of `body`, which is sent as it is. `input_tokens` is an upper estimate."""

    hash: str
    body: Json
    input_tokens: int


def request(brief: Brief, menu: Menu, config: ModelConfig, left: int | None = None) -> ModelRequest | Refusal:
    """`left` is what remains of the incident's input tokens (None: all). MODEL_BUDGET when not even the facts fit."""
    most = config.max_input_tokens if left is None else min(left, config.max_input_tokens)
    texts = {item.id: brief.texts.get(item.id, item.excerpt) for item in brief.evidence}
    kept = dict(texts)
    for item in _least_trusted_first(brief.evidence):
        over = estimate(_body(brief, menu, config, texts, kept)) - most
        if over <= 0:
            break
        kept[item.id] = _cut(texts[item.id], over * BYTES_A_TOKEN, oldest_first=item.kind in LOGS)
    body = _body(brief, menu, config, texts, kept)
    tokens = estimate(body)
    if tokens > most:
        detail = f"the facts alone take about {tokens} tokens and {most} are left; a person must plan this"
        return Refusal(reason=Reason.MODEL_BUDGET, detail=detail)
    return ModelRequest(hash=digest(body), body=body, input_tokens=tokens)


def estimate(body: Json) -> int:
    """Tokens of a body, rather too many than too few."""
    return math.ceil(len(canonical(body).encode()) / BYTES_A_TOKEN)


def _least_trusted_first(evidence: tuple[EvidenceItem, ...]) -> list[EvidenceItem]:
    """Text before what was measured; within each, the last gathered first."""
    backwards = evidence[::-1]
    return sorted(backwards, key=lambda item: item.trust is not Trust.TEXT)


def _cut(text: str, excess: int, *, oldest_first: bool) -> str:
    """A text shorter by at least `excess` bytes of the request. With `oldest_first` its end is kept, from the beginning
    of a line on where it has lines: that is where a log says what went wrong."""
    whole = text.encode()
    most = max(0, len(whole) - excess - 100)
    if not oldest_first:
        kept = whole[:most].decode(errors="ignore")
    else:
        kept = whole[len(whole) - most :].decode(errors="ignore")
        rest = kept.partition("\n")[2]
        kept = rest if len(rest) >= SHORTEST else kept
    return kept if len(kept) >= SHORTEST else ""


def _body(brief: Brief, menu: Menu, config: ModelConfig, texts: dict[str, str], kept: dict[str, str]) -> Json:
    documents = (
        ("FACTS", _facts(brief)),
        ("MENU", _menu(menu)),
        ("EVIDENCE", [_evidence(item, texts[item.id], kept[item.id]) for item in brief.evidence]),
    )
    content = [{"type": "text", "text": f"{name}\n{_quoted(document)}"} for name, document in documents]
    return {
        "model": config.name,
        "max_tokens": config.max_output_tokens,
        "system": SYSTEM,
        "messages": [{"role": "user", "content": content}],
        "output_config": {"format": {"type": "json_schema", "schema": SCHEMA}},
    }


def _facts(brief: Brief) -> Json:
    target = brief.target
    return {
        "incident": brief.incident,
        "round": brief.round,
        "alert": _word(brief.alert_name),
        "target": {"kind": target.kind, "namespace": target.namespace, "name": target.name},
        "pods": {"desired": brief.severity.desired, "ready": brief.severity.ready},
        "findings": [
            finding.model_dump(mode="json", include={"cause", "handling", "summary", "corroborated", "facts"})
            for finding in brief.findings
        ],
        "already_done": list(brief.done),
        "sources_away": [away.source for away in brief.away],
    }


def _word(name: str) -> str:
    """An alert's name is its sender's own words. Facts are believed, so nothing that could be a sentence is one."""
    return name if WORD.fullmatch(name) else "(no plain name)"


def _menu(menu: Menu) -> Json:
    return {
        "options": [_option(option) for option in menu.options],
        "not_offered": [no.model_dump(mode="json") for no in menu.not_offered],
    }


def _option(option: Option) -> Json:
    return {
        "id": option.id,
        "does": option.summary,
        "risk": option.risk,
        "choose": {name: {"from": low, "to": high} for name, (low, high) in sorted(option.ranges.items())},
    }


def _evidence(item: EvidenceItem, text: str, kept: str) -> Json:
    piece: Json = {
        "id": item.id,
        "trust": item.trust,
        "kind": item.kind,
        "source": item.source,
        "at": f"{item.at:%Y-%m-%dT%H:%M:%SZ}",
        "title": item.title,
        "text": kept,
    }
    if kept != text:
        where = ("the first " if item.kind in LOGS else "the last ") if kept else ""
        piece["left_out"] = f"{where}{len(text) - len(kept)} of {len(text)} characters, for want of budget"
    return piece


def _quoted(document: Json | list[Json]) -> str:
    """JSON with every character outside printable text escaped: a quote, a line or a direction mark can't escape it."""
    text = json.dumps(document, ensure_ascii=False, indent=1)
    return "".join(char if char.isprintable() or char == "\n" else json.dumps(char)[1:-1] for char in text)
