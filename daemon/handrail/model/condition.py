"""A stop condition: while it stands, nothing is written anywhere in the cluster (design 1.5)."""

from __future__ import annotations

from datetime import datetime

from handrail.model.reason import Reason
from handrail.model.value import Value


class Condition(Value):
    """`identity` is that of the alert (or of the silence) that raised it: the same one takes it back.

    Stands until `until` at the latest: an alert that is never resolved must not stop everything for ever.
    """

    identity: str
    reason: Reason
    what: str
    since: datetime
    until: datetime
