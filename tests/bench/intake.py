"""`make bench-intake`: how many alerts a CPU-second takes in, what is lost, and how long a storm delays a question.

Pinned to one core. CPU time only (user and system, of all threads of the process). Every number is net: the same
records go through a baseline first, which makes them of the consumer's messages as every poll does, remembers the
offsets to commit, and nothing else; its CPU time is told on the error output and subtracted. Others on the same core
or its sibling slow it down all the same: `yardstick` on the error output is the time of a fixed loop at that moment.
The bodies (tests/bench/bodies.py) are half Alertmanager webhooks and half OTLP logs in protobuf, in turn.

  match       decode, findings, identity, episode, digest; dedupe and the incident it belongs to from memory.
              One alert a record, none twice.
  duplicates  the same, of 500 alerts that are sent again and again.
  durable     all of `on_records` with the real store: SQLite in WAL mode, synchronous FULL, a transaction for each
              poll of 500 records; ten alerts a record, none twice.
  lost        2,000 alerts through a Kafka broker (embedded), the real consumer and store, while each incident's
              handling takes 100 ms: those that are not in the store, or whose incident nobody handled, in the end.
  storm       seconds from the first alert until a person is asked, among 100,000 alerts of five owners, less those for
              one alert alone: the simulated cluster, the real store, reconciler and runbooks, CPU time and the
              simulated clock's together.
  peak        resident memory after a million alerts (1,000 of them different, ten a record) through `on_records`.

The last line is one JSON object.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

import structlog

from handrail.main import settle
from tests.bench import feeding, lost, storm

PARTS: Mapping[str, Callable[[Path, float], Mapping[str, float]]] = {
    "match": feeding.match,
    "durable": feeding.durable,
    "lost": lambda folder, size: asyncio.run(lost.lost(folder, size)),
    "storm": lambda folder, size: asyncio.run(storm.storm(folder, size)),
    "peak": feeding.peak,
}


def _one(part: str, size: float) -> None:
    """In a process of its own, so that none has the memory or the warm caches of another."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(50))
    settle()
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    with tempfile.TemporaryDirectory(prefix="handrail-bench-") as folder:
        print(json.dumps(PARTS[part](Path(folder), size)))


def _all(parts: list[str], size: float) -> None:
    found: dict[str, float] = {}
    for part in parts:
        command = [sys.executable, "-m", "tests.bench.intake", "--alone", part, "--size", str(size)]
        ran = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
        found |= json.loads(ran.stdout.splitlines()[-1])
    print(json.dumps(found))


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("parts", nargs="*", help=f"of {', '.join(PARTS)}; without any, all of them")
    words.add_argument("--size", type=float, default=1.0, help="0.1: a tenth of everything")
    words.add_argument("--alone", choices=PARTS, help=argparse.SUPPRESS)
    said = words.parse_args()
    if unknown := set(said.parts) - PARTS.keys():
        words.error(f"no such part: {', '.join(sorted(unknown))}")
    if said.alone:
        _one(said.alone, said.size)
    else:
        _all(said.parts or list(PARTS), said.size)


if __name__ == "__main__":
    main()
