"""Large texts beside the journal, addressed by their content: evidence, and the raw answers of the model."""

from __future__ import annotations

import json
from collections.abc import Mapping

from sqlalchemy import select

from handrail.adapters.store.database import Tx
from handrail.adapters.store.once import insert_once
from handrail.adapters.store.schema import blobs
from handrail.model.errors import Bug
from handrail.model.value import digest

_ESCAPED = "\x1fjson:"
"""Begins a text that is stored as JSON: PostgreSQL takes no NUL, and a log line may hold one."""


async def keep(tx: Tx, texts: Mapping[str, str]) -> None:
    """Once each. Raises Bug where a text is not what its digest says: the journal would vouch for something else."""
    wrong = next((key for key, text in texts.items() if digest(text) != key), None)
    if wrong is not None:
        raise Bug(f"the text kept as {wrong} has another digest")
    if not texts:
        return
    known = set((await tx.conn.execute(select(blobs.c.digest).where(blobs.c.digest.in_(texts)))).scalars())
    rows = [{"digest": key, "text": _stored(texts[key])} for key in sorted(texts.keys() - known)]
    await insert_once(tx, blobs, rows)


async def blob(tx: Tx, key: str) -> str | None:
    stored = (await tx.conn.execute(select(blobs.c.text).where(blobs.c.digest == key))).scalar_one_or_none()
    return None if stored is None else said_in(stored)


def _stored(text: str) -> str:
    return _ESCAPED + json.dumps(text) if "\0" in text or text.startswith(_ESCAPED) else text


def said_in(stored: str) -> str:
    """The text of a stored one; what was changed so that it can't be read is given as it stands."""
    if not stored.startswith(_ESCAPED):
        return stored
    try:
        return str(json.loads(stored.removeprefix(_ESCAPED)))
    except ValueError:
        return stored
