"""Presence makes a detector known."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import handrail_detectors
from handrail.model.detector import Watches
from handrail.model.errors import Bug
from handrail_detectors import catalogue


def test_each_file_is_a_detector_of_its_own_name_sorted() -> None:
    files = Path(handrail_detectors.__file__).parent.glob("[!_]*.py")
    assert [detector.name for detector in catalogue()] == sorted(path.stem for path in files)


def test_each_detector_watches_something_and_has_parameters_with_defaults() -> None:
    for detector in catalogue():
        assert detector.watches
        assert detector.watches <= set(Watches)
        assert detector.Params().model_config.get("extra") == "forbid"


def test_a_dropped_in_file_is_known_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shadow(
        tmp_path,
        monkeypatch,
        extra="from handrail_detectors.named_alert import NamedAlert\ndetector = NamedAlert('zz')\n",
    )
    assert catalogue()[-1].name == "zz"


def test_two_detectors_of_one_name_are_a_bug(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shadow(tmp_path, monkeypatch, extra="from handrail_detectors.named_alert import detector\n")
    with pytest.raises(Bug, match="two detectors are called named_alert"):
        catalogue()


def test_a_file_without_a_detector_is_a_bug(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shadow(tmp_path, monkeypatch, extra="x = 1\n")
    with pytest.raises(Bug, match=r"dropped_in\.py holds no `detector`"):
        catalogue()


def shadow(folder: Path, monkeypatch: pytest.MonkeyPatch, extra: str) -> None:
    """One more folder of detectors, for this test alone."""
    (folder / "dropped_in.py").write_text(extra)
    monkeypatch.setattr(handrail_detectors, "__path__", [*handrail_detectors.__path__, str(folder)])
    monkeypatch.delitem(sys.modules, "handrail_detectors.dropped_in", raising=False)
