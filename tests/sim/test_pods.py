"""The life of single pods, by their images, with a clock that the test turns."""

from __future__ import annotations

import pytest

from handrail.sim.kinds import POD
from handrail.sim.logs import LogBook
from handrail.sim.objects import is_true
from handrail.sim.status import ApiError
from tests.sim.still import CRASH, GOOD, NS, Still

MISSING = "registry.example/checkout:missing"


def run(still: Still, image: str, name: str = "alone") -> None:
    spec = {"containers": [{"name": "app", "image": image}]}
    still.registry.create(POD, NS, {"metadata": {"name": name}, "spec": spec})


def test_a_pod_runs_and_is_ready_after_a_second(still: Still) -> None:
    run(still, GOOD)
    still.after(0.9)
    assert still.pods[0]["status"]["phase"] == "Pending"
    still.after(0.2)
    assert still.pods[0]["status"]["phase"] == "Running"
    assert is_true(still.pods[0], "Ready")
    assert still.state(GOOD) == ("running", 0)


def test_a_crashing_pod_is_restarted_at_once_and_then_after_pauses(still: Still) -> None:
    run(still, CRASH)
    states = []
    for seconds in (1.5, 2, 2, 2, 2, 2):
        still.after(seconds)
        states.append(still.state(CRASH))
    assert states == [
        ("running", 0),
        ("running", 1),
        ("CrashLoopBackOff", 1),
        ("running", 2),
        ("CrashLoopBackOff", 2),
        ("running", 3),
    ]


def test_a_crashing_pod_is_never_ready_and_says_how_it_ended(still: Still) -> None:
    run(still, CRASH)
    for _ in range(20):
        still.after(0.7)
        assert not is_true(still.pods[0], "Ready")
    status = still.pods[0]["status"]["containerStatuses"][0]
    assert status["lastState"]["terminated"]["exitCode"] == 1
    assert status["lastState"]["terminated"]["reason"] == "Error"
    assert still.events("BackOff")[0].startswith("Back-off restarting failed container app in pod alone_shop")


def test_a_pod_without_enough_memory_is_killed(still: Still) -> None:
    image = "registry.example/checkout:oom"
    run(still, image)
    still.after(6)
    terminated = still.pods[0]["status"]["containerStatuses"][0]["lastState"]["terminated"]
    assert (terminated["exitCode"], terminated["reason"]) == (137, "OOMKilled")


@pytest.mark.parametrize("image", [MISSING, "registry.example/nopull:1"])
def test_an_image_that_can_not_be_pulled_is_tried_again_and_again(still: Still, image: str) -> None:
    run(still, image)
    states = []
    for seconds in (1.5, 2, 2):
        still.after(seconds)
        states.append(still.state(image)[0])
    assert states == ["ErrImagePull", "ImagePullBackOff", "ErrImagePull"]
    assert still.pods[0]["status"]["phase"] == "Pending"
    assert any("failed to pull" in message.lower() for message in still.events("Failed"))


def test_the_previous_log_of_a_crashing_container_is_an_error(still: Still) -> None:
    run(still, CRASH)
    still.after(3.5)
    assert "ERROR" in LogBook().read(still.pods[0], {"previous": "true"})


def test_logs_are_cut_and_stamped_as_asked(still: Still) -> None:
    run(still, GOOD)
    still.after(2)
    logs = LogBook()
    logs.set("checkout", "one\ntwo\nthree\n", "")
    assert logs.read(still.pods[0], {"tailLines": "2"}) == "two\nthree\n"
    assert logs.read(still.pods[0], {"limitBytes": "5"}) == "one\nt"
    stamped = logs.read(still.pods[0], {"timestamps": "true", "tailLines": "1"})
    assert stamped == "2026-11-29T15:00:01.000000000Z three\n"


@pytest.mark.parametrize(
    ("image", "query", "why"),
    [
        (GOOD, {"previous": "true"}, "previous terminated container"),
        (GOOD, {"container": "other"}, "not valid"),
        (MISSING, {}, "failing to pull image"),
    ],
)
def test_a_log_that_is_not_there_is_refused(still: Still, image: str, query: dict[str, str], why: str) -> None:
    run(still, image)
    still.after(2)
    with pytest.raises(ApiError, match=why) as refused:
        LogBook().read(still.pods[0], query)
    assert refused.value.code == 400
