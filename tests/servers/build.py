"""Builds the pinned servers into the user's cache: `python tests/servers/build.py [--only NAME ...]`.

Decides: what is missing and in which order to build it. Never starts a server, never touches one that is
built. Each build goes to a folder beside its final place and is renamed when it is whole, so a broken run
leaves nothing that looks built; a lock file per build keeps two runs apart. Standard library only.
"""

from __future__ import annotations

import argparse
import fcntl
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

if __package__ in (None, ""):  # run as a file: let the package be found, and not its modules as top-level ones
    sys.path[0] = str(Path(__file__).resolve().parents[2])

from tests.servers import golang, pins

HEARTBEAT = 15.0
TAIL = 120


class BuildError(Exception):
    """A server could not be built; the text says what to do."""


def say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the lock file; the kernel frees it when the process ends, however it ends."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            say(f"{path.stem}: another run is building it, waiting")
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def run(name: str, command: list[str], cwd: Path, env: dict[str, str] | None = None) -> None:
    """Run one command with a heartbeat; its output is shown only when it fails."""
    if shutil.which(command[0]) is None:
        raise BuildError(
            f"{name}: `{command[0]}` is not installed. {TOOLS.get(command[0], 'Install it and run again.')}"
        )
    begun = last = time.monotonic()
    with tempfile.TemporaryFile("w+", errors="replace") as log:
        child = subprocess.Popen(
            command,
            cwd=cwd,
            env={**os.environ, **(env or {})},
            stdout=log,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
        )
        try:
            while child.poll() is None:
                time.sleep(0.1)
                if time.monotonic() - last >= HEARTBEAT:
                    last = time.monotonic()
                    say(f"{name}: still at `{command[0]} {command[1]}`, {last - begun:.0f} s")
        except BaseException:
            child.terminate()
            child.wait()
            raise
        log.seek(0)
        lines = log.read().splitlines()
    if child.returncode != 0:
        say("\n".join(f"  | {line}" for line in lines[-TAIL:]))
        raise BuildError(
            f"{name}: `{' '.join(command[:3])} ...` ended with {child.returncode}; its last lines are above. "
            "If the network failed, run again: what was downloaded is kept."
        )


TOOLS = {
    "go": "Install Go 1.26 or newer and put it on PATH.",
    "mvn": "On Debian: apt-get install maven openjdk-17-jdk-headless",
    "java": "On Debian: apt-get install openjdk-17-jre-headless",
    "apt-get": "Install the server with your system's packages.",
}


def build_go(pin: pins.Pin, into: Path) -> None:
    golang.check(pin)
    flags = ["-trimpath", "-mod=readonly", "-ldflags", golang.ldflags(pin)]
    package = pin.entry["programs"][pin.name]
    run(pin.name, ["go", "build", *flags, "-o", str(into / pin.name), package], pin.sources, golang.ENV)


def build_maven(pin: pins.Pin, into: Path) -> None:
    pom = into / "pom.xml"
    dependencies = "".join(
        f"<dependency><groupId>{g}</groupId><artifactId>{a}</artifactId><version>{v}</version></dependency>"
        for g, a, v in (artifact.split(":") for artifact in pin.entry["artifacts"])
    )
    pom.write_text(
        "<project><modelVersion>4.0.0</modelVersion>"
        f"<groupId>handrail.test</groupId><artifactId>{pin.name}</artifactId><version>1</version>"
        f"<packaging>pom</packaging><dependencies>{dependencies}</dependencies></project>"
    )
    goal = f"{pin.entry['plugin']}:copy-dependencies"
    libs = f"-DoutputDirectory={into / 'libs'}"
    run(pin.name, ["mvn", "--batch-mode", "-f", str(pom), goal, "-DincludeScope=runtime", libs], into)


