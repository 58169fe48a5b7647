"""The policy as it is now: an edit holds from the next look on, and a broken file allows nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from handrail.adapters.settings import PolicyFile
from handrail.model.errors import BadConfig, Transient

GOOD = "version: 1\napproval_minutes: {minutes}\n"


def test_an_edit_holds_from_the_next_look_on(tmp_path: Path) -> None:
    path = tmp_path / "policy.yaml"
    path.write_text(GOOD.format(minutes=10))
    policy = PolicyFile(path)
    assert policy().approval_minutes == 10
    path.write_text(GOOD.format(minutes=200))
    assert policy().approval_minutes == 200


def test_a_swap_of_links_as_kubernetes_does_it_is_seen(tmp_path: Path) -> None:
    for name, minutes in (("one", 10), ("two", 20)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "policy.yaml").write_text(GOOD.format(minutes=minutes))
    (tmp_path / "..data").symlink_to("one")
    (tmp_path / "policy.yaml").symlink_to("..data/policy.yaml")
    policy = PolicyFile(tmp_path / "policy.yaml")
    assert policy().approval_minutes == 10
    (tmp_path / "..tmp").symlink_to("two")
    (tmp_path / "..tmp").rename(tmp_path / "..data")
    assert policy().approval_minutes == 20


@pytest.mark.parametrize("broken", ["", "version: 2", "version: 1\nrule: []", "version: [", None])
def test_a_file_that_breaks_allows_nothing_until_it_is_mended(tmp_path: Path, broken: str | None) -> None:
    path = tmp_path / "policy.yaml"
    path.write_text(GOOD.format(minutes=10))
    policy = PolicyFile(path)
    policy()
    if broken is None:
        path.unlink()
    else:
        path.write_text(broken)
    for _ in range(2):
        with pytest.raises(Transient, match="nothing is allowed"):
            policy()
    path.write_text(GOOD.format(minutes=11))
    assert policy().approval_minutes == 11


def test_a_file_that_is_broken_at_the_start_is_a_wrong_configuration(tmp_path: Path) -> None:
    with pytest.raises(BadConfig):
        PolicyFile(tmp_path / "missing.yaml")
