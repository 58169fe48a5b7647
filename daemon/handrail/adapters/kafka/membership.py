"""Whose name in the group it is. A member with a stable name may be gone for as long as a restart takes (KIP-345).

Two processes with the same name would put each other out at every heartbeat, without a word: aiokafka leaves the name
out of heartbeats and commits, so the brokers can't answer FENCED_INSTANCE_ID, and it joins again at once (library
trap). So the newer one has the name, as in the Java client; whoever is put out says so, and stays out while another
holds the name. Never keeps a process from taking its name back at its start.
"""

from __future__ import annotations

from typing import Any
from uuid import UUID

from handrail.adapters.kafka.reach import members
from handrail.model.errors import Transient


class Membership:
    """Of one process, over all its sessions. `name` is "" where it is not stable: then nothing can be taken."""

    def __init__(self, group: str, name: str) -> None:
        self.name = name
        self._group = group
        self._ours = ""
        self._now = ""

    def begin(self) -> None:
        """A new session: it holds nothing yet."""
        self._now = ""

    def joined(self, consumer: Any) -> None:
        self._ours = self._now = str(consumer._coordinator.member_id)

    def lost(self, consumer: Any) -> bool:
        """Whether the brokers no longer know this session's member, which had joined."""
        return bool(self.name and self._now and not consumer._coordinator.member_id)

    async def must_be_ours(self, wire: dict[str, Any]) -> None:
        """Before every session but the process's first. Raises Transient while another process has the name, and
        KafkaError or OSError where that can't be found out now."""
        if not (self.name and self._ours):
            return
        for member, host in await members(wire, self._group):
            if member != self._ours and _bears(member, self.name):
                raise Transient(
                    f"another process ({host.lstrip('/')}) reads as {self.name!r} in group {self._group!r}, and this "
                    "one reads nothing: give each its own kafka.group_instance_id"
                )


def _bears(member: str, name: str) -> bool:
    """The brokers make a stable member's id of its name and a UUID; the name alone is not told to this client."""
    try:
        UUID(member.removeprefix(f"{name}-"))
    except ValueError:
        return False
    return member.startswith(f"{name}-")
