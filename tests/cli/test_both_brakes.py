"""Stop and start reach the daemon or the cluster, as asked, and say in words what they can't reach."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.support import handrail
from tests.cli.test_commands import one_line

VERBS = {"stop": ["stop", "--reason", "it misbehaves"], "start": ["start"], "status": ["status"]}


@pytest.mark.parametrize("verb", VERBS)
def test_a_brake_of_the_cluster_looks_for_the_callers_own_kubeconfig(verb: str, tmp_path: Path) -> None:
    nowhere = str(tmp_path / "nowhere")
    done = handrail(*VERBS[verb], "--cluster", "--kubeconfig", nowhere)
    assert f"there is no file {nowhere}" in one_line(done, 2)


@pytest.mark.parametrize("verb", VERBS)
def test_a_brake_of_the_daemon_looks_for_the_daemon(verb: str) -> None:
    assert "no daemon answers" in one_line(handrail(*VERBS[verb], "--server", "http://127.0.0.1:1"), 1)


@pytest.mark.parametrize("verb", ["stop", "start"])
@pytest.mark.parametrize(
    "reach", [["--in-namespace", "shop", "--step", "annotate"], ["--cluster", "--step", "annotate"]]
)
def test_two_reaches_at_once_are_refused_before_anything_is_asked(verb: str, reach: list[str]) -> None:
    assert "--in-namespace and --step" in one_line(handrail(*VERBS[verb], *reach), 2)
