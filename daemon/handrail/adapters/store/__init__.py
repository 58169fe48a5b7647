"""The store: journal, inbox and stop switch in SQL. One transaction per decision; a decision is nothing before it."""

from handrail.adapters.store.duties import Duty
from handrail.adapters.store.home import Access
from handrail.adapters.store.outbox import Outbox
from handrail.adapters.store.store import Store
from handrail.adapters.store.values import AuditReport, Committed, IncidentRow, OpenWork, StreamAudit, Telling

__all__ = [
    "Access",
    "AuditReport",
    "Committed",
    "Duty",
    "IncidentRow",
    "OpenWork",
    "Outbox",
    "Store",
    "StreamAudit",
    "Telling",
]
