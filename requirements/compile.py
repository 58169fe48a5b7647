"""Compiles the pins with hashes: `make pins`. The files hold no download addresses."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
FLAGS = [
    "--universal",
    "--python-version=3.11",
    "--generate-hashes",
    "--no-header",
    "--no-annotate",
    "--no-emit-index-url",
    "--no-emit-find-links",
]
FILES = {
    "run.txt": ["pyproject.toml"],
    "demo.txt": ["--extra=demo", "pyproject.toml"],
    "dev.txt": ["--extra=demo", "--extra=dev", "pyproject.toml"],
    "build.txt": ["requirements/build.in"],
}

if __name__ == "__main__":
    for name, sources in FILES.items():
        print(f"compiling {name}")
        command = [sys.argv[1], "pip", "compile", "-q", *FLAGS, *sources, "-o", f"requirements/{name}"]
        subprocess.run(command, cwd=HERE.parent, check=True)
