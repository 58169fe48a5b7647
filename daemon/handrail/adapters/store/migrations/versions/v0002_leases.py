"""Leases for replicas: who drives an incident, who has a duty, and a row to lock for each target.

Expands only: builds that know schema 1 go on reading and writing.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

WORDS = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def upgrade() -> None:
    op.add_column("incidents", sa.Column("holder", WORDS))
    op.add_column("incidents", sa.Column("lease_epoch", sa.Integer, nullable=False, server_default="0"))
    op.add_column("incidents", sa.Column("lease_until", sa.DateTime(timezone=True)))
    op.create_table("targets", sa.Column("uid", WORDS, primary_key=True))
    op.create_table(
        "duties",
        sa.Column("name", WORDS, primary_key=True),
        sa.Column("holder", WORDS),
        sa.Column("epoch", sa.Integer, nullable=False),
        sa.Column("until", sa.DateTime(timezone=True)),
    )
    op.execute("UPDATE meta SET schema = 2")
