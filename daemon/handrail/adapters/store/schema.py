"""The tables, in SQL that SQLite and PostgreSQL share. Decides what the database itself refuses; holds no logic.

Two promises are unique indexes here rather than code: one open incident per target, and one per identity. Columns that
are written by alerts are text without bounds in SQL: bounding is done at the source (decode), not by a failing insert.
"""

from __future__ import annotations

from datetime import UTC, datetime
from functools import lru_cache

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    DateTime,
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

SCHEMA = 6
"""What this build migrates to and needs at least (migrations/versions)."""

READER = 1
"""A database whose `min_reader` is above this is refused (design, state rule 10)."""

SYSTEM = "system"
"""The stream of the journal that belongs to no incident: stop and start."""


Words = Text().with_variant(Text(collation="C"), "postgresql")
"""Text that every database sorts as Python does: rows are locked in one order, whoever sorts."""


class UtcText(TypeDecorator[datetime]):
    """An aware time as ISO text in UTC with microseconds: sorts as text as it does as time, on every database."""

    impl = Words
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> str | None:
        return None if value is None else iso(value)

    def process_result_value(self, value: str | None, dialect: Dialect) -> datetime | None:
        return None if value is None else datetime.fromisoformat(value)


@lru_cache(maxsize=256)
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
    Column("topic", Words, primary_key=True),
    Column("partition", Integer, primary_key=True),
    Column("offset", BigInteger, primary_key=True),
    Column("digest", Words, nullable=False),
    Column("at", UtcText, nullable=False),
)

incidents = Table(
    "incidents",
    metadata,
    Column("id", Words, primary_key=True),
    Column("cluster", Words, nullable=False),
    Column("identity", Words, nullable=False),
    Column("episode", Words, nullable=False),
    Column("state", Words, nullable=False),
    Column("title", Words, nullable=False),
    Column("target_uid", Words),
    Column("target", Words, nullable=False),
    Column("opened_at", UtcText, nullable=False),
    Column("moved_at", UtcText, nullable=False),
    Column("ended_at", UtcText),
    Column("head", Integer, nullable=False),
    Column("epoch", Integer, nullable=False),
    Column("is_open", Boolean, nullable=False),
    Column("holder", Words),
    Column("lease_epoch", Integer, nullable=False, server_default="0"),
    Column("lease_until", DateTime(timezone=True)),
)
"""A projection of the journal for look-ups and locks; what counts is the journal.

The last three are the lease: which replica drives it, by the database's clock. Unused on SQLite.
"""

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
    Column("incident", Words, ForeignKey("incidents.id")),
    Column("seq", Integer),
    Column("identity", Words, nullable=False),
    Column("episode", Words, nullable=False),
    Column("name", Words, nullable=False),
    Column("status", Words, nullable=False),
    Column("seen_at", UtcText, nullable=False),
    Column("at", UtcText, nullable=False),
    Column("data", Words, nullable=False),
)
"""What builds before schema 6 wrote of every arrival; read no more, and pruned as it grows old."""

Index("signals_by_incident", signals.c.incident, signals.c.seq)
Index("signals_by_identity", signals.c.identity, signals.c.seen_at)

heard = Table(
    "heard",
    metadata,
    Column("cluster", Words, primary_key=True),
    Column("incident", Words, primary_key=True),
    Column("identity", Words, primary_key=True),
    Column("status", Words, primary_key=True),
    Column("name", Words, nullable=False),
    Column("times", BigInteger, nullable=False),
    Column("told", BigInteger, nullable=False),
    Column("told_at", UtcText),
    Column("at", UtcText, nullable=False),
    Column("seen_at", UtcText, nullable=False),
)
"""How often each alert came: `told` of these `times` it was journalled, last at `told_at`. `incident` is "" where it
belongs to none."""

journal = Table(
    "journal",
    metadata,
    Column("incident", Words, primary_key=True),
    Column("seq", Integer, primary_key=True),
    Column("at", UtcText, nullable=False),
    Column("kind", Words, nullable=False),
    Column("version", Integer, nullable=False),
    Column("data", Words, nullable=False),
    Column("actor", Words, nullable=False),
    Column("previous", Words, nullable=False),
    Column("hash", Words, nullable=False),
)
"""Append-only; `data` is canonical JSON. `incident` may be the stream SYSTEM, so it is no foreign key."""

saga_starts = Table(
    "saga_starts",
    metadata,
    Column("target_uid", Words, primary_key=True),
    Column("incident", Words, ForeignKey("incidents.id"), primary_key=True),
    Column("round", Integer, primary_key=True),
    Column("saga", Words, nullable=False),
    Column("at", UtcText, nullable=False),
)
"""The first intent of each saga on each object: what the interval between sagas is measured from."""

targets = Table("targets", metadata, Column("uid", Words, primary_key=True))
"""One row per object that a saga was meant for: what two gates lock when they want the same one."""

duties = Table(
    "duties",
    metadata,
    Column("name", Words, primary_key=True),
    Column("holder", Words),
    Column("epoch", Integer, nullable=False),
    Column("until", DateTime(timezone=True)),
)
"""What one replica at a time does for all, by the database's clock. Unused on SQLite."""

switch = Table(
    "switch",
    metadata,
    Column("id", Integer, CheckConstraint("id = 1"), primary_key=True),
    Column("stopped", Boolean, nullable=False),
    Column("by", Words, nullable=False),
    Column("why", Words, nullable=False),
    Column("at", UtcText),
    Column("head", Integer, nullable=False),
    Column("known_head", Integer, nullable=False, server_default="0"),
)
"""`head` is the newest seq of the stream SYSTEM, so that a cut-off end shows. While `known_head` is the same, `stops`
has the truth and `stopped` says that any stop is on; else an older build pressed last, and this row speaks for
everything."""

stops = Table(
    "stops",
    metadata,
    Column("scope", Words, primary_key=True),
    Column("name", Words, primary_key=True),
    Column("stopped", Boolean, nullable=False),
    Column("by", Words, nullable=False),
    Column("why", Words, nullable=False),
    Column("at", UtcText, nullable=False),
)
"""The newest press of each reach that was ever stopped."""

blobs = Table(
    "blobs",
    metadata,
    Column("digest", Words, primary_key=True),
    Column("text", Words, nullable=False),
)

telling = Table(
    "telling",
    metadata,
    Column("incident", Words, ForeignKey("incidents.id"), primary_key=True),
    Column("channel", Words, nullable=False),
    Column("ts", Words, nullable=False),
    Column("told_seq", Integer, nullable=False),
)
"""How far people have been told, and where in Slack."""

published = Table(
    "published",
    metadata,
    Column("publisher", Words, primary_key=True),
    Column("incident", Words, ForeignKey("incidents.id"), primary_key=True),
    Column("seq", Integer, nullable=False),
)
"""How far each incident's events were published; a publisher is named by where it publishes to."""
