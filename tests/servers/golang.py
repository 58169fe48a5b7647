"""The Go modules of our own that hold the servers' exact dependencies: go/<name>/go.mod and go.sum.

Decides: what go.mod says for a pin, and whether the committed one still agrees with it. Never builds.
"""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

from tests.servers.pins import Pin

GO = "1.26.0"

# Without cgo no C compiler is needed, and the programs run wherever the kernel does.
ENV = {"CGO_ENABLED": "0", "GOFLAGS": "-buildvcs=false", "GOWORK": "off"}


class Unlocked(Exception):
    """go.mod does not say what pins.toml says."""


def check(pin: Pin) -> None:
    """Refuse to build something else than what is pinned."""
    mod = pin.sources / "go.mod"
    text = mod.read_text(encoding="utf-8") if mod.exists() else ""
    for module, version in pin.entry["requires"].items():
        if not re.search(rf"^(require|\t)\s*{re.escape(module)} {re.escape(version)}(\s|$)", text, re.MULTILINE):
            raise Unlocked(
                f"{pin.name}: go/{pin.group}/go.mod lacks {module} {version} of pins.toml: "
                f"run python tests/servers/build.py --lock --only {pin.name}"
            )


def ldflags(pin: Pin) -> str:
    flags = "-s -w"
    if stamp := pin.entry.get("stamp"):
        # Kubernetes gets its version only from the linker; without it clients see v0.0.0-master.
        major, minor, _ = pin.version.removeprefix("v").split(".")
        flags += f" -X {stamp}.gitVersion={pin.version} -X {stamp}.gitMajor={major} -X {stamp}.gitMinor={minor}"
    return flags


def write_mod(pin: Pin) -> None:
    """Write go.mod anew from the pin; `go mod tidy` then adds the rest and go.sum."""
    lines = [f"module handrail.test/servers/{pin.group}", "", f"go {GO}", ""]
    if godebug := pin.entry.get("godebug"):
        lines += [f"godebug default={godebug}", ""]
    lines += [f"require {module} {version}" for module, version in pin.entry["requires"].items()]
    tools = [package for package in pin.entry["programs"].values() if package != "."]
    lines += ["", *(f"tool {package}" for package in tools)]
    if module := pin.entry.get("staging_of"):
        version = pin.entry["requires"][module]
        published = "v0." + version.removeprefix("v").split(".", 1)[1]
        lines += ["", "replace (", *(f"\t{name} => {name} {published}" for name in staging(module, version)), ")"]
    pin.sources.mkdir(parents=True, exist_ok=True)
    (pin.sources / "go.mod").write_text("\n".join(lines) + "\n", encoding="utf-8")


def staging(module: str, version: str) -> list[str]:
    """The modules that this one replaces by folders of its own tree (its consumers must replace them, too)."""
    command = ["go", "mod", "download", "-json", f"{module}@{version}"]
    answer = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    text = Path(answer["GoMod"]).read_text(encoding="utf-8")
    return re.findall(r"^\t(\S+) => \./staging/", text, re.MULTILINE)
