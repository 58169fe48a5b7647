"""Large texts beside the journal, addressed by their content: evidence, and the raw answers of the model."""

from __future__ import annotations

from collections.abc import Mapping

from sqlalchemy import insert, select

from handrail.adapters.store.database import Tx
from handrail.adapters.store.schema import blobs
from handrail.model.errors import Bug
from handrail.model.value import digest


async def keep(tx: Tx, texts: Mapping[str, str]) -> None:
    """Once each. Raises Bug where a text is not what its digest says: the journal would vouch for something else."""
    wrong = next((key for key, text in texts.items() if digest(text) != key), None)
    if wrong is not None:
        raise Bug(f"the text kept as {wrong} has another digest")
    if not texts:
        return
    known = set((await tx.conn.execute(select(blobs.c.digest).where(blobs.c.digest.in_(texts)))).scalars())
    rows = [{"digest": key, "text": text} for key, text in texts.items() if key not in known]
    if rows:
        await tx.conn.execute(insert(blobs), rows)


async def blob(tx: Tx, key: str) -> str | None:
    return (await tx.conn.execute(select(blobs.c.text).where(blobs.c.digest == key))).scalar_one_or_none()
