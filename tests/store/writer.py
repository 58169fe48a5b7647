"""A process that writes until it is killed: intake, intents and outcomes on several incidents at once.

Prints `incident seq` after each commit: what was said must still be there when the process is gone.
"""

from __future__ import annotations

import asyncio
import sys
from datetime import UTC, datetime

from handrail.adapters.store import Store
from handrail.model.incident import State
from tests.factories import CLUSTER, a_target, an_alert, story_to
from tests.store.driving import arrive, drive, newest


async def _write(store: Store, name: str) -> None:
    """One incident after another, until killed."""
    now = datetime.now(UTC)
    for number in range(10_000):
        workload = f"{name}-{now.timestamp():.0f}-{number}"
        alert = an_alert(workload=workload, seen_at=datetime.now(UTC))
        id_ = await arrive(store, alert, offset=abs(hash(workload)) % 2**40)
        incident = await newest(store, id_)
        for event in story_to(State.UNDONE, id_, a_target(workload), now):
            incident = await drive(store, incident, (event,))
            print(id_, incident.seq, flush=True)


async def main(url: str) -> None:
    store = await Store.open(url, cluster=CLUSTER, clock=lambda: datetime.now(UTC))
    async with asyncio.TaskGroup() as group:
        for name in ("a", "b", "c"):
            group.create_task(_write(store, name))


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
