"""Secrets are read as they are now, and a secret that is none is never sent."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from handrail.adapters.settings import Secret
from handrail.model.config import SecretRef
from handrail.model.errors import BadConfig


def secret(**ref: str) -> Secret:
    return Secret(SecretRef(**ref), "slack.bot_token")


def test_a_file_is_read_without_its_line_end_and_again_when_it_changes(tmp_path: Path) -> None:
    path = tmp_path / "token"
    path.write_text("first\n")
    read = secret(file=str(path))
    assert read() == "first"
    path.write_text("the second\n")
    assert read() == "the second"


def test_a_swap_of_links_as_kubernetes_does_it_is_seen(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "token").write_text(name)
        os.utime(tmp_path / name / "token", ns=(1, 1))  # same age, same size: only the file is another
    (tmp_path / "..data").symlink_to("one")
    (tmp_path / "token").symlink_to("..data/token")
    read = secret(file=str(tmp_path / "token"))
    assert read() == "one"
    (tmp_path / "..tmp").symlink_to("two")
    (tmp_path / "..tmp").rename(tmp_path / "..data")
    assert read() == "two"


def test_the_environment_is_read_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    read = secret(env="HANDRAIL_TEST_TOKEN")
    monkeypatch.setenv("HANDRAIL_TEST_TOKEN", " a ")
    assert read() == "a"
    monkeypatch.delenv("HANDRAIL_TEST_TOKEN")
    with pytest.raises(BadConfig, match=r"slack\.bot_token: environment variable HANDRAIL_TEST_TOKEN is missing"):
        read()


@pytest.mark.parametrize("content", ["", " \n", "one\ntwo", "a\x00b"])
def test_an_empty_secret_or_one_of_two_lines_is_refused_and_not_repeated(tmp_path: Path, content: str) -> None:
    path = tmp_path / "token"
    path.write_text(content)
    with pytest.raises(BadConfig) as wrong:
        secret(file=str(path))()
    assert str(wrong.value).startswith(f"slack.bot_token: file {path} ")
    assert "two" not in str(wrong.value)


def test_a_file_that_goes_away_is_not_remembered(tmp_path: Path) -> None:
    path = tmp_path / "token"
    path.write_text("once")
    read = secret(file=str(path))
    assert read() == "once"
    path.unlink()
    with pytest.raises(BadConfig, match="can't be read"):
        read()


def test_the_secret_stands_in_no_representation(tmp_path: Path) -> None:
    path = tmp_path / "token"
    path.write_text("hunter2")
    read = secret(file=str(path))
    read()
    assert "hunter2" not in repr(read)
