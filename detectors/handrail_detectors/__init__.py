"""One file per detector: its presence makes it known. Each is pure; recorded windows are its whole test.

A file whose name begins with an underscore is shared by them and is no detector.
"""

from __future__ import annotations

import importlib
import pkgutil
from itertools import pairwise

from handrail.model.detector import Detector
from handrail.model.errors import Bug


def catalogue() -> tuple[Detector, ...]:
    """Every detector, sorted by name. Raises Bug for a file without one, and for two of one name."""
    names = sorted(found.name for found in pkgutil.iter_modules(__path__) if not found.name.startswith("_"))
    detectors = sorted((_load(name) for name in names), key=lambda detector: detector.name)
    for one, other in pairwise(detectors):
        if one.name == other.name:
            raise Bug(f"two detectors are called {one.name}")
    return tuple(detectors)


def _load(name: str) -> Detector:
    module = importlib.import_module(f"{__name__}.{name}")
    detector: Detector | None = getattr(module, "detector", None)
    if detector is None:
        raise Bug(f"{name}.py holds no `detector`; a shared file's name begins with an underscore")
    return detector
