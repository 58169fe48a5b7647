"""From alert to end on the simulated cluster: what heals, what voids, what is handed over and what stops."""

from __future__ import annotations

from pathlib import Path

from structlog.testing import capture_logs

from handrail.cli.demo_alert import alert_as_otlp
from handrail.model import events as ev
from handrail.model.incident import State
from handrail.model.reason import Reason
from tests.reconciler.rig import BAD, GOOD, Rig, Shop, asking, ended, rig


async def broken(shop: Shop, life: Rig) -> None:
    """A bad revision whose pods have been crashing for a while, and the alert about it."""
    await shop.roll_out(BAD)
    await shop.live(30)
    await life.take(alert_as_otlp(int(shop.clock.now().timestamp() * 1e9)))


async def kinds(life: Rig) -> list[str]:
    incident = await life.the_incident()
    return [entry.event.kind for entry in await life.tools.store.entries(incident.id)]


async def test_a_bad_revision_is_undone_after_approval(shop: Shop, tmp_path: Path) -> None:
    async with rig(shop, tmp_path) as life:
        await broken(shop, life)
        waiting = await life.run(asking)
        assert waiting.writes == ()
        assert await shop.image() == BAD
        assert (await life.answer("approve")).ok
        incident = await life.run(ended)
        assert incident.state is State.RESOLVED, incident.end
        assert await shop.image() == GOOD
        assert len(incident.done_writes) == 1
        assert (await life.tools.store.audit()).ok


async def test_a_rejection_writes_nothing_and_hands_over(shop: Shop, tmp_path: Path) -> None:
    async with rig(shop, tmp_path) as life:
        await broken(shop, life)
        await life.run(asking)
        assert (await life.answer("reject")).ok
        incident = await life.the_incident()
        assert incident.state is State.HANDED_OVER
        assert await shop.image() == BAD


async def test_a_question_that_nobody_answers_expires_and_writes_nothing(shop: Shop, tmp_path: Path) -> None:
    async with rig(shop, tmp_path) as life:
        await broken(shop, life)
        await life.run(asking)
        shop.clock.advance(31 * 60)
        with capture_logs() as logged:
            incident = await life.run(ended)
        (moved,) = [line for line in logged if line["event"] == "moved"]
        assert (moved["incident"], moved["to"], moved["reason"]) == (incident.id, "HANDED_OVER", "APPROVAL_EXPIRED")
        assert incident.end is not None
        assert incident.end[0] is Reason.APPROVAL_EXPIRED
        assert await shop.image() == BAD


async def test_a_change_to_the_spec_before_the_click_voids_and_asks_anew(shop: Shop, tmp_path: Path) -> None:
    async with rig(shop, tmp_path) as life:
        await broken(shop, life)
        first = (await life.run(asking)).request
        await shop.patch({"op": "add", "path": "/spec/minReadySeconds", "value": 1})
        assert (await life.answer("approve")).ok
        again = await life.run(lambda i: i.state is State.ASKING and i.request != first)
        assert again.voids == 1
        assert again.writes == ()
        assert "voided" in await kinds(life)
        assert await shop.image() == BAD


async def test_a_status_that_moves_between_question_and_click_voids_nothing(shop: Shop, tmp_path: Path) -> None:
    async with rig(shop, tmp_path) as life:
        await broken(shop, life)
        await life.run(asking)
        await shop.live(60)
        assert (await life.answer("approve")).ok
        incident = await life.run(ended)
        assert incident.state is State.RESOLVED, incident.end
        assert incident.voids == 0


async def test_a_stop_before_the_click_is_acted_on_writes_nothing_until_start(shop: Shop, tmp_path: Path) -> None:
    async with rig(shop, tmp_path) as life:
        await broken(shop, life)
        await life.run(asking)
        assert (await life.answer("approve")).ok
        await life.tools.store.set_switch(True, by="ops", why="release freeze")
        paused = await life.run(lambda i: i.paused)
        assert paused.writes == ()
        await shop.live(60)
        assert await shop.image() == BAD
        await life.tools.store.set_switch(False, by="ops", why="")
        incident = await life.run(ended)
        assert incident.state is State.RESOLVED, incident.end


async def test_the_same_alert_again_is_attached_and_runs_nothing_twice(shop: Shop, tmp_path: Path) -> None:
    async with rig(shop, tmp_path) as life:
        await broken(shop, life)
        now = int(shop.clock.now().timestamp() * 1e9)
        for offset in range(1, 4):
            await life.take(alert_as_otlp(now), offset=offset)
        await life.take(alert_as_otlp(now), offset=3)
        incident = await life.run(ended, approve=True)
        assert incident.state is State.RESOLVED, incident.end
        assert len(await life.incidents()) == 1
        assert len(incident.alerts) == 4
        await life.take(alert_as_otlp(now), offset=9)
        assert len(await life.incidents()) == 1


async def test_a_healthy_workload_is_left_alone_and_handed_over_with_what_was_seen(shop: Shop, tmp_path: Path) -> None:
    async with rig(shop, tmp_path) as life:
        await life.take(alert_as_otlp(int(shop.clock.now().timestamp() * 1e9)))
        incident = await life.run(ended)
        assert incident.state is State.HANDED_OVER
        assert incident.evidence
        assert incident.writes == ()


async def test_an_alert_about_nothing_that_exists_is_handed_over(shop: Shop, tmp_path: Path) -> None:
    async with rig(shop, tmp_path) as life:
        await shop.call("DELETE", "/apis/apps/v1/namespaces/shop/deployments/checkout")
        await life.take(alert_as_otlp(int(shop.clock.now().timestamp() * 1e9)))
        incident = await life.run(ended)
        assert incident.end is not None
        assert incident.end[0] is Reason.TARGET_GONE


async def test_observing_says_what_it_would_do_and_never_rehearses(shop: Shop, tmp_path: Path) -> None:
    (tmp_path / "policy.yaml").write_text(
        'version: 1\nrules:\n  - {namespaces: ["*"], steps: {rollout_undo: observe}}\n'
    )
    async with rig(shop, tmp_path) as life:
        await broken(shop, life)
        incident = await life.run(ended)
        assert incident.end is not None
        assert incident.end[0] is Reason.OBSERVE_ONLY
        assert "rehearsed" not in await kinds(life)


async def test_intent_comes_before_outcome_and_approval_before_both(shop: Shop, tmp_path: Path) -> None:
    async with rig(shop, tmp_path) as life:
        await broken(shop, life)
        await life.run(ended, approve=True)
        told = await kinds(life)
        assert told.index("approved") < told.index("intent") < told.index("outcome") < told.index("verified")
        incident = await life.the_incident()
        entries = await life.tools.store.entries(incident.id)
        (intent,) = [entry.event for entry in entries if isinstance(entry.event, ev.Intent)]
        live = await shop.deployment()
        assert live["metadata"]["annotations"]["handrail.dev/key"] == intent.write.key
