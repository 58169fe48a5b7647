"""`handrail check`: what is wrong becomes a line that says what to do, and nothing is touched."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from handrail.check import check
from handrail.check import probes as probes_module
from tests.cli.site import Site, only
from tests.cli.support import handrail
from tests.fakes.messages import FakeMessages
from tests.fakes.slack import FakeSlack


@pytest.fixture
def here(tmp_path: Path) -> Site:
    return Site(tmp_path)


# what needs no server


async def test_a_wrong_configuration_is_all_that_is_said(here: Site) -> None:
    here.config["kafka"]["bootstrp"] = 1
    assert list(await here.check()) == ["config"]


async def test_a_listen_address_that_is_none_is_found(here: Site) -> None:
    here.config["http"] = {"listen": ":8080"}
    assert "http.listen" in only(await here.check(), "config").text


async def test_what_is_away_fails_and_what_is_there_is_still_proved(here: Site) -> None:
    lines = await here.check()
    assert "127.0.0.1:9" in only(lines, "kafka").text
    assert "kubernetes.kubeconfig" in only(lines, "cluster").text
    assert {name: all(line.ok for line in some) for name, some in lines.items()} == {
        "config": True,
        "policy": True,
        "kafka": False,
        "cluster": False,
        "store": True,
    }


async def test_a_broken_policy_is_said(here: Site) -> None:
    here.policy["rulez"] = []
    line = only(await here.check(), "policy")
    assert not line.ok
    assert "did you mean 'rules'?" in line.text


async def test_a_step_that_this_build_does_not_have_is_named(here: Site) -> None:
    here.policy["rules"][0]["steps"]["rollout_udno"] = "ask"
    line = only(await here.check(), "policy")
    assert not line.ok
    assert "rollout_udno" in line.text
    assert "rollout_undo" in line.text


@pytest.mark.parametrize("mode", ["ask", "act"])
async def test_a_rule_that_asks_while_nobody_could_approve_fails(here: Site, mode: str) -> None:
    """What is disruptive asks, whatever the policy says."""
    here.policy["rules"][0]["steps"] = {"rollout_restart": mode}
    here.policy["approvers"] = {}
    line = only(await here.check(), "approvers")
    assert not line.ok
    assert "nobody could approve" in line.text


async def test_approvers_on_slack_alone_need_slack(here: Site) -> None:
    here.policy["approvers"] = {"slack_users": ["U1"]}
    assert "slack is not configured" in only(await here.check(), "approvers").text


async def test_a_policy_that_only_observes_needs_no_approver(here: Site) -> None:
    here.policy["rules"][0]["steps"] = {"rollout_restart": "observe"}
    here.policy["approvers"] = {}
    assert "approvers" not in await here.check()


async def test_a_store_without_its_folder_or_without_room_fails(here: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    here.config["store"]["url"] = f"sqlite:///{here.folder}/none/handrail.db"
    assert "does not exist" in only(await here.check(), "store").text
    here.config["store"]["url"] = f"sqlite:///{here.folder}/handrail.db"
    monkeypatch.setattr(probes_module, "FREE_BYTES", 2**80)
    assert "make room" in only(await here.check(), "store").text


async def test_the_store_of_a_running_daemon_is_not_touched(here: Site) -> None:
    (here.folder / "handrail.db").write_bytes(b"in use")
    assert only(await here.check(), "store").ok
    assert (here.folder / "handrail.db").read_bytes() == b"in use"
    assert not list(here.folder.glob("handrail.db?*"))


@pytest.mark.parametrize(("url", "sound"), [("https://hooks.example/secret-path", True), ("hooks.example/x", False)])
async def test_a_webhook_is_looked_at_and_never_called_or_shown(here: Site, url: str, sound: bool) -> None:
    here.config["webhook"] = {"url": here.secret("url", url)}
    line = only(await here.check(), "webhook")
    assert line.ok is sound
    assert "secret-path" not in line.text


async def test_a_secret_that_is_missing_fails_where_it_is_needed(here: Site) -> None:
    here.config["webhook"] = {"url": {"env": "HANDRAIL_NO_SUCH_VARIABLE"}}
    assert "HANDRAIL_NO_SUCH_VARIABLE is missing" in only(await here.check(), "webhook").text


async def test_what_hangs_is_given_up_and_said_while_it_is_waited_for(
    here: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    silent = await asyncio.get_running_loop().create_server(asyncio.Protocol, "127.0.0.1", 0)
    here.config["kafka"]["bootstrap"] = [f"127.0.0.1:{silent.sockets[0].getsockname()[1]}"]
    monkeypatch.setattr("handrail.check.SECONDS", 0.6)
    monkeypatch.setattr("handrail.check.PROGRESS_SECONDS", 0.2)
    heard: list[str] = []
    async with silent:
        lines = await check(here.path, heard.append)
    assert "waiting for kafka" in heard
    assert "FAIL kafka: no answer within 1 s; is it reachable from here?" in [str(line) for line in lines]


async def test_a_machine_that_is_slow_to_load_libraries_is_not_taken_for_what_is_away(
    here: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("handrail.check.SECONDS", 0.5)
    monkeypatch.setattr("handrail.check.load", lambda names: time.sleep(0.6))
    lines = await here.check()
    assert only(lines, "store").ok
    assert only(lines, "policy").ok


async def test_a_fault_of_a_probe_is_a_line_and_no_traceback(here: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_path: Path) -> None:
        raise ZeroDivisionError("oops")

    monkeypatch.setattr(probes_module, "load_policy", broken)
    assert only(await here.check(), "policy").text.startswith("ZeroDivisionError: oops")


async def test_the_command_prints_a_line_for_each_and_exits_with_one(here: Site) -> None:
    ran = await asyncio.to_thread(handrail, "check", "--config", here.path)
    assert ran.code == 1
    assert "Traceback" not in ran.err
    assert [line[:4] for line in ran.out.splitlines()] == ["ok  ", "ok  ", "FAIL", "FAIL", "ok  "]
    ran = await asyncio.to_thread(handrail, "check", "--config", here.path, "--json")
    assert ran.code == 1
    assert ran.json["ok"] is False
    assert [one["subject"] for one in ran.json["checks"]] == ["config", "policy", "kafka", "cluster", "store"]


# fakes that are strict where the real ones are


@pytest.fixture
async def slack() -> AsyncIterator[FakeSlack]:
    async with FakeSlack() as fake:
        yield fake


@pytest.fixture
async def model() -> AsyncIterator[FakeMessages]:
    async with FakeMessages(models=("claude-sonnet-4-5",)) as fake:
        yield fake


def with_slack(here: Site, slack: FakeSlack, **tokens: str) -> None:
    channel = tokens.pop("channel", "C0INCIDENTS")
    found = {"bot_token": slack.bot_token, "app_token": slack.app_token, **tokens}
    here.config["slack"] = {
        "channel": channel,
        "base_url": slack.base_url,
        **{name: here.secret(name, token) for name, token in found.items()},
    }


async def test_slack_with_both_tokens_and_a_channel_is_fine(here: Site, slack: FakeSlack) -> None:
    with_slack(here, slack)
    assert only(await here.check(), "slack").ok


@pytest.mark.parametrize("token", ["bot_token", "app_token"])
async def test_a_wrong_slack_token_is_named_and_not_shown(here: Site, slack: FakeSlack, token: str) -> None:
    with_slack(here, slack, **{token: "xoxb-hunter2"})
    (line,) = (await here.check())["slack"]
    assert not line.ok
    assert f"slack.{token}" in line.text
    assert "hunter2" not in line.text


@pytest.mark.parametrize("channel", ["C0OTHER", "C0NOWHERE"])
async def test_a_channel_that_the_app_is_not_in_is_named(here: Site, slack: FakeSlack, channel: str) -> None:
    with_slack(here, slack, channel=channel)
    assert "slack.channel" in only(await here.check(), "slack").text


def with_model(here: Site, model: FakeMessages, key: str = "", name: str = "claude-sonnet-4-5") -> None:
    secret = here.secret("key", key or model.api_key)
    here.config["planner"] = {"mode": "model", "model": {"key": secret, "name": name, "base_url": model.url}}


async def test_a_model_with_a_good_key_is_fine_and_nothing_is_asked_of_it(here: Site, model: FakeMessages) -> None:
    with_model(here, model)
    assert only(await here.check(), "model").ok
    assert model.requests == []


async def test_a_wrong_key_is_said_and_not_shown(here: Site, model: FakeMessages) -> None:
    with_model(here, model, key="sk-ant-hunter2")
    line = only(await here.check(), "model")
    assert not line.ok
    assert "the key is refused" in line.text
    assert "hunter2" not in line.text


async def test_a_model_that_is_not_there_is_named(here: Site, model: FakeMessages) -> None:
    with_model(here, model, name="claude-nonsense")
    assert "there is no model 'claude-nonsense'" in only(await here.check(), "model").text


async def test_planning_by_a_model_without_a_key_fails(here: Site) -> None:
    here.config["planner"] = {"mode": "both"}
    assert "planner.model.key names no key" in only(await here.check(), "model").text
