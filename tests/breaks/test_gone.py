"""What is there when the card is asked is not there when it is answered: target, namespace, rights. And whose it is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from handrail.adapters.telling import Teller
from handrail.model.incident import Incident, State
from handrail.model.reason import Reason
from handrail.sim.rights import EVERYTHING, READ, Rule
from tests.breaks.test_telling import Channel
from tests.breaks.worlds import alerted, gloomy, lossy, pass_by
from tests.reconciler.rig import BAD, DEPLOYMENT, GOOD, Rig, Shop, asking, ended, rig

ASKS = Rule(("create",), ("selfsubjectaccessreviews", "tokenreviews"))


async def told(life: Rig, incident: Incident) -> str:
    """Everything that people get to read of it, in its thread and its report."""
    channel = Channel()
    await Teller(life.tools.store, channel, None, life.tools.now).tell_all()
    report = await life.desk.report(incident.id)
    assert report is not None
    return "\n".join([*channel.lines, report, channel.cards[-1].status])


def may(shop: Shop, *rules: Rule) -> None:
    shop.simulator.add_token(shop.simulator.token, "handrail", can=rules)


async def delete_it(shop: Shop) -> None:
    await shop.call("DELETE", DEPLOYMENT)
    await shop.live(10)


async def delete_its_namespace(shop: Shop) -> None:
    await shop.call("DELETE", DEPLOYMENT)
    await shop.call("DELETE", "/api/v1/namespaces/shop")
    await shop.live(30)


@pytest.mark.parametrize("gone", [delete_it, delete_its_namespace])
@pytest.mark.parametrize("verb", ["approve", "reject", ""])
async def test_a_target_that_goes_while_people_are_asked_is_handed_over_by_name(
    shop: Shop, tmp_path: Path, gone: Any, verb: str
) -> None:
    async with rig(shop, tmp_path) as life:
        await alerted(shop, life)
        await life.run(asking)
        await gone(shop)
        if verb:
            assert (await life.answer(verb)).ok
        incident = await pass_by(life, ended, minutes=60)
        assert incident.end is not None
        due = {"approve": Reason.TARGET_GONE, "reject": Reason.REJECTED, "": Reason.APPROVAL_EXPIRED}[verb]
        assert incident.end[0] is due, incident.end
        assert incident.writes == ()
        said = await told(life, incident)
        assert str(due) in said
        assert "It healed" not in said


@pytest.mark.parametrize("gone", [delete_it, delete_its_namespace])
async def test_a_target_that_goes_after_the_write_is_never_called_healed(shop: Shop, tmp_path: Path, gone: Any) -> None:
    applied: list[str] = []
    async with rig(shop, tmp_path) as life:
        await alerted(shop, life)
        counted = lossy(life, applied)
        await counted.run(lambda i: i.state is State.VERIFYING, approve=True)
        await gone(shop)
        incident = await pass_by(counted, ended, minutes=60)
        assert incident.state is State.HANDED_OVER
        assert len(applied) == 1
        assert "gone" in (await told(life, incident))


async def test_rights_taken_away_while_people_are_asked_end_with_a_person_who_is_told_which(
    shop: Shop, tmp_path: Path
) -> None:
    async with rig(shop, tmp_path) as life:
        await alerted(shop, life)
        await life.run(asking)
        may(shop, READ, ASKS)
        assert (await life.answer("approve")).ok
        incident = await pass_by(life, lambda i: ended(i) or i.paused, minutes=90)
        assert incident.done_writes == ()
        assert incident.state is State.HANDED_OVER or incident.paused, incident.end
        said = await told(life, incident)
        assert "DENIED" in said or incident.paused, said
    may(shop, EVERYTHING)
    assert await shop.image() == BAD


async def test_rights_taken_away_before_the_undo_leave_nobody_in_the_dark(shop: Shop, tmp_path: Path) -> None:
    applied: list[str] = []
    async with rig(shop, tmp_path) as life:
        await alerted(shop, life)
        dark = gloomy(lossy(life, applied))
        await dark.run(lambda i: i.state is State.UNDOING, approve=True)
        may(shop, READ, ASKS)
        incident = await pass_by(dark, lambda i: ended(i) or i.paused, minutes=90)
        assert len(applied) == 1
        said = await told(life, incident)
        assert "put the pod template of Deployment shop/checkout back" in said
        assert "has been taken back" not in said
    may(shop, EVERYTHING)
    assert await shop.image() == GOOD


async def test_reading_taken_away_ends_with_a_person_and_not_with_silence(shop: Shop, tmp_path: Path) -> None:
    async with rig(shop, tmp_path) as life:
        await alerted(shop, life)
        await life.run(lambda i: i.state is State.GATHERING)
        may(shop, ASKS)
        incident = await pass_by(life, ended, minutes=90)
        assert incident.state is State.HANDED_OVER
        assert incident.writes == ()


MANAGED: dict[str, dict[str, Any]] = {
    "argo label": {"labels": {"argocd.argoproj.io/instance": "shop"}},
    "argo tracking": {"annotations": {"argocd.argoproj.io/tracking-id": "shop:apps/Deployment:shop/checkout"}},
    "flux kustomize": {"labels": {"kustomize.toolkit.fluxcd.io/name": "shop"}},
    "flux helm": {"labels": {"helm.toolkit.fluxcd.io/name": "shop"}},
}


@pytest.mark.parametrize("name", MANAGED)
@pytest.mark.parametrize("when", ["before", "while asked"])
async def test_what_a_tool_owns_is_not_written_and_its_owner_is_named(
    shop: Shop, tmp_path: Path, name: str, when: str
) -> None:
    async def mark() -> None:
        ops = [{"op": "add", "path": f"/metadata/{key}", "value": value} for key, value in MANAGED[name].items()]
        await shop.patch(*ops)

    async with rig(shop, tmp_path) as life:
        if when == "before":
            await mark()
        await alerted(shop, life)
        if when == "while asked":
            await life.run(asking)
            await mark()
        incident = await life.run(ended, approve=True, minutes=90)
        assert incident.state is State.HANDED_OVER
        assert incident.end is not None
        assert incident.writes == (), incident.end
        assert await shop.image() == BAD
        said = await told(life, incident)
        assert any(owner in said for owner in ("Argo CD", "Flux")), said


@pytest.mark.parametrize("when", ["before", "while asked"])
async def test_what_a_person_has_paused_is_not_written(shop: Shop, tmp_path: Path, when: str) -> None:
    pause = {"op": "add", "path": "/spec/paused", "value": True}
    async with rig(shop, tmp_path) as life:
        await alerted(shop, life)
        if when == "before":
            await shop.patch(pause)
        else:
            await life.run(asking)
            await shop.patch(pause)
        incident = await life.run(ended, approve=True, minutes=90)
        assert incident.state is State.HANDED_OVER
        assert incident.writes == ()
        assert await shop.image() == BAD
        assert "paused" in await told(life, incident)
