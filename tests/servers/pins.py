"""Which servers the tests know, at which version, and where a built one lies.

Decides: the folder of a server from its pin, and whether it is there. Never builds, installs or starts
anything. Standard library only, so that it works before the virtual environment exists.
"""

from __future__ import annotations

import glob
import hashlib
import os
import platform
import shutil
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
RECIPE = "1"  # raise it when build.py builds the same pin differently

# People who run their own server name it here; then nothing is built or started in its place.
INSTEAD = {
    "kafka": "HANDRAIL_TEST_KAFKA",
    "postgres": "HANDRAIL_TEST_POSTGRES",
    "etcd": "HANDRAIL_TEST_KUBECONFIG",
    "kube-apiserver": "HANDRAIL_TEST_KUBECONFIG",
    "kube-controller-manager": "HANDRAIL_TEST_KUBECONFIG",
    "kube-scheduler": "HANDRAIL_TEST_KUBECONFIG",
    "kwok": "HANDRAIL_TEST_KUBECONFIG",
}


class Missing(Exception):
    """A server is not built or not installed; the text is one line that says how to get it."""


@dataclass(frozen=True)
class Pin:
    """One server: its name, how it is had (`go`, `maven` or `debian`) and the entry in pins.toml."""

    name: str
    how: str
    group: str
    entry: dict[str, Any] = field(hash=False)

    @property
    def sources(self) -> Path:
        """The folder with this server's committed build files."""
        return HERE / self.how / self.group

    @property
    def version(self) -> str:
        if self.how == "go":
            return str(next(iter(self.entry["requires"].values())))
        if self.how == "maven":
            return str(self.entry["artifacts"][0].rsplit(":", 1)[1])
        return f"{self.entry['tried']} or newer, from the distribution"

    @property
    def home(self) -> Path:
        """Where the built server lies (or will lie) in the cache."""
        return cache_dir() / f"{self.name}-{self._hash()}"

    def _hash(self) -> str:
        digest = hashlib.sha256(f"{RECIPE} {platform.machine()} {self.name} {self.entry!r}".encode())
        for path in sorted(self.sources.glob("*")) if self.sources.is_dir() else []:
            digest.update(path.name.encode() + b"\0" + path.read_bytes())
        return digest.hexdigest()[:12]


def cache_dir() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "handrail" / "servers"


def load() -> dict[str, Pin]:
    """All servers by name, in the order in which they are best built."""
    document = tomllib.loads((HERE / "pins.toml").read_text(encoding="utf-8"))
    pins: dict[str, Pin] = {}
    for how in ("debian", "maven", "go"):
        for group, entry in document[how].items():
            for name in entry["programs"] if how == "go" else (group,):
                pins[name] = Pin(name, how, group, entry)
    return pins


def existing(pin: Pin) -> str | None:
    """Why this server need not be built: the variable that names another one, or the path of the program."""
    variable = INSTEAD.get(pin.name)
    if variable and os.environ.get(variable):
        return f"${variable}"
    try:
        return str(find(pin))
    except Missing:
        return None


def find(pin: Pin) -> Path:
    """The program (a folder of jars for Maven); raises Missing."""
    if pin.how == "debian":
        found = [match for pattern in pin.entry["programs"] for match in sorted(glob.glob(pattern), reverse=True)]
        on_path = shutil.which(Path(pin.entry["programs"][0]).name)
        if found or on_path:
            return Path(found[0] if found else str(on_path))
    elif pin.how == "maven":
        if (pin.home / "libs").is_dir():
            return pin.home / "libs"
    else:
        assets = os.environ.get("KUBEBUILDER_ASSETS")
        for program in ([Path(assets) / pin.name] if assets else []) + [pin.home / pin.name]:
            if os.access(program, os.X_OK) and program.is_file():
                return program
    raise Missing(f"{pin.name} is not there: run `make servers` (or python tests/servers/build.py --only {pin.name})")


def program(name: str) -> Path:
    """The program of a server by its name; raises Missing."""
    return find(load()[name])
