"""What people decide from shows no secret, and never hides that one changes."""

from __future__ import annotations

from typing import Any

import pytest

from handrail.core.card import card
from handrail.core.fingerprint import diff
from handrail.core.veil import veiled
from handrail.model import events as ev
from handrail.model.saga import Rehearsal
from handrail.model.value import Raw
from tests.card import journals as j


def deployment(*env: tuple[str, str], args: tuple[str, ...] = (), **annotations: str) -> Raw:
    container = {"name": "app", "image": "x:1", "args": list(args), "env": [{"name": n, "value": v} for n, v in env]}
    template = {"metadata": {"annotations": annotations}, "spec": {"containers": [container]}}
    meta = {"namespace": "shop", "name": "api", "uid": "u"}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": meta, "spec": {"template": template}}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (deployment(("DB_PASSWORD", "hunter2")), deployment(("DB_PASSWORD", "hunter3"))),
        (deployment(("DSN", "postgres://u:hunter2@db/x")), deployment(("DSN", "postgres://u:hunter3@db/x"))),
        (deployment(args=("--token", "hunter2")), deployment(args=("--token", "hunter3"))),
        (deployment(("Z", "1"), api_key="hunter2"), deployment(("Z", "1"), api_key="hunter3")),
    ],
    ids=["variable", "address", "flag", "key"],
)
def test_a_diff_hides_a_secret_and_says_that_it_changes(old: Raw, new: Raw) -> None:
    for one, other in ((old, new), (new, old)):
        text = diff(one, other, with_replicas=False)
        assert "hunter" not in text
        assert "[redacted, changed]" in text


def test_what_stays_and_what_is_no_secret_is_shown_as_it_is() -> None:
    old = deployment(("DB_PASSWORD", "hunter2"), ("DB_PASSWORD_FILE", "/run/x"), ("LEVEL", "info"))
    new = deployment(("LEVEL", "debug"), ("DB_PASSWORD", "hunter2"), ("DB_PASSWORD_FILE", "/run/y"))
    text = diff(old, new, with_replicas=False)
    assert "changed]" not in text
    for shown in ("+          value: debug", "-          value: info", "+          value: /run/y"):
        assert shown in text


def test_what_no_secret_stands_in_is_left_as_it_is() -> None:
    raw: Any = {"a": [1, None, True, {"name": "x", "value": "y"}], "secretName": "tls", "items": ["--port", "80"]}
    assert veiled(raw, raw) == raw


def test_a_write_that_was_not_rehearsed_shows_its_body_without_secrets() -> None:
    (write,) = j.rehearsal().writes
    op = {
        "op": "replace",
        "path": "/spec/template",
        "value": deployment(("DB_PASSWORD", "hunter2"))["spec"]["template"],
    }
    bare = write.model_copy(update={"rehearsed": False, "write": write.write.model_copy(update={"ops": (op,)})})
    rehearsed = ev.Rehearsed(rehearsal=Rehearsal(saga=j.SAGA, writes=(bare,), blast=j.rehearsal().blast))
    shown = card(j.incident((*j.PLANNED, ev.Compiled(saga=j.SAGA), rehearsed)), j.T0)
    assert "not rehearsed" in shown.diff
    assert "DB_PASSWORD" in shown.diff
    assert "hunter2" not in shown.diff
