"""The tables of what is watched over time: events, signals that have to keep coming, and what stops every write.

Small and bounded: one row for each event object, each awaited signal, each alert that stops. `signals` holds what came.
"""

from __future__ import annotations

from sqlalchemy import Column, Integer, Table

from handrail.adapters.store.schema import UtcText, Words, metadata

happened = Table(
    "happened",
    metadata,
    Column("cluster", Words, primary_key=True),
    Column("thing", Words, primary_key=True),
    Column("uid", Words, primary_key=True),
    Column("times", Integer, nullable=False),
    Column("seen_at", UtcText, nullable=False),
    Column("data", Words, nullable=False),
)
"""Kubernetes events by the thing that they are about, each with its highest count. Windows are read by the key."""

sightings = Table(
    "sightings",
    metadata,
    Column("cluster", Words, primary_key=True),
    Column("signal", Words, primary_key=True),
    Column("seen_at", UtcText, nullable=False),
)
"""When each awaited signal was seen last."""

conditions = Table(
    "conditions",
    metadata,
    Column("cluster", Words, primary_key=True),
    Column("identity", Words, primary_key=True),
    Column("reason", Words, nullable=False),
    Column("what", Words, nullable=False),
    Column("since", UtcText, nullable=False),
    Column("until", UtcText, nullable=False),
)
"""What stops every write while it stands."""
