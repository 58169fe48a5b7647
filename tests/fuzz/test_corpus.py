"""Inputs that the fuzzer kept, since each took a path of its own through the decoder: all of them have an answer."""

from __future__ import annotations

import random

import pytest

from tests.decode.records import EXAMPLES
from tests.fuzz.ways import CORPUS, WAYS, check, seeds

KEPT = sorted(CORPUS.iterdir())


def test_the_corpus_is_small_and_reaches_every_way() -> None:
    assert 50 <= len(KEPT) <= 400
    assert sum(path.stat().st_size for path in KEPT) < 400_000
    assert {path.read_bytes()[0] % len(WAYS) for path in KEPT} == set(range(len(WAYS)))


def test_every_kept_input_has_an_answer() -> None:
    for path in KEPT:
        check(path.read_bytes())


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
