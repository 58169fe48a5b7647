"""The real process with every dependency away: it starts, says so, serves people, and ends when told to."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import urllib.error
import urllib.request
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.path.stage import until
from tests.servers.process import free_port


def dead() -> str:
    """An address at which nobody listens."""
    return f"127.0.0.1:{free_port()}"


def kubeconfig(path: Path) -> Path:
    named = {"name": "away"}
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [named | {"cluster": {"server": f"http://{dead()}"}}],
        "users": [named | {"user": {"token": "t"}}],
        "contexts": [named | {"context": {"cluster": "away", "user": "away"}}],
        "current-context": "away",
    }
    path.write_text(yaml.safe_dump(document))
    return path


@pytest.fixture
def config(tmp_path: Path) -> dict[str, Any]:
    for name in ("bot", "app", "hook", "key"):
        (tmp_path / name).write_text(f"http://{dead()}/hook" if name == "hook" else f"x{name}-token")
    policy = {"version": 1, "rules": [{"namespaces": ["shop"], "steps": {"rollout_undo": "ask"}}]}
    (tmp_path / "policy.yaml").write_text(yaml.safe_dump(policy))
    return {
        "cluster": {"name": "prod"},
        "kafka": {"bootstrap": [dead()], "topics": [{"name": "alerts"}]},
        "kubernetes": {"mode": "kubeconfig", "kubeconfig": str(kubeconfig(tmp_path / "kubeconfig"))},
        "store": {"url": f"sqlite:///{tmp_path / 'handrail.db'}"},
        "policy": str(tmp_path / "policy.yaml"),
        "planner": {"mode": "both", "model": {"key": {"file": str(tmp_path / "key")}, "base_url": f"http://{dead()}"}},
        "slack": {
            "channel": "C1",
            "bot_token": {"file": str(tmp_path / "bot")},
            "app_token": {"file": str(tmp_path / "app")},
            "base_url": f"http://{dead()}/api/",
        },
        "webhook": {"url": {"file": str(tmp_path / "hook")}},
        "prometheus": {"url": f"http://{dead()}"},
        "http": {"listen": dead(), "socket": str(tmp_path / "s")},
    }


@pytest.fixture
async def process(config: dict[str, Any], tmp_path: Path) -> AsyncIterator[asyncio.subprocess.Process]:
    path = tmp_path / "handrail.yaml"
    path.write_text(yaml.safe_dump(config))
    program = str(Path(sys.executable).parent / "handrail")
    with (tmp_path / "log").open("wb") as log:
        found = await asyncio.create_subprocess_exec(program, "run", "--config", str(path), stdout=log, stderr=log)
    yield found
    if found.returncode is None:
        found.kill()
        await found.wait()


def get(config: dict[str, Any], path: str) -> tuple[int, Any]:
    """Status and JSON; (0, None) while nobody answers."""
    try:
        with urllib.request.urlopen(f"http://{config['http']['listen']}{path}", timeout=5) as answer:
            return answer.status, json.loads(answer.read())
    except urllib.error.HTTPError as no:
        return no.code, json.loads(no.read())
    except OSError:
        return 0, None


async def test_with_everything_away_it_is_alive_not_ready_and_ends_on_sigterm_with_zero(
    process: asyncio.subprocess.Process, config: dict[str, Any], tmp_path: Path
) -> None:
    await until(lambda: get(config, "/healthz")[0] == 200, 30, "the daemon to listen")
    status, ready = get(config, "/readyz")
    assert status == 503
    assert ready["ready"] is False
    assert ready["store"] == "ok"
    process.send_signal(signal.SIGTERM)
    await asyncio.wait_for(process.wait(), 20)
    log = (tmp_path / "log").read_text()
    assert process.returncode == 0, log
    assert "Traceback" not in log


async def test_a_second_process_on_the_same_database_is_refused_in_one_line(
    process: asyncio.subprocess.Process, config: dict[str, Any], tmp_path: Path
) -> None:
    await until(lambda: get(config, "/healthz")[0] == 200, 30, "the first daemon to listen")
    program = str(Path(sys.executable).parent / "handrail")
    second = await asyncio.create_subprocess_exec(
        program,
        "run",
        "--config",
        str(tmp_path / "handrail.yaml"),
        stderr=asyncio.subprocess.PIPE,
        env=dict(os.environ),
    )
    _, said = await second.communicate()
    assert second.returncode == 2
    assert len(said.decode().strip().splitlines()) == 1, said.decode()
    assert "handrail.db" in said.decode()
