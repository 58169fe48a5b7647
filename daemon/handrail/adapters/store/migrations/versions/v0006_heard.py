"""How often each alert came, instead of a row for each time.

Expands only: what `signals` held of incidents is counted here once, and nothing new is written there. A build that
knows an older schema and runs beside this one goes on with its own counts: each journals a few repeats more.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None

WORDS = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")

COUNTED = """
INSERT INTO heard (cluster, incident, identity, status, name, times, told, told_at, at, seen_at)
SELECT incidents.cluster, signals.incident, signals.identity, signals.status, MIN(signals.name), COUNT(*),
    COUNT(signals.seq), MAX(CASE WHEN signals.seq IS NOT NULL THEN signals.at END), MAX(signals.at),
    MAX(signals.seen_at)
FROM signals JOIN incidents ON incidents.id = signals.incident
GROUP BY incidents.cluster, signals.incident, signals.identity, signals.status
"""


def upgrade() -> None:
    op.create_table(
        "heard",
        *(sa.Column(name, WORDS, primary_key=True) for name in ("cluster", "incident", "identity", "status")),
        sa.Column("name", WORDS, nullable=False),
        *(sa.Column(name, sa.BigInteger, nullable=False) for name in ("times", "told")),
        sa.Column("told_at", WORDS),
        *(sa.Column(name, WORDS, nullable=False) for name in ("at", "seen_at")),
    )
    op.execute(COUNTED)
    op.execute("UPDATE meta SET schema = 6")
