"""One suite over the catalogue: each detector fires on its recorded windows; else it says nothing."""

from __future__ import annotations

import pytest

from handrail.cli.catalogue import about_detector
from handrail.model.detector import Detector, Watches, Window
from handrail.model.errors import Bug
from handrail.model.finding import Cause, Finding, Handling
from handrail_detectors import catalogue
from handrail_detectors._made import Settings
from tests.detectors.recorded import RECORDED
from tests.detectors.windows import NOW

DETECTORS = {detector.name: detector for detector in catalogue()}


def cases(what: str) -> list[object]:
    return [
        pytest.param(DETECTORS[name], window, id=f"{name}: {label}")
        for name, recorded in RECORDED.items()
        for label, window in getattr(recorded, what).items()
    ]


def said(detector: Detector, window: Window) -> tuple[Finding, ...]:
    return detector.detect(window, NOW, detector.Params())


def test_every_detector_has_windows_in_which_it_fires_and_some_that_lack_data() -> None:
    assert RECORDED.keys() == DETECTORS.keys()
    for name, recorded in RECORDED.items():
        assert recorded.firing, name
        assert recorded.missing, name
        assert recorded.near, name


@pytest.mark.parametrize(("detector", "window"), cases("firing"))
def test_it_fires_once_in_its_own_name_and_says_so_in_one_line(detector: Detector, window: Window) -> None:
    (finding,) = said(detector, window)
    assert finding.detector == detector.name
    assert finding.summary.isprintable()
    assert 10 < len(finding.summary) < 200
    assert Finding.model_validate_json(finding.model_dump_json()) == finding


@pytest.mark.parametrize(("detector", "window"), cases("near"))
def test_a_near_miss_is_no_finding(detector: Detector, window: Window) -> None:
    """Of an alert that is nearly known only that a person has to look."""
    found = said(detector, window)
    unknown = [finding for finding in found if finding.cause is Cause.OTHER and finding.handling is Handling.DIAGNOSE]
    assert list(found) == (unknown if detector.name == "named_alert" else [])


@pytest.mark.parametrize(("detector", "window"), cases("missing"))
def test_missing_data_is_no_finding(detector: Detector, window: Window) -> None:
    assert said(detector, window) == ()


@pytest.mark.parametrize(("detector", "window"), [*cases("firing"), *cases("near")])
def test_a_window_is_read_and_never_changed(detector: Detector, window: Window) -> None:
    before = window.model_dump_json()
    assert said(detector, window) == said(detector, Window.model_validate_json(before))
    assert window.model_dump_json() == before


@pytest.mark.parametrize("name", sorted(DETECTORS))
def test_the_example_that_is_listed_is_what_one_of_its_windows_gives(name: str) -> None:
    detector = DETECTORS[name]
    given = {finding.summary for window in RECORDED[name].firing.values() for finding in said(detector, window)}
    assert detector.example in given


@pytest.mark.parametrize("name", sorted(DETECTORS))
def test_it_says_what_confirms_it_and_wants_a_window_of_events_only_where_events_wake_it(name: str) -> None:
    detector = DETECTORS[name]
    assert 10 < len(detector.confirmed_by) < 160
    assert bool(detector.reach) or Watches.EVENTS not in detector.watches


@pytest.mark.parametrize("name", sorted(DETECTORS))
def test_its_file_says_in_words_what_confirms_it_its_traps_and_what_it_hands_over(name: str) -> None:
    about = about_detector(DETECTORS[name])
    assert len(about.what) > 20
    assert len(about.traps) > 40, "the traps of the failure are named"
    assert len(about.hands) > 10, "what the planner or a person gets is named"


def test_what_is_only_told_by_events_or_silence_is_never_corroborated() -> None:
    for name, recorded in RECORDED.items():
        for window in recorded.firing.values():
            if any((window.workload, window.node, window.autoscaler, window.object)):
                continue
            assert not any(finding.corroborated for finding in said(DETECTORS[name], window)), name


def test_what_may_be_acted_on_names_an_object_and_what_it_is_acted_on_for() -> None:
    for name, recorded in RECORDED.items():
        for window in recorded.firing.values():
            for finding in said(DETECTORS[name], window):
                if finding.corroborated and finding.handling is Handling.APPROVE:
                    assert finding.target is not None, name
                    assert finding.target.uid, name
                    assert finding.facts, name


@pytest.mark.parametrize("name", sorted(DETECTORS))
def test_parameters_of_another_detector_are_a_bug(name: str) -> None:
    class Others(Settings):
        pass

    if name == "named_alert":
        return
    with pytest.raises(Bug):
        DETECTORS[name].detect(Window(), NOW, Others())
