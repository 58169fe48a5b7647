"""What is published of an event: by its schema, without secrets or raw objects, marked as ours."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from handrail.core import again
from handrail.core.fold import fold
from handrail.core.publishing import MOST_BYTES, kinds, message, schema
from handrail.decode import ENCODINGS, decode
from handrail.model import events as ev
from handrail.model.alert import Alert, Source
from handrail.model.approval import Person
from handrail.model.events import Entry, Event
from handrail.model.incident import State
from handrail.model.saga import Rehearsal
from handrail.model.write import Verb
from tests.decode.records import record
from tests.factories import CLUSTER, NOW, ONCALL, an_alert, opened, story_to

VALIDATOR = jsonschema.Draft202012Validator(schema(), format_checker=jsonschema.FormatChecker())
WITHHELD = {"StepBegun.before", "TakeBack.before", "Write.ops", "Write.body"}
OURS = {"Option.params", "SagaStep.params", "TakeBack.params"}
"""Parameters of steps, which are bounded and typed by their steps."""


def entry(event: Event, seq: int = 1) -> Entry:
    return Entry(incident="inc-a", seq=seq, at=NOW, actor="handrail", event=event, previous="p", hash="h")


def published(event: Event, most: int = MOST_BYTES) -> Any:
    data = json.loads(message(entry(event), CLUSTER, most).value)
    VALIDATOR.validate(data)
    return data


def attached(alert: Alert) -> ev.AlertAttached:
    return ev.AlertAttached(alert=alert, source=Source(topic="alerts", partition=0, offset=1, digest="d"))


def story() -> list[Event]:
    """All that happens on the way to an undo, and at the ends."""
    return [*story_to(State.UNDONE, "inc-a"), *story_to(State.RESOLVED, "inc-a"), *story_to(State.HANDED_OVER, "inc-a")]


def test_every_event_of_a_story_is_what_the_schema_says() -> None:
    seen = {published(event)["kind"] for event in story()}
    assert {"gathered", "planned", "rehearsed", "asked", "approved", "intent", "outcome", "undone"} <= seen


@pytest.mark.parametrize("path", sorted((Path(__file__).parents[1] / "replay" / "v0.1.0").glob("*.jsonl")))
def test_every_event_of_kept_journals_is_what_the_schema_says(path: Path) -> None:
    rows = [json.loads(line) for line in path.read_text().splitlines() if line.strip()]
    for row in rows:
        data = row["data"] if isinstance(row["data"], dict) else json.loads(row["data"])
        published(ev.read(data, row["version"]))


def test_the_schema_knows_every_kind_and_its_version_and_is_open_to_new_fields() -> None:
    found = schema()
    assert found["x-versions"] == {kind: ev.version_of(kind) for kind in kinds(found)}
    newer = published(ev.Noted(text="x")) | {"of_a_newer_build": 1}
    VALIDATOR.validate(newer)
    assert 'additionalProperties": false' not in json.dumps(found)


def test_nothing_that_may_hold_anything_at_all_is_published() -> None:
    """Whoever adds a field of raw objects to an event decides here whether it is withheld."""
    found = {
        f"{name}.{field}"
        for name, definition in schema()["$defs"].items()
        for field, what in definition.get("properties", {}).items()
        if '"additionalProperties": true' in json.dumps(what)
    }
    assert found == WITHHELD | OURS


def test_what_an_asked_for_undo_remembers_of_an_object_is_withheld() -> None:
    step = {"step": "rollout_undo", "risk": "disruptive", "params": {}, "summary": "s", "after": {}}
    target = {"api_version": "apps/v1", "kind": "Deployment", "namespace": "shop", "name": "api", "uid": "u"}
    event = {"steps": [{**step, "target": target, "before": {"template": "hunter2"}}]}
    assert "hunter2" not in json.dumps(published(ev.TakingBack.model_validate(event)))


def test_what_an_undo_would_put_back_is_withheld_wherever_its_saga_stands() -> None:
    step = {"step": "rollout_undo", "risk": "disruptive", "params": {"to_revision": 1}, "summary": "s", "after": {}}
    target = {"api_version": "apps/v1", "kind": "Deployment", "namespace": "shop", "name": "api", "uid": "u"}
    before = {"template": {"spec": {"containers": [{"env": [{"name": "LICENCE", "value": "hunter2"}]}]}}}
    events: list[Event] = [
        opened(),
        ev.TakingBack.model_validate({"steps": [{**step, "target": target, "before": before}]}),
    ]
    incident = fold((entry(event, seq) for seq, event in enumerate(events, 1)), cluster=CLUSTER)
    saga = again.saga(incident, NOW)
    assert "hunter2" in saga.model_dump_json()
    rehearsed = next(event for event in story() if isinstance(event, ev.Rehearsed)).rehearsal
    for event in (ev.Compiled(saga=saga), ev.Rehearsed(rehearsal=rehearsed.model_copy(update={"saga": saga}))):
        data = json.dumps(published(event))
        assert "hunter2" not in data
        assert "undo:rollout_undo" in data


def test_raw_objects_patches_and_diffs_are_withheld() -> None:
    rehearsed = next(event for event in story() if isinstance(event, ev.Rehearsed))
    (write,) = rehearsed.rehearsal.writes
    loud = write.model_copy(
        update={
            "diff": "-hunter2\n+hunter3",
            "undo_diff": "hunter2",
            "write": write.write.model_copy(update={"verb": Verb.CREATE, "body": {"env": [{"value": "hunter2"}]}}),
        }
    )
    rehearsal = Rehearsal(saga=rehearsed.rehearsal.saga, writes=(loud,), blast=rehearsed.rehearsal.blast)
    intent = ev.Intent(step=0, direction="do", write=loud.write, expected="x", resource_version="1")
    for event in (ev.Rehearsed(rehearsal=rehearsal), intent, ev.StepBegun(step=0, before={"x": "hunter2"})):
        assert "hunter" not in json.dumps(published(event))


def test_text_of_the_world_is_redacted_wherever_it_stands() -> None:
    alert = an_alert()
    labels = {**alert.labels, "db_password": "hunter2", "note": "\x1b[31mAuthorization: Bearer abcdefgh12345678"}
    alert = alert.model_copy(update={"labels": labels})
    for event in (
        attached(alert),
        ev.Noted(text="password=hunter2 Bearer abcdefgh12345678"),
        ev.HandedOver(reason="BROKEN", detail="https://user:hunter2@db.example"),
    ):
        text = json.dumps(published(event))
        assert "hunter2" not in text
        assert "abcdefgh12345678" not in text
        assert "\\u001b" not in text


def test_headers_let_readers_drop_repeats_and_choose_without_parsing() -> None:
    found = message(entry(ev.GatheringBegun(), seq=7), CLUSTER)
    assert found.key == b"inc-a"
    assert found.headers == [
        ("handrail.origin", b"event"),
        ("handrail.incident", b"inc-a"),
        ("handrail.seq", b"7"),
        ("handrail.kind", b"gathering_begun"),
        ("handrail.version", b"1"),
    ]


def test_an_event_that_is_too_large_is_left_out_and_its_size_is_said() -> None:
    labels = {f"label{number}": "x" * 20_000 for number in range(64)}
    data = published(attached(an_alert().model_copy(update={"labels": labels})))
    assert (data["kind"], data["event"]) == ("alert_attached", None)
    assert data["bytes_left_out"] > 64 * 20_000
    assert published(ev.Approved(request="r", by=ONCALL), most=0)["event"] is None


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("headers", [True, False])
def test_an_event_of_ours_is_never_taken_for_an_alert(encoding: str, headers: bool) -> None:
    """keep #5111. Also where a way in between drops the headers; as protobuf our JSON can't be read at all."""
    for event in (attached(an_alert()), ev.Noted(text="x", by=str(Person(via="slack", name="U1")))):
        sent = message(entry(event), CLUSTER)
        found = decode(record(sent.value, tuple(sent.headers) if headers else ()), encoding=encoding)
        assert found.alerts == ()
        if headers or encoding != "otlp_proto":
            assert [part.what for part in found.passed] == ["an event of Handrail's own"]
            assert found.refused == ()
