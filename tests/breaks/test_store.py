"""The database goes away, or fills up, at the worst moment."""

from __future__ import annotations

import resource
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from handrail.cli.demo_alert import alert_as_otlp
from handrail.main import daemon
from handrail.model.config import (
    ClusterConfig,
    Config,
    KafkaConfig,
    KubernetesConfig,
    SecretRef,
    StoreConfig,
    TopicConfig,
    WebhookConfig,
)
from handrail.model.errors import BadConfig, Transient
from handrail.model.incident import State
from handrail.reconciler import advance
from tests.breaks.worlds import alerted, gloomy, lossy
from tests.fakes.webhook import FakeWebhook
from tests.reconciler.rig import GOOD, POLICY, Rig, Shop, ended, rig
from tests.servers.process import free_port


class Failing:
    """A store each of whose writes of one kind fails the first times, with nothing written."""

    def __init__(self, store: Any, name: str, times: int) -> None:
        self._store, self._name, self._left = store, name, times

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._store, name)
        if name != self._name or self._left <= 0:
            return found
        self._left -= 1

        async def failing(*args: Any, **options: Any) -> Any:
            raise Transient("the store is away: database or disk is full", retry_after=2.0)

        return failing


@pytest.mark.parametrize("name", ["append", "claim", "commit_intent", "append_outcome"])
async def test_a_store_that_is_away_at_any_commit_repeats_no_write(shop: Shop, tmp_path: Path, name: str) -> None:
    applied: list[str] = []
    async with rig(shop, tmp_path) as life:
        await alerted(shop, life)
        counted = lossy(life, applied)
        store: Any = Failing(life.tools.store, name, 3)
        incident = await Rig(replace(counted.tools, store=store), shop).run(ended, approve=True)
        assert incident.state is State.RESOLVED, incident.end
        assert await shop.image() == GOOD
        assert len(applied) == 1


class Away:
    """A store that answers nothing at all while `gone`: it is whoever uses it that must not act."""

    def __init__(self, store: Any) -> None:
        self._store = store
        self.gone = False

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._store, name)
        if not self.gone or not callable(found):
            return found

        async def away(*args: Any, **options: Any) -> Any:
            raise Transient("the store is away", retry_after=2.0)

        return away


@pytest.mark.parametrize("state", [State.ASKING, State.EXECUTING, State.VERIFYING, State.UNDOING], ids=str)
async def test_without_its_database_it_writes_nothing_in_any_state_and_goes_on_when_it_is_back(
    shop: Shop, tmp_path: Path, state: State
) -> None:
    applied: list[str] = []
    async with rig(shop, tmp_path) as life:
        await alerted(shop, life)
        store = Away(life.tools.store)
        counted = lossy(life, applied)
        counted = gloomy(counted) if state is State.UNDOING else counted
        there = Rig(replace(counted.tools, store=store), shop)  # type: ignore[arg-type]
        await there.run(lambda incident: incident.state is state, approve=state is not State.ASKING)
        (id_,) = await life.tools.store.open_ids()
        store.gone, before = True, list(applied)
        for _ in range(20):
            with pytest.raises(Transient):
                await advance(there.tools, id_)
            await shop.live(2)
        assert applied == before
        store.gone = False
        incident = await there.run(ended, approve=True)
        assert incident.end is not None or incident.state is State.RESOLVED
        assert [key.split("/")[3] for key in applied] == (["do", "undo"] if state is State.UNDOING else ["do"])


@contextmanager
def full_disk(folder: Path) -> Iterator[None]:
    """No file of this process may grow beyond what the largest of the database's has now."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    most = max(file.stat().st_size for file in folder.glob("handrail.db*"))
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


async def test_on_a_full_disk_nothing_is_taken_in_and_nothing_is_lost(shop: Shop, tmp_path: Path) -> None:
    async with rig(shop, tmp_path) as life:
        await alerted(shop, life)
        with full_disk(tmp_path):
            taken = 0
            with pytest.raises(Transient):
                while taken < 500:
                    taken += 1
                    await life.take(_another(shop, taken), offset=taken)
        before = len(await life.tools.store.open_ids())
        assert before == taken
        await life.take(_another(shop, taken), offset=taken)
        assert len(await life.tools.store.open_ids()) == before + 1
        assert (await life.tools.store.audit()).ok


def _another(shop: Shop, number: int) -> bytes:
    return alert_as_otlp(int(shop.clock.now().timestamp() * 1e9)).replace(b"checkout", b"%08d" % number)


async def test_a_daemon_that_cant_use_its_database_at_the_start_says_so_by_webhook(shop: Shop, tmp_path: Path) -> None:
    (tmp_path / "policy.yaml").write_text(yaml.safe_dump(POLICY))
    async with FakeWebhook() as hook:
        (tmp_path / "hook").write_text(hook.url)
        config = Config(
            cluster=ClusterConfig(name="demo"),
            kafka=KafkaConfig(bootstrap=("unused:1",), topics=(TopicConfig(name="alerts"),)),
            kubernetes=KubernetesConfig(mode="kubeconfig", kubeconfig=str(shop.simulator.kubeconfig(tmp_path / "k"))),
            policy=str(tmp_path / "policy.yaml"),
            store=StoreConfig(url=f"postgresql://nobody@127.0.0.1:{free_port()}/handrail"),
            webhook=WebhookConfig(url=SecretRef(file=str(tmp_path / "hook"))),
        )
        with pytest.raises(BadConfig):
            async with daemon(config):
                raise AssertionError("it has started")
        (post,) = hook.posts
        assert (post.body["state"], post.body["next_action"]) == (
            "store_unusable",
            "do what the status says; the process's own log has it too",
        )
        assert "does not start" in post.body["status"]
