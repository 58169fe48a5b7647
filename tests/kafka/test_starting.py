"""A client whose start is cut short leaves no connection behind."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer

from handrail.adapters.kafka.closing import close
from handrail.adapters.kafka.starting import start
from handrail.sim.broker import EmbeddedBroker


class Holds:
    """Before a broker: its first answer is let through (which requests it knows), and none after that."""

    def __init__(self, host: str, port: int) -> None:
        self._broker = host, port
        self.asked_again = asyncio.Event()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        behind, ahead = await asyncio.open_connection(*self._broker)
        try:
            ahead.write(await _message(reader))
            writer.write(await _message(behind))
            await _message(reader)
            self.asked_again.set()
            await reader.read()
        except asyncio.IncompleteReadError:
            pass
        finally:
            ahead.close()
            writer.close()


async def _message(reader: asyncio.StreamReader) -> bytes:
    size = await reader.readexactly(4)
    return size + await reader.readexactly(int.from_bytes(size, "big"))


@asynccontextmanager
async def holding() -> AsyncIterator[tuple[Holds, str]]:
    async with EmbeddedBroker() as broker:
        host, _, port = broker.bootstrap.rpartition(":")
        holds = Holds(host, int(port))
        server = await asyncio.start_server(holds.serve, "127.0.0.1", 0)
        async with server:
            yield holds, f"127.0.0.1:{server.sockets[0].getsockname()[1]}"


@pytest.mark.parametrize("kind", [AIOKafkaProducer, AIOKafkaConsumer])
async def test_a_start_that_is_cut_short_while_it_asks_for_the_brokers_leaves_no_connection(kind: Any) -> None:
    complaints: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _loop, said: complaints.append(said))
    async with holding() as (holds, bootstrap):
        client = kind(bootstrap_servers=bootstrap)
        starting = asyncio.create_task(start(client))
        await holds.asked_again.wait()
        starting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await starting
        del starting
        await close(client)
        gc.collect()
    assert complaints == []
