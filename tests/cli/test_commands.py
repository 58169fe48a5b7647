"""The command line: quick, self-explanatory, and wrong in one line."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import click
import pytest
import yaml

import handrail_detectors
import handrail_remediations
from handrail.adapters.settings import load_config, load_policy
from handrail.cli import VERBS, cli
from handrail.core.rbac import objects
from tests.cli.support import Ran, handrail, in_a_process

POLICIES = Path(__file__).parents[2] / "policies"
HEAVY = {"anthropic", "kubernetes", "aiokafka", "slack_sdk", "sqlalchemy", "aiohttp", "yaml", "prometheus_client"}


def every_command() -> list[tuple[str, ...]]:
    """The paths of all commands and groups, from the root."""

    def under(group: click.Group, path: tuple[str, ...]) -> list[tuple[str, ...]]:
        found: list[tuple[str, ...]] = []
        context = click.Context(group)
        for name in group.list_commands(context):
            command = group.get_command(context, name)
            found.append((*path, name))
            if isinstance(command, click.Group):
                found += under(command, (*path, name))
        return found

    return under(cli, ())


def command_at(path: tuple[str, ...]) -> click.Command:
    command: click.Command = cli
    for name in path:
        assert isinstance(command, click.Group)
        found = command.get_command(click.Context(command), name)
        assert found is not None
        command = found
    return command


@pytest.mark.parametrize("path", every_command(), ids=" ".join)
def test_every_command_has_help_that_says_what_it_does_and_shows_how_it_is_called(path: tuple[str, ...]) -> None:
    command = command_at(path)
    text = command.get_help(click.Context(command, info_name=" ".join(path)))
    assert command.help
    assert len(command.help.split("\n")[0]) > 15
    assert isinstance(command, click.Group) or "Example:  handrail" in text


def test_help_loads_nothing_heavy() -> None:
    """All helps in one process, which says after each what has come with it."""
    script = (
        "import sys; from handrail.cli import cli\n"
        f"for path in {[(), *every_command()]!r}:\n"
        "    cli([*path, '--help'], standalone_mode=False)\n"
        f"    print('LOADED', *path, *({HEAVY!r} & sys.modules.keys()))\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60)
    loaded = [tuple(line.split()[1:]) for line in done.stdout.splitlines() if line.startswith("LOADED")]
    assert loaded == [(), *every_command()]


def test_no_line_of_a_first_page_is_cut() -> None:
    for path in [(), *(path for path in every_command() if isinstance(command_at(path), click.Group))]:
        command = command_at(path)
        listed = command.get_help(click.Context(command, info_name="handrail")).split("Commands:")[1]
        assert "..." not in listed


def test_the_first_page_names_every_verb_and_the_way_in() -> None:
    ran = in_a_process("--help")
    assert ran.code == 0
    assert all(f"\n  {verb}" in ran.out for verb in VERBS)
    assert "handrail demo" in ran.out


def test_the_version_is_said() -> None:
    assert handrail("--version").out.startswith("handrail, version ")


def one_line(ran: Ran, code: int) -> str:
    assert ran.code == code, ran
    assert "Traceback" not in ran.err
    *usage, last = [line for line in ran.err.splitlines() if line.strip()]
    assert all(line.startswith(("Usage:", "Try ")) for line in usage), ran.err
    return last


@pytest.mark.parametrize("verb", ["status", "start"])
def test_without_a_daemon_it_says_where_it_looked(verb: str) -> None:
    said = one_line(handrail(verb, "--server", "http://127.0.0.1:9"), 1)
    assert "no daemon answers at http://127.0.0.1:9" in said
    assert "handrail run" in said


def test_a_process_without_a_daemon_ends_with_one_and_one_line() -> None:
    one_line(in_a_process("status", "--server", "http://127.0.0.1:9"), 1)


def test_a_socket_that_is_not_there_is_said(tmp_path: Path) -> None:
    assert str(tmp_path / "no.sock") in one_line(handrail("status", "--socket", tmp_path / "no.sock"), 1)


@pytest.mark.parametrize(
    "arguments",
    [("nonsense",), ("incidents", "nonsense"), ("incidents", "list", "--limit", "0"), ("stop",), ("show",)],
    ids=" ".join,
)
def test_a_wrong_call_is_one_line(arguments: tuple[str, ...]) -> None:
    assert one_line(handrail(*arguments), 2).startswith("Error: ")


@pytest.mark.parametrize("words", [("list",), ("replay", "--all")], ids=" ".join)
def test_an_empty_reason_never_means_every_dead_letter(words: tuple[str, ...]) -> None:
    assert "names nothing" in one_line(handrail("dlq", *words, "--reason", ""), 2)


@pytest.mark.parametrize("verb", ["run", "check"])
def test_a_configuration_that_is_not_there_is_one_line_that_says_how_to_get_one(verb: str, tmp_path: Path) -> None:
    ran = handrail(verb, "--config", tmp_path / "no.yaml")
    assert ran.code == 2
    assert "Traceback" not in ran.err
    (said,) = (ran.err + ran.out).splitlines()
    assert "handrail config init" in said


@pytest.mark.parametrize("verb", ["rbac", "admission"])
def test_a_policy_that_is_not_there_is_one_line_that_says_what_to_begin_with(verb: str, tmp_path: Path) -> None:
    said = one_line(handrail(verb, "--policy", tmp_path / "no.yaml"), 2)
    assert "no such file; policies/observe.yaml" in said
    assert all((POLICIES.parent / name).exists() for name in ("policies/observe.yaml", "policies/ask.yaml"))


def test_a_configuration_with_two_mistakes_is_two_lines(tmp_path: Path) -> None:
    path = tmp_path / "wrong.yaml"
    path.write_text("cluster: {nam: x}\n")
    ran = in_a_process("run", "--config", path)
    assert ran.code == 2
    assert "cluster.nam: unknown key; did you mean 'name'?" in ran.err
    assert "Traceback" not in ran.err


def test_a_new_configuration_loads_and_says_what_comes_next(tmp_path: Path) -> None:
    path = tmp_path / "handrail.yaml"
    ran = handrail("config", "init", "--cluster", "prod-eu1", "-o", path)
    assert ran.code == 0
    assert f"handrail check --config {path}" in ran.out
    assert load_config(path).cluster.name == "prod-eu1"


def test_a_new_configuration_goes_to_standard_output_by_default(tmp_path: Path) -> None:
    path = tmp_path / "handrail.yaml"
    path.write_text(handrail("config", "init").out)
    assert load_config(path).cluster.name == "my-cluster"


def test_a_configuration_that_is_there_is_never_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "handrail.yaml"
    path.write_text("mine")
    assert "is there already" in one_line(handrail("config", "init", "-o", path), 2)
    assert path.read_text() == "mine"


@pytest.mark.parametrize("name", ["observe.yaml", "ask.yaml", "examples/small-team.yaml"])
def test_the_rights_of_a_policy_are_printed_as_they_are_computed(name: str) -> None:
    ran = handrail("rbac", "--policy", POLICIES / name, "--namespace", "ops", "--name", "rail")
    due = objects(load_policy(POLICIES / name), handrail_remediations.catalogue(), "rail", "ops", "handrail")
    assert list(yaml.safe_load_all(ran.out)) == due


def test_an_observing_policy_gets_no_right_to_write() -> None:
    printed = list(yaml.safe_load_all(handrail("rbac", "--policy", POLICIES / "observe.yaml").out))
    verbs = {verb for one in printed for rule in one.get("rules", ()) for verb in rule["verbs"]}
    resources = {name for one in printed for rule in one.get("rules", ()) for name in rule["resources"]}
    assert verbs <= {"get", "list", "watch", "create"}
    assert "secrets" not in resources


def test_the_steps_are_listed_with_risk_and_rights() -> None:
    known = handrail_remediations.catalogue()
    rows = handrail("steps", "--json").json
    assert {row["name"] for row in rows} == set(known)
    for row in rows:
        assert row["asked"] == ("always" if known[row["name"]].risk.always_asked else "by policy")
        assert row["needs"]
        assert row["undo"] == known[row["name"]].way_back
    plain = handrail("steps").out
    assert [line.split()[0] for line in plain.splitlines() if not line.startswith(" ")] == [row["name"] for row in rows]
    for row in rows:
        assert all(field in plain for field in (*row["admits"], row["undo"]))


def test_the_detectors_are_listed_with_what_wakes_them() -> None:
    rows = handrail("detectors", "--json").json
    assert [row["name"] for row in rows] == [one.name for one in handrail_detectors.catalogue()]
    for row in rows:
        assert all(row[key] for key in ("watches", "about", "confirmed_by", "traps", "hands_over", "example")), row[
            "name"
        ]
    shown = handrail("detectors").out
    assert all(f"example:   {row['example']}" in shown for row in rows)


def test_json_is_for_scripts_and_nothing_else_is_on_standard_output() -> None:
    for verb in ("steps", "detectors"):
        json.loads(handrail(verb, "--json").out)
