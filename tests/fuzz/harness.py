"""Fuzzes the decoder, led by coverage: `python -m tests.fuzz.harness [SECONDS]`. Keeps what finds a new path.

Needs `pip install atheris` (wheels for Linux); the tests need only what it kept. An input that raises is written to the
working directory as crash-…: add it to the corpus with the repair. At the end the corpus is merged to a small set that
still reaches everything.
"""

from __future__ import annotations

import importlib
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

MOST_BYTES = 3000
TRACED = ["handrail.decode", "handrail.core.correlate", "handrail.model.labels", "handrail.model.mapping"]


def fuzz(arguments: list[str]) -> None:
    """Hands over to libFuzzer, which ends the process; the first argument is how it starts itself anew."""
    atheris = importlib.import_module("atheris")
    with atheris.instrument_imports(include=TRACED):
        from tests.fuzz.ways import check
    atheris.Setup(arguments, check)
    atheris.Fuzz()


def main(seconds: int) -> None:
    """Grows from the corpus and the examples, then keeps the smallest inputs that reach as much."""
    from tests.decode.records import EXAMPLES
    from tests.fuzz.ways import CORPUS, seeds

    with tempfile.TemporaryDirectory() as scratch:
        grown, merged = Path(scratch, "grown"), Path(scratch, "merged")
        grown.mkdir()
        merged.mkdir()
        again = Path(scratch, "again")
        again.write_text(f'#!/bin/sh\nexec {sys.executable} -m tests.fuzz.harness -- "$0" "$@"\n')
        again.chmod(0o700)
        for number, seed in enumerate(seeds(EXAMPLES)):
            Path(grown, f"seed-{number}").write_bytes(seed)
        _run(again, f"-max_total_time={seconds}", f"-max_len={MOST_BYTES}", "-timeout=20", str(grown), str(CORPUS))
        _run(again, "-merge=1", f"-max_len={MOST_BYTES}", str(merged), str(CORPUS), str(grown))
        for old in CORPUS.iterdir():
            old.unlink()
        for kept in sorted(merged.iterdir()):
            shutil.copy(kept, CORPUS)
        print(f"kept {len(list(CORPUS.iterdir()))} inputs")


def _run(again: Path, *arguments: str) -> None:
    subprocess.run([str(again), *arguments], check=True)


if __name__ == "__main__":
    if "--" in sys.argv:
        fuzz(sys.argv[sys.argv.index("--") + 1 :])
    else:
        main(int(sys.argv[1]) if len(sys.argv) > 1 else 60)