def install_debian(pin: pins.Pin) -> None:
    package = pin.entry["package"]
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        raise BuildError(f"{pin.name}: install the package `{package}` (Debian: apt-get install {package})")
    # RUNLEVEL=1 keeps the package from starting a service of its own.
    env = {"DEBIAN_FRONTEND": "noninteractive", "RUNLEVEL": "1"}
    run(pin.name, ["apt-get", "update"], Path("/"), env)
    run(pin.name, ["apt-get", "install", "--yes", "--no-install-recommends", package], Path("/"), env)
    pins.find(pin)


def build(pin: pins.Pin) -> None:
    """Build one server, or wait for the run that is building it."""
    cache = pins.cache_dir()
    with locked(cache / f"{pin.name if pin.how != 'debian' else 'apt'}.lock"):
        if pins.existing(pin) is not None:
            return
        if pin.how == "debian":
            install_debian(pin)
            return
        into = Path(tempfile.mkdtemp(prefix=f".{pin.name}-", dir=cache))
        try:
            (build_go if pin.how == "go" else build_maven)(pin, into)
            shutil.rmtree(pin.home, ignore_errors=True)
            into.chmod(0o755)
            into.rename(pin.home)
        finally:
            shutil.rmtree(into, ignore_errors=True)


def prune(known: dict[str, pins.Pin]) -> None:
    """Remove builds at other pins than these. Never unasked: another checkout may still use them."""
    homes = {pin.home for pin in known.values()}
    for folder in pins.cache_dir().glob("*"):
        if re.search("-[0-9a-f]{12}$", folder.name) and folder not in homes:
            say(f"removing {folder.name}")
            shutil.rmtree(folder)


def report(wanted: list[pins.Pin], as_json: bool) -> None:
    rows = [{"name": p.name, "version": p.version, "from": p.how, "at": pins.existing(p)} for p in wanted]
    if as_json:
        print(json.dumps(rows, indent=2))
        return
    for row in rows:
        print(f"{row['name']:<24} {row['version']:<34} {row['at'] or 'not built'}")


def build_all(wanted: list[pins.Pin]) -> list[str]:
    """Build what is missing; returns the reasons of those that failed (the others are built all the same)."""
    failed = []
    for number, pin in enumerate(wanted, 1):
        head = f"[{number}/{len(wanted)}] {pin.name} {pin.version}"
        if (there := pins.existing(pin)) is not None:
            say(f"{head}: there ({there})")
            continue
        say(f"{head}: building")
        begun = time.monotonic()
        try:
            build(pin)
        except (BuildError, pins.Missing, golang.Unlocked) as error:
            failed.append(str(error))
            say(f"{head}: failed")
        else:
            say(f"{head}: built in {time.monotonic() - begun:.0f} s")
    return failed


def main(arguments: list[str] | None = None) -> int:
    known = pins.load()
    parser = argparse.ArgumentParser(description="Build the servers that the tests run against.")
    parser.add_argument("--only", nargs="+", metavar="NAME", choices=list(known), help="build only these")
    parser.add_argument("--list", action="store_true", help="say what is there, build nothing")
    parser.add_argument("--json", action="store_true", help="the final list as JSON on standard output")
    parser.add_argument("--lock", action="store_true", help="rewrite go.mod and go.sum from pins.toml, build nothing")
    parser.add_argument("--prune", action="store_true", help="remove builds at other pins from the cache first")
    chosen = parser.parse_args(arguments)
    if chosen.prune:
        prune(known)
    wanted = [known[name] for name in chosen.only] if chosen.only else list(known.values())
    failed: list[str] = []
    if chosen.lock:
        for pin in {p.group: p for p in wanted if p.how == "go"}.values():
            golang.write_mod(pin)
            run(pin.name, ["go", "mod", "tidy"], pin.sources, golang.ENV)
    elif not chosen.list:
        failed = build_all(wanted)
    report(wanted, chosen.json)
    for reason in failed:
        say(reason)
    return 1 if failed else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit("stopped; what is built so far is kept")
    except BuildError as error:
        sys.exit(str(error))
