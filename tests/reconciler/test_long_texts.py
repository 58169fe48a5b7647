"""However long a text of the world is and wherever it stands: it is taken in or buried, and wedges nothing.

Random letters, since a server's index compresses what repeats itself.
"""

from __future__ import annotations

import json
import random
import string
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from handrail.adapters.store import Store
from handrail.model.errors import Bug, Undecodable
from handrail.model.reason import Reason
from handrail.model.record import Record
from handrail.reconciler import on_records, on_requests
from tests.decode.records import AT, EXAMPLES
from tests.factories import FakeTime
from tests.reconciler.rig import Rig, Shop, rig

LENGTH = 5000
FILES = sorted(EXAMPLES.glob("*.json"))


def long(seed: int) -> str:
    return "".join(random.Random(seed).choices(string.ascii_letters + string.digits, k=LENGTH))


def variants(value: Any) -> Iterator[Any]:
    """The document once for each text in it, with that one made long."""
    match value:
        case str():
            yield long(len(value))
        case dict():
            for key, inner in value.items():
                yield from ({**value, key: other} for other in variants(inner))
        case list():
            for index, inner in enumerate(value):
                yield from ([*value[:index], other, *value[index + 1 :]] for other in variants(inner))


def records(file: Path, partition: int) -> list[Record]:
    texts = [json.dumps(one).encode() for one in variants(json.loads(file.read_bytes()))]
    return [Record(topic="alerts", partition=partition, offset=n, value=text, at=AT) for n, text in enumerate(texts)]


async def test_a_long_text_anywhere_in_any_format_wedges_nothing(shop: Shop, tmp_path: Path, url: str) -> None:
    time, folder = FakeTime(AT), tmp_path / "life"
    folder.mkdir()
    async with rig(shop, folder) as life:
        store = await Store.open(url, cluster="demo", clock=time)
        try:
            tools = replace(life.tools, store=store, now=time)
            for partition, file in enumerate(FILES):
                await on_records(tools, records(file, partition))
            assert (await store.audit()).ok
        finally:
            await store.close()


class Upset:
    """A store whose database takes offence at one record."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    async def take(self, *_args: Any, **_options: Any) -> Any:
        raise Bug("the store said something wrong to its database: value too long")


async def test_what_a_database_says_of_one_record_buries_that_record(shop: Shop, tmp_path: Path) -> None:
    """Tried again it would be said again: intake finds it by halving, and its neighbours go on."""
    async with rig(shop, tmp_path) as life:
        told = Rig(replace(life.tools, store=Upset(life.tools.store)), shop)  # type: ignore[arg-type]
        value = (EXAMPLES / "otlp_logs_alert.json").read_bytes()
        record = Record(topic="alerts", partition=0, offset=1, value=value, at=life.tools.now())
        with pytest.raises(Undecodable) as buried:
            await on_records(told.tools, [record])
        assert buried.value.reason == Reason.BROKEN


async def test_what_a_database_says_of_one_posted_body_refuses_that_body(shop: Shop, tmp_path: Path) -> None:
    async with rig(shop, tmp_path) as life:
        tools = replace(life.tools, store=Upset(life.tools.store))  # type: ignore[arg-type]
        value = (EXAMPLES / "otlp_logs_alert.json").read_bytes()
        posted = [Record(topic="otlp", partition=0, offset=0, value=value, at=life.tools.now()) for _ in range(2)]
        received = await on_requests(tools, posted)
        assert [one.refused and one.refused.reason for one in received] == [Reason.BROKEN] * 2
