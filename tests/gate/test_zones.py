"""Zones of freezes are known in an image that has none of its own: the database of them comes along as a package."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
READ = """
from datetime import datetime, UTC
from handrail.core.freeze import standing
from handrail.model.freeze import Freeze
week = {"days": ["fri"], "from": "18:00", "until": "24:00", "zone": "Europe/Berlin"}
one = Freeze.model_validate({"name": "a", "reason": "b", "weekly": week})
print(standing((one,), ["shop"], datetime(2026, 7, 3, 16, 0, tzinfo=UTC)).until.isoformat())
"""


def test_without_the_systems_own_zones_a_freeze_still_follows_summer_time() -> None:
    environment = {**os.environ, "PYTHONTZPATH": ""}
    done = subprocess.run([sys.executable, "-c", READ], capture_output=True, text=True, env=environment, timeout=60)
    assert done.stdout.strip() == "2026-07-03T22:00:00+00:00", done.stderr


@pytest.mark.parametrize("name", ["run", "demo", "dev"])
def test_the_zones_are_asked_for_by_name_and_pinned_for_every_platform(name: str) -> None:
    assert re.search(r'^    "tzdata>=', (ROOT / "pyproject.toml").read_text(), re.M)
    pins = (ROOT / "requirements" / f"{name}.txt").read_text()
    assert re.search(r"^tzdata==\S+ \\$", pins, re.M), "without a condition"
