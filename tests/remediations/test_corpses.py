"""Corpses are swept a bounded number at a time; the newest of each owner stays as evidence, and nothing living goes."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from pydantic import ValidationError

from handrail.core.blast import blast
from handrail.core.fingerprint import gone
from handrail.model.reason import Reason
from handrail.model.saga import SagaStep
from handrail.model.step import Done, Verdict
from handrail.model.value import Raw
from handrail.model.workload import Workload
from tests.remediations.catalogue_cases import CATALOGUE, sight
from tests.remediations.contract import params_of
from tests.remediations.test_guards import refused
from tests.remediations.workloads import NOW, changed, strewn


def swept(w: Workload, *uids: str) -> str:
    return refused("delete_pod", w, {"corpses": list(uids)})


def test_a_sweep_leaves_the_newest_corpse_of_each_owner_as_evidence() -> None:
    (sweep,) = CATALOGUE["delete_pod"].propose(sight("delete_pod", strewn(5)))
    assert sweep.params == {"corpses": [f"corpse-{number}" for number in range(4)]}
    assert swept(strewn(5), "corpse-3", "corpse-4") == Reason.NO_CHANGE
    assert CATALOGUE["delete_pod"].propose(sight("delete_pod", strewn(1))) == ()


def test_a_sweep_is_bounded_and_says_how_many_are_left() -> None:
    (sweep,) = CATALOGUE["delete_pod"].propose(sight("delete_pod", strewn(300)))
    assert len(sweep.params["corpses"]) == 20
    assert "delete 20 of 299 corpses" in sweep.summary
    with pytest.raises(ValidationError):
        swept(strewn(30), *(f"corpse-{number}" for number in range(21)))


def test_a_sweep_takes_no_living_pod_and_goes_on_when_somebody_swept_before() -> None:
    w = strewn(5)
    living = str(w.pods[0]["metadata"]["uid"])
    assert swept(w, "corpse-0", living) == Reason.NO_CHANGE
    rest = changed(w, pods=tuple(one for one in w.pods if one["metadata"]["uid"] != "corpse-0"))
    assert swept(rest, "corpse-0", "corpse-1") == ""
    assert swept(rest, "corpse-0") == Reason.TARGET_GONE


def test_a_sweep_ends_before_what_has_become_the_newest_meanwhile() -> None:
    """Somebody else swept the evidence while ours went on: what is left of it is kept, and nothing has failed."""
    step, w = CATALOGUE["delete_pod"], strewn(5)
    approved = [f"corpse-{number}" for number in range(4)]
    p = params_of(step, {"corpses": approved})
    before = step.remember(sight(step.name, w), p)

    def after(*gone: str) -> Any:
        rest = changed(w, pods=tuple(one for one in w.pods if one["metadata"]["uid"] not in gone))
        return rest, step.next(sight(step.name, rest), p, before, NOW)

    _, going_on = after("corpse-0", "corpse-4")
    assert going_on.object.uid == "corpse-1"
    rest, over = after("corpse-0", "corpse-1", "corpse-2", "corpse-4")
    assert isinstance(over, Done)
    found = step.verify(sight(step.name, rest), p, before, NOW, NOW + timedelta(minutes=2))
    assert found.verdict is Verdict.HEALED
    assert swept(changed(w, pods=w.pods[:-1]), *approved) == Reason.NO_CHANGE, "before the first it is asked anew"


def test_a_corpse_is_said_to_have_ended_and_nobody_to_make_another() -> None:
    step, w = CATALOGUE["delete_pod"], strewn(3)
    (write, *_) = step.writes(sight(step.name, w), params_of(step, {"corpses": ["corpse-0"]}))
    assert "has ended" in write.summary
    assert "makes another" not in write.summary + gone(w.pods[-1])
    assert "has ended" in gone(w.pods[-1])
    assert "makes another" in gone(w.pods[0])


@pytest.mark.parametrize("given", [{}, {"uid": "a", "corpses": ["b"]}])
def test_a_delete_names_one_pod_or_corpses_and_never_both(given: Raw) -> None:
    with pytest.raises(ValidationError):
        params_of(CATALOGUE["delete_pod"], given)


def test_the_card_counts_the_corpses_and_no_ready_pod() -> None:
    step, w = CATALOGUE["delete_pod"], strewn(5)
    writes = step.writes(sight(step.name, w), params_of(step, {"corpses": ["corpse-0", "corpse-1", "corpse-2"]}))
    spec = SagaStep(index=0, step=step.name, risk=step.risk, target=w.ref, params={}, summary="")
    touched = blast(w, (spec,), writes)
    assert (touched.pods, touched.percent) == (3, 0)
    assert "no ready pod goes before its replacement is ready" in touched.notes
