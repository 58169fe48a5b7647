"""Keeps people told: a card in Slack for each incident, its story in the thread, and a webhook when Slack fails.

Reads the journal and a cursor, never writes an event, decides nothing. What breaks one incident's card costs only that
card: a plain message stands in for it.
"""

from handrail.adapters.telling.teller import Teller

__all__ = ["Teller"]
