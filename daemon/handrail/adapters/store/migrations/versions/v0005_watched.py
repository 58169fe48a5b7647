"""Events by thing, awaited signals, stop conditions.

Expands only: builds that know an older schema go on reading and writing. They do not see the conditions, so nothing
stops them there; the stop switch does.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

WORDS = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def upgrade() -> None:
    op.create_table(
        "happened",
        *(sa.Column(name, WORDS, primary_key=True) for name in ("cluster", "thing", "uid")),
        sa.Column("times", sa.Integer, nullable=False),
        *(sa.Column(name, WORDS, nullable=False) for name in ("seen_at", "data")),
    )
    op.create_table(
        "sightings",
        *(sa.Column(name, WORDS, primary_key=True) for name in ("cluster", "signal")),
        sa.Column("seen_at", WORDS, nullable=False),
    )
    op.create_table(
        "conditions",
        *(sa.Column(name, WORDS, primary_key=True) for name in ("cluster", "identity")),
        *(sa.Column(name, WORDS, nullable=False) for name in ("reason", "what", "since", "until")),
    )
    op.execute("UPDATE meta SET schema = 5")
