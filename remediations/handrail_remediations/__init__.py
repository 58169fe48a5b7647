"""The catalogue: one remediation a file. Presence makes a step known; only policy makes it usable."""

from __future__ import annotations

import importlib
import pkgutil

from handrail.model.errors import Bug
from handrail.model.step import Step


def catalogue() -> dict[str, Step]:
    """Every file's `step` by its name, sorted. Raises Bug for a file without one, or whose name is not its step's."""
    files = sorted(module.name for module in pkgutil.iter_modules(__path__))
    return {name: _step(name) for name in files}


def _step(name: str) -> Step:
    step: Step | None = getattr(importlib.import_module(f"{__name__}.{name}"), "step", None)
    if step is None or step.name != name:
        raise Bug(f"remediations/{name}.py must hold an object `step` with the name {name!r}")
    return step
