"""The first tables, and the journal that nobody may change: refused by the database itself."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

WORDS = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")

_ON_SQLITE = (
    "CREATE TRIGGER journal_refuses_update BEFORE UPDATE ON journal"
    " BEGIN SELECT RAISE(ABORT, 'the journal is append-only'); END",
    "CREATE TRIGGER journal_refuses_delete BEFORE DELETE ON journal"
    " BEGIN SELECT RAISE(ABORT, 'the journal is append-only'); END",
    # INSERT OR REPLACE deletes without waking a delete trigger
    "CREATE TRIGGER journal_refuses_replace BEFORE INSERT ON journal"
    " WHEN EXISTS (SELECT 1 FROM journal WHERE incident = NEW.incident AND seq = NEW.seq)"
    " BEGIN SELECT RAISE(ABORT, 'the journal is append-only'); END",
)

_ON_POSTGRESQL = (
    "CREATE FUNCTION journal_is_append_only() RETURNS trigger LANGUAGE plpgsql AS"
    " $$ BEGIN RAISE EXCEPTION 'the journal is append-only'; END $$",
    "CREATE TRIGGER journal_refuses_change BEFORE UPDATE OR DELETE OR TRUNCATE ON journal"
    " FOR EACH STATEMENT EXECUTE FUNCTION journal_is_append_only()",
)


def upgrade() -> None:
    _intake()
    _incidents()
    _journal()
    _rest()
    op.execute("INSERT INTO meta (id, schema, min_reader, holder_epoch) VALUES (1, 1, 1, 0)")
    op.bulk_insert(
        sa.table("switch", *(sa.column(name) for name in ("id", "stopped", "by", "why", "head"))),
        [{"id": 1, "stopped": False, "by": "", "why": "", "head": 0}],
    )


def _incidents() -> None:
    op.create_table(
        "incidents",
        sa.Column("id", WORDS, primary_key=True),
        *(sa.Column(name, WORDS, nullable=False) for name in ("cluster", "identity", "episode", "state", "title")),
        sa.Column("target_uid", WORDS),
        sa.Column("target", WORDS, nullable=False),
        sa.Column("opened_at", WORDS, nullable=False),
        sa.Column("moved_at", WORDS, nullable=False),
        sa.Column("ended_at", WORDS),
        sa.Column("head", sa.Integer, nullable=False),
        sa.Column("epoch", sa.Integer, nullable=False),
        sa.Column("is_open", sa.Boolean, nullable=False),
    )
    only_open = sa.text("is_open IS true") if _postgresql() else sa.text("is_open IS 1")
    for name, column in (("target", "target_uid"), ("identity", "identity")):
        op.create_index(
            f"one_open_incident_per_{name}",
            "incidents",
            ["cluster", column],
            unique=True,
            sqlite_where=only_open,
            postgresql_where=only_open,
        )
    op.create_index("incidents_by_identity", "incidents", ["cluster", "identity", "ended_at"])
    op.create_index("incidents_by_opening", "incidents", ["opened_at"])
    op.create_table(
        "signals",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer, "sqlite"), primary_key=True),
        sa.Column("incident", WORDS, sa.ForeignKey("incidents.id")),
        sa.Column("seq", sa.Integer),
        *(
            sa.Column(name, WORDS, nullable=False)
            for name in ("identity", "episode", "name", "status", "seen_at", "at", "data")
        ),
    )
    op.create_index("signals_by_incident", "signals", ["incident", "seq"])
    op.create_index("signals_by_identity", "signals", ["identity", "seen_at"])


def _journal() -> None:
    op.create_table(
        "journal",
        sa.Column("incident", WORDS, primary_key=True),
        sa.Column("seq", sa.Integer, primary_key=True),
        sa.Column("at", WORDS, nullable=False),
        sa.Column("kind", WORDS, nullable=False),
        sa.Column("version", sa.Integer, nullable=False),
        *(sa.Column(name, WORDS, nullable=False) for name in ("data", "actor", "previous", "hash")),
    )
    for statement in _ON_POSTGRESQL if _postgresql() else _ON_SQLITE:
        op.execute(statement)


def _intake() -> None:
    op.create_table(
        "meta",
        sa.Column("id", sa.Integer, sa.CheckConstraint("id = 1"), primary_key=True),
        *(sa.Column(name, sa.Integer, nullable=False) for name in ("schema", "min_reader", "holder_epoch")),
    )
    op.create_table(
        "inbox",
        sa.Column("topic", WORDS, primary_key=True),
        sa.Column("partition", sa.Integer, primary_key=True),
        sa.Column("offset", sa.BigInteger, primary_key=True),
        sa.Column("digest", WORDS, nullable=False),
        sa.Column("at", WORDS, nullable=False),
    )


def _rest() -> None:
    op.create_table(
        "saga_starts",
        sa.Column("target_uid", WORDS, primary_key=True),
        sa.Column("incident", WORDS, sa.ForeignKey("incidents.id"), primary_key=True),
        sa.Column("round", sa.Integer, primary_key=True),
        sa.Column("saga", WORDS, nullable=False),
        sa.Column("at", WORDS, nullable=False),
    )
    op.create_table(
        "switch",
        sa.Column("id", sa.Integer, sa.CheckConstraint("id = 1"), primary_key=True),
        sa.Column("stopped", sa.Boolean, nullable=False),
        sa.Column("by", WORDS, nullable=False),
        sa.Column("why", WORDS, nullable=False),
        sa.Column("at", WORDS),
        sa.Column("head", sa.Integer, nullable=False),
    )
    op.create_table("blobs", sa.Column("digest", WORDS, primary_key=True), sa.Column("text", WORDS, nullable=False))
    op.create_table(
        "telling",
        sa.Column("incident", WORDS, sa.ForeignKey("incidents.id"), primary_key=True),
        sa.Column("channel", WORDS, nullable=False),
        sa.Column("ts", WORDS, nullable=False),
        sa.Column("told_seq", sa.Integer, nullable=False),
    )


def _postgresql() -> bool:
    return op.get_bind().dialect.name == "postgresql"
