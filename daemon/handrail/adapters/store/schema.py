"""The tables, in SQL that SQLite and PostgreSQL share. Decides what the database itself refuses; holds no logic.

Two promises are unique indexes here rather than code: one open incident per target, and one per identity. Columns that
are written by alerts are text without bounds in SQL: bounding is done at the source (decode), not by a failing insert.
"""

from __future__ import annotations

from datetime import UTC, datetime

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    Table,
    Text,
    TypeDecorator,
)
from sqlalchemy.engine import Dialect

from handrail.model.errors import Bug

SCHEMA = 1
"""What this build creates."""

READER = 1
"""A database whose `min_reader` is above this is refused (design, state rule 10)."""

EVENT_VERSION = 1
"""Version of the events' shape, for upcasting on read."""

SYSTEM = "system"
"""The stream of the journal that belongs to no incident: stop and start."""


class UtcText(TypeDecorator[datetime]):
    """An aware time as ISO text in UTC with microseconds: sorts as text as it does as time, on every database."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> str | None:
        return None if value is None else iso(value)

    def process_result_value(self, value: str | None, dialect: Dialect) -> datetime | None:
        return None if value is None else datetime.fromisoformat(value)


def iso(at: datetime) -> str:
    """Raises Bug for a time without a zone: it would be read as another moment elsewhere."""
    if at.tzinfo is None:
        raise Bug(f"a time without a zone reached the store: {at}")
    return at.astimezone(UTC).isoformat(timespec="microseconds")


metadata = MetaData()

meta = Table(
    "meta",
    metadata,
    Column("id", Integer, CheckConstraint("id = 1"), primary_key=True),
    Column("schema", Integer, nullable=False),
    Column("min_reader", Integer, nullable=False),
    Column("holder_epoch", Integer, nullable=False),
)

inbox = Table(
    "inbox",
    metadata,
    Column("topic", Text, primary_key=True),
    Column("partition", Integer, primary_key=True),
    Column("offset", BigInteger, primary_key=True),
    Column("digest", Text, nullable=False),
    Column("at", UtcText, nullable=False),
)

incidents = Table(
    "incidents",
    metadata,
    Column("id", Text, primary_key=True),
    Column("cluster", Text, nullable=False),
    Column("identity", Text, nullable=False),
    Column("episode", Text, nullable=False),
    Column("state", Text, nullable=False),
    Column("title", Text, nullable=False),
    Column("target_uid", Text),
    Column("target", Text, nullable=False),
    Column("opened_at", UtcText, nullable=False),
    Column("moved_at", UtcText, nullable=False),
    Column("ended_at", UtcText),
    Column("head", Integer, nullable=False),
    Column("epoch", Integer, nullable=False),
    Column("is_open", Boolean, nullable=False),
)
"""A projection of the journal for look-ups and locks; what counts is the journal."""

_OPEN = incidents.c.is_open.is_(True)

Index(
    "one_open_incident_per_target",
    incidents.c.cluster,
    incidents.c.target_uid,
    unique=True,
    sqlite_where=_OPEN,
    postgresql_where=_OPEN,
)
Index(
    "one_open_incident_per_identity",
    incidents.c.cluster,
    incidents.c.identity,
    unique=True,
    sqlite_where=_OPEN,
    postgresql_where=_OPEN,
)
Index("incidents_by_identity", incidents.c.cluster, incidents.c.identity, incidents.c.ended_at)
Index("incidents_by_opening", incidents.c.opened_at)

signals = Table(
    "signals",
    metadata,
    Column("id", BigInteger().with_variant(Integer, "sqlite"), primary_key=True),
    Column("incident", Text, ForeignKey("incidents.id")),
    Column("seq", Integer),
    Column("identity", Text, nullable=False),
    Column("episode", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("status", Text, nullable=False),
    Column("seen_at", UtcText, nullable=False),
    Column("at", UtcText, nullable=False),
    Column("data", Text, nullable=False),
)
"""Every arrival. `seq` is its place in the incident's journal; NULL where it is counted only."""

Index("signals_by_incident", signals.c.incident, signals.c.seq)
Index("signals_by_identity", signals.c.identity, signals.c.seen_at)

journal = Table(
    "journal",
    metadata,
    Column("incident", Text, primary_key=True),
    Column("seq", Integer, primary_key=True),
    Column("at", UtcText, nullable=False),
    Column("kind", Text, nullable=False),
    Column("version", Integer, nullable=False),
    Column("data", Text, nullable=False),
    Column("actor", Text, nullable=False),
    Column("previous", Text, nullable=False),
    Column("hash", Text, nullable=False),
)
"""Append-only; `data` is canonical JSON. `incident` may be the stream SYSTEM, so it is no foreign key."""

saga_starts = Table(
    "saga_starts",
    metadata,
    Column("target_uid", Text, primary_key=True),
    Column("incident", Text, ForeignKey("incidents.id"), primary_key=True),
    Column("round", Integer, primary_key=True),
    Column("saga", Text, nullable=False),
    Column("at", UtcText, nullable=False),
)
"""The first intent of each saga on each object: what the interval between sagas is measured from."""

switch = Table(
    "switch",
    metadata,
    Column("id", Integer, CheckConstraint("id = 1"), primary_key=True),
    Column("stopped", Boolean, nullable=False),
    Column("by", Text, nullable=False),
    Column("why", Text, nullable=False),
    Column("at", UtcText),
    Column("head", Integer, nullable=False),
)
"""`head` is the newest seq of the stream SYSTEM, so that a cut-off end shows."""

blobs = Table(
    "blobs",
    metadata,
    Column("digest", Text, primary_key=True),
    Column("text", Text, nullable=False),
)

telling = Table(
    "telling",
    metadata,
    Column("incident", Text, ForeignKey("incidents.id"), primary_key=True),
    Column("channel", Text, nullable=False),
    Column("ts", Text, nullable=False),
    Column("told_seq", Integer, nullable=False),
)
"""How far people have been told, and where in Slack."""
