"""Whatever the bytes, decoding answers: with alerts, or with reasons."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handrail.core.correlate import arrival
from handrail.decode import ENCODINGS, SIGNALS, decode
from handrail.model.alert import Source
from handrail.model.events import Opened, dump, read
from handrail.model.value import digest
from tests.decode.quiet import EACH, QUIETLY
from tests.decode.records import AT, EXAMPLES, record

HOW = st.fixed_dictionaries({"encoding": st.sampled_from(ENCODINGS), "signal": st.sampled_from(SIGNALS)})
FILES = sorted(path for path in EXAMPLES.rglob("*") if path.is_file())
JSONS = [path for path in FILES if path.suffix == ".json"]
JUNK: list[Any] = [None, True, 0, -1, 10**25, 1.5, "", "x", "\ud800", [], {}, [[]], {"": ""}, ["4"], {"labels": 1}]


def holds(value: bytes, how: dict[str, Any]) -> None:
    """An answer that the store can take: every alert goes through the journal's form and back."""
    found = decode(record(value), **how)
    assert found.alerts or found.refused or found.passed
    for alert in found.alerts:
        came = arrival(alert, "prod-eu1", ())
        source = Source(topic="t", partition=0, offset=0, digest=digest("x"))
        opened = Opened(
            alert=alert, source=source, target=came.target, findings=(), identity=came.identity, episode=came.episode
        )
        assert read(json.loads(json.dumps(dump(opened)).encode())) == opened
        assert alert.seen_at == AT
        assert alert.name
    for part in found.refused:
        assert part.detail.encode()
        assert len(part.detail) <= 300


@QUIETLY
@given(st.binary(max_size=400), HOW)
def test_arbitrary_bytes_have_an_answer(value: bytes, how: dict[str, Any]) -> None:
    holds(value, how)


@QUIETLY
@given(st.binary(max_size=200), HOW)
def test_bytes_that_begin_like_protobuf_have_an_answer(value: bytes, how: dict[str, Any]) -> None:
    holds(b"\x0a" + value, how)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
@EACH
@given(data=st.data())
def test_an_example_with_changed_bytes_has_an_answer(path: Any, data: st.DataObject) -> None:
    value = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(1, 6))):
        at = data.draw(st.integers(0, len(value) - 1))
        cut = data.draw(st.integers(0, 3))
        value[at : at + cut] = data.draw(st.binary(max_size=4))
    holds(bytes(value), data.draw(HOW))


@pytest.mark.parametrize("path", JSONS, ids=lambda path: path.name)
@EACH
@given(data=st.data())
def test_an_example_with_any_value_replaced_or_removed_has_an_answer(path: Any, data: st.DataObject) -> None:
    document = json.loads(path.read_text())
    for _ in range(data.draw(st.integers(1, 3))):
        document = mutated(document, data)
    holds(json.dumps(document).encode(), data.draw(HOW))


def mutated(node: Any, data: st.DataObject) -> Any:
    """`node` with one value somewhere below it replaced by junk or taken out."""
    if not isinstance(node, dict | list) or not node or data.draw(st.integers(0, 9)) == 0:
        return data.draw(st.sampled_from(JUNK))
    key = data.draw(st.sampled_from(sorted(node) if isinstance(node, dict) else range(len(node))))
    copy = node.copy()
    if data.draw(st.integers(0, 5)) == 0:
        del copy[key]
    else:
        copy[key] = mutated(node[key], data)
    return copy
