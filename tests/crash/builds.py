"""Two builds side by side on one database: that of the newest tagged release, and this one.

An incident that one of them began is finished by the other, both ways round.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
import zipfile
from pathlib import Path

from tests.crash.faults import Postgres
from tests.crash.kills import REPAIRED, Stage, over
from tests.crash.mortal import ROOT
from tests.crash.oracle import Verdict, judged
from tests.crash.scene import scene
from tests.path.stage import BAD

RELEASE = "v0.1.0"
COMMITS = {RELEASE: "25a49a455d43eabf3ae8aff536428c7441f6f534"}
"""What the tags name: a clone may come without them, and then still has the commit."""


def found(release: str) -> str:
    """The commit of a release (or of any other name that git knows); "" where this clone does not have it."""
    return next((name for name in (release, COMMITS.get(release, "")) if name and _has(name)), "")


def _has(name: str) -> bool:
    command = ["git", "cat-file", "-e", f"{name}^{{commit}}"]
    return subprocess.run(command, cwd=ROOT, capture_output=True, check=False).returncode == 0


def why_not(release: str) -> str:
    """One line where there is no such release to be beside; "" where there is."""
    if found(release):
        return ""
    return f"N and N+1 side by side: not tried, this clone has neither the tag {release} nor its commit"


def wheel_of(release: str, folder: Path) -> Path:
    """The release's wheel, unpacked: a folder to import from."""
    source, wheels, packages = folder / "source", folder / "wheels", folder / "packages"
    source.mkdir(parents=True)
    archive = subprocess.run(["git", "archive", found(release)], cwd=ROOT, capture_output=True, check=True)
    subprocess.run(["tar", "-x", "-C", str(source)], input=archive.stdout, check=True)
    pip = [sys.executable, "-m", "pip", "wheel", "-q", "--disable-pip-version-check", "--no-deps"]
    subprocess.run([*pip, "--no-build-isolation", "-w", str(wheels), str(source)], check=True)
    (wheel,) = wheels.glob("*.whl")
    with zipfile.ZipFile(wheel) as packed:
        packed.extractall(packages)
    return packages


async def handed_on(stage: Stage, base: Postgres, release: str, packages: Path, newer_dies: bool) -> Verdict:
    """One build dies right after it has committed what it is going to write; the other one has to find out."""
    began = time.monotonic()
    name = stage.shop("builds")
    _, url = base.database()
    async with scene(stage.plane, stage.kafka, stage.folder / name, (url, url)) as at:
        at.revives, at.many = False, False
        old, new = at.replicas
        old.packages = str(packages)
        dies, goes_on = (new, old) if newer_dies else (old, new)
        await at.prepare(BAD)
        dies.arm("commit", kind="intent")
        await dies.start()
        await at.alert()
        await at.until_struck(dies)
        await goes_on.start()
        rows = await at.drive(lambda rows: over(rows, 1), "the end by the other build")
        who = f"this build dies, {release} goes on" if newer_dies else f"{release} dies, this build goes on"
        verdict = await judged(who, at, rows, REPAIRED)
    verdict.seconds = time.monotonic() - began
    return verdict


async def unpacked(release: str, folder: Path) -> Path:
    return await asyncio.to_thread(wheel_of, release, folder / "release")
