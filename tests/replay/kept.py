"""Kept journals, and what today's code makes of them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from handrail.adapters.store.chain import Row, verify
from handrail.adapters.store.journal import as_entry
from handrail.core.card import card
from handrail.core.fold import apply, fold
from handrail.core.report import report
from handrail.model.events import Entry
from handrail.model.incident import Incident

HERE = Path(__file__).parent
CLUSTER = "demo"


def stories() -> list[Path]:
    return sorted(HERE.glob("v*/*.jsonl"))


def journals(story: Path) -> dict[str, list[Row]]:
    """By incident, in order."""
    found: dict[str, list[Row]] = {}
    for line in story.read_text().splitlines():
        row = Row(**json.loads(line))
        found.setdefault(row.incident, []).append(row)
    return found


def told(story: Path) -> dict[str, Any]:
    """Raises ValueError where a chain is not whole."""
    return {id_: _told(rows) for id_, rows in journals(story).items()}


def _told(rows: list[Row]) -> dict[str, Any]:
    broken = verify(rows)
    if broken is not None:
        raise ValueError(f"{rows[0].incident}: broken at {broken.seq}: {broken.problem}")
    entries = tuple(as_entry(row) for row in rows)
    incident = fold(entries, cluster=CLUSTER)
    now = datetime.fromisoformat(rows[-1].at) + timedelta(minutes=1)
    return {
        "path": list(_path(entries)),
        "fold": incident.model_dump(mode="json"),
        "card": card(incident, now).model_dump(mode="json"),
        "report": report(incident, entries).splitlines(),
    }


def _path(entries: tuple[Entry, ...]) -> Iterator[str]:
    """Each entry with the state that it leads to."""
    incident: Incident | None = None
    for entry in entries:
        incident = apply(incident, entry, cluster=CLUSTER)
        yield f"{entry.event.kind} -> {incident.state}"


def sorted_sets(value: Any) -> Any:
    """Sets have no order of their own in JSON."""
    if isinstance(value, dict):
        return {key: sorted_sets(one) for key, one in value.items()}
    if isinstance(value, list):
        inner = [sorted_sets(one) for one in value]
        return sorted(inner) if all(isinstance(one, str) and one.count("/") > 3 for one in inner) else inner
    return value
