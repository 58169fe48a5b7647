"""A process that publishes what is in a store until nothing is left, or until it kills itself.

`killed_at` N: SIGKILL between the Nth portion's last send and its cursor. Prints `done` when nothing is left.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time

from handrail.adapters import publishing
from handrail.adapters.kafka import EventTopic
from handrail.adapters.publishing import Publisher
from handrail.adapters.store import Store
from handrail.adapters.store.outbox import Outbox
from handrail.model.config import KafkaConfig, TopicConfig
from handrail.reconciler import contained
from tests.factories import CLUSTER


class Mortal(Outbox):
    left = 0

    async def done(self, id_: str, seq: int) -> None:
        self.left -= 1
        if self.left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        await super().done(id_, seq)


async def main(url: str, bootstrap: str, topic: str, killed_at: int) -> None:
    publishing.PORTION = 3
    store = await Store.open(url, cluster=CLUSTER)
    outbox = Mortal(store._database, store._duties, store._wake, topic)
    outbox.left = killed_at
    config = KafkaConfig(bootstrap=(bootstrap,), topics=(TopicConfig(name="unused"),), events_topic=topic)
    events = EventTopic(config)
    await Publisher(CLUSTER, outbox, events, contained, time.monotonic).publish_all()
    await events.close()
    await store.close()
    print("done", flush=True)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])))
