"""How far the events of each incident were published, for each publisher.

Expands only: builds that know schema 1 or 2 go on reading and writing.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

WORDS = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def upgrade() -> None:
    op.create_table(
        "published",
        sa.Column("publisher", WORDS, primary_key=True),
        sa.Column("incident", WORDS, sa.ForeignKey("incidents.id"), primary_key=True),
        sa.Column("seq", sa.Integer, nullable=False),
    )
    op.execute("UPDATE meta SET schema = 3")
