"""The Containerfile, read and not built: what it copies is there, what it installs is pinned, what it runs exists."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
import yaml

from handrail import __version__

ROOT = Path(__file__).parents[2]
TEXT = re.sub(r"\s*\\\n\s*", " ", (ROOT / "Containerfile").read_text(encoding="utf-8"))
LINES = [line for line in TEXT.splitlines() if line and not line.startswith("#")]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
CHART = ROOT / "helm" / "handrail"
TAG = re.compile(r"\d+\.\d+\.\d+-slim-[a-z]+")


def after(word: str) -> list[str]:
    return [line.partition(" ")[2] for line in LINES if line.startswith(f"{word} ")]


def test_the_base_names_its_exact_version_and_is_a_glibc_one() -> None:
    (argument,) = after("ARG")
    assert TAG.fullmatch(argument.removeprefix("PYTHON="))
    assert {line.split()[0] for line in after("FROM")} == {"docker.io/library/python:${PYTHON}"}


@pytest.mark.parametrize("line", [line for line in after("COPY") if not line.startswith("--from")])
def test_what_it_copies_is_there_and_is_let_into_the_build(line: str) -> None:
    let_in = {name[1:] for name in (ROOT / ".dockerignore").read_text().split() if name.startswith("!")}
    for source in line.split()[:-1]:
        assert (ROOT / source).exists()
        assert source.split("/")[0] in let_in


def test_the_build_has_all_that_the_wheel_is_made_of() -> None:
    wheel = PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]
    needed = {path.split("/")[0] for path in (*wheel["only-include"], *wheel["force-include"])}
    copied = {source for line in after("COPY") for source in line.split()[:-1]}
    assert needed | {"pyproject.toml", PROJECT["project"]["readme"]} <= copied


def test_everything_from_outside_is_installed_by_hash() -> None:
    installs = re.findall(r"pip install (.*?)(?= && |$)", TEXT, re.M)
    assert len(installs) == 3
    for line in installs:
        assert "--require-hashes" in line or "--no-index" in line, line
    for pins in re.findall(r"-r (\S+)", TEXT):
        assert "--hash=sha256:" in (ROOT / pins).read_text()


def test_it_runs_as_the_charts_user_what_the_project_installs() -> None:
    assert after("USER") == ["65532:65532"]
    assert "runAsUser: 65532" in (CHART / "templates" / "_pod.tpl").read_text()
    (entry,), (arguments,) = after("ENTRYPOINT"), after("CMD")
    assert yaml.safe_load(entry)[0] in PROJECT["project"]["scripts"]
    assert yaml.safe_load(arguments) == ["run", "--config", "/etc/handrail/config/handrail.yaml"]
    assert after("EXPOSE") == ["8080 8081"]


def test_the_charts_image_is_of_this_version() -> None:
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    assert chart["appVersion"] == __version__ == PROJECT["project"]["version"]
