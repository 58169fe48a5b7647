"""Inputs that the fuzzer kept, since each took a path of its own through the decoder: all of them have an answer."""

from __future__ import annotations

import random

import pytest

from tests.decode.records import EXAMPLES
from tests.fuzz.ways import CORPUS, WAYS, check, seeds

KEPT = sorted(CORPUS.iterdir())


def test_the_corpus_is_small() -> None:
    assert 50 <= len(KEPT) <= 400
    assert sum(path.stat().st_size for path in KEPT) < 400_000


@pytest.mark.parametrize("way", range(len(WAYS)))
def test_every_kept_input_has_an_answer_in_every_way(way: int) -> None:
    for path in KEPT:
        check(bytes([way]) + path.read_bytes()[1:])


def test_every_example_has_an_answer_in_every_way() -> None:
    for seed in seeds(EXAMPLES):
        check(seed)


@pytest.mark.parametrize("dice", range(4))
def test_kept_inputs_that_are_mutated_and_crossed_have_an_answer(dice: int) -> None:
    """What the fuzzer does, a little of it, where it isn't installed."""
    draw = random.Random(dice)
    values = [path.read_bytes() for path in KEPT]
    for value in values:
        changed = bytearray(value)
        for _ in range(draw.randint(1, 5)):
            at = draw.randrange(len(changed) + 1)
            other = draw.choice(values)
            start = draw.randrange(len(other) + 1)
            changed[at : at + draw.randint(0, 8)] = other[start : start + draw.randint(0, 12)]
        check(bytes(changed) or b"\0")
