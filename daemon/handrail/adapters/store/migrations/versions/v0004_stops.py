"""Stops by reach: a row for everything, each namespace and each step that was ever stopped.

Expands only. To a build that knows the one row of `switch` alone, any stop is a stop of everything: it writes nothing
while one is on. `known_head` is where the stream of the switch ended when a build that knows `stops` pressed last: an
end beyond it was pressed by an older one, whose word counts for everything.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

WORDS = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def upgrade() -> None:
    op.create_table(
        "stops",
        sa.Column("scope", WORDS, primary_key=True),
        sa.Column("name", WORDS, primary_key=True),
        sa.Column("stopped", sa.Boolean, nullable=False),
        *(sa.Column(name, WORDS, nullable=False) for name in ("by", "why", "at")),
    )
    op.add_column("switch", sa.Column("known_head", sa.Integer, nullable=False, server_default="0"))
    op.execute("UPDATE meta SET schema = 4")
