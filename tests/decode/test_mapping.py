"""A sender's own names: mapped by the configuration, checked when it is loaded, and believed before the known ones."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from handrail.adapters.settings import load_config
from handrail.core.correlate import identity, labelled_target
from handrail.decode import decode
from handrail.model.config import Config, TopicConfig
from handrail.model.errors import BadConfig
from handrail.model.mapping import NO_MAPPING, AlertMapping
from handrail.model.record import Decoded
from tests.decode.records import any_value, example, log, logs, record

OURS = AlertMapping.model_validate(
    {
        "name": "monitor.title",
        "status": ["monitor.state", "monitor.status"],
        "firing": ["OPEN", "Re-Opened"],
        "resolved": "CLOSED",
        "severity": "monitor.level",
        "starts_at": "monitor.since",
        "summary": "monitor.text",
        "fingerprint": "monitor.id",
        "cluster": "env",
        "namespace": "app.namespace",
        "kind": "app.kind",
        "object": "app.name",
        "labels": {"team": "owner.team"},
    }
)
SENT: dict[str, object] = {
    "monitor.title": "Checkout is down",
    "monitor.state": "open",
    "monitor.level": "Critical",
    "monitor.since": 1772442930123,
    "monitor.text": "no answer",
    "monitor.id": "m-1",
    "env": "prod-eu1",
    "app.namespace": "shop",
    "app.kind": "Deployment",
    "app.name": "checkout",
    "owner": {"team": "payments"},
}


def read(value: object, mapping: AlertMapping = OURS) -> Decoded:
    return decode(record(json.dumps(value).encode()), mapping=mapping)


@pytest.mark.parametrize("place", ["attributes", "resource", "body", "json", "list", "cloudevent", "text"])
def test_a_senders_own_names_are_found_wherever_it_puts_them(place: str) -> None:
    event = {"id": "1", "source": "/x", "specversion": "1.0", "type": "alert", "data": SENT}
    documents: dict[str, Any] = {
        "attributes": logs(log(SENT)),
        "resource": logs(log({}), resource=SENT),
        "body": logs(log({}, body=any_value(SENT))),
        "text": logs(log({}, body={"stringValue": json.dumps(SENT)})),
        "json": SENT,
        "list": [SENT],
        "cloudevent": event,
    }
    found = read(documents[place])
    assert found.refused == ()
    (alert,) = found.alerts
    assert (alert.name, alert.status, alert.severity, alert.cluster) == (
        "Checkout is down",
        "firing",
        "critical",
        "prod-eu1",
    )
    assert str(alert.starts_at) == "2026-03-02 09:15:30.123000+00:00"
    assert alert.annotations["summary"] == "no answer"
    assert (alert.labels["team"], alert.labels["sender_fingerprint"]) == ("payments", "m-1")
    assert str(labelled_target(alert)) == "Deployment shop/checkout"


def test_without_the_mapping_the_same_is_no_alert() -> None:
    assert read(logs(log(SENT)), NO_MAPPING).alerts == ()
    (refused,) = read(SENT, NO_MAPPING).refused
    assert "if it is an alert, name its fields in alerts.mapping" in refused.detail


def test_the_first_name_that_is_there_counts_and_known_names_still_do() -> None:
    closed = {**SENT, "monitor.state": None, "monitor.status": "Closed"}
    assert [alert.status for alert in read(closed).alerts] == ["resolved"]
    assert [alert.name for alert in read({"alertname": "A", "status": "firing"}).alerts] == ["A"]


def test_a_state_that_nobody_mapped_is_refused_by_its_word() -> None:
    (refused,) = read({**SENT, "monitor.state": "ACKED"}).refused
    assert refused.detail == "monitor.state is 'acked', neither firing nor resolved"
    (missing,) = read({key: value for key, value in SENT.items() if key != "monitor.state"}).refused
    assert missing.detail == "has no monitor.state"


def test_a_kind_that_can_be_no_target_is_named_and_is_none() -> None:
    (alert,) = read({**SENT, "app.kind": "Ingress"}).alerts
    assert (alert.labels["object_kind"], labelled_target(alert)) == ("Ingress", None)


def test_a_senders_fingerprint_tells_apart_only_what_names_no_object() -> None:
    def who(sent: dict[str, object]) -> str:
        (alert,) = read(sent).alerts
        return identity(alert, labelled_target(alert), "prod-eu1")

    other = {"monitor.id": "m-2"}
    assert who(SENT) == who({**SENT, **other})
    objectless = {**SENT, "app.kind": ""}
    assert who(objectless) != who({**objectless, **other})


def test_a_vendors_own_payload_can_be_mapped() -> None:
    datadog = AlertMapping.model_validate(
        {
            "name": "title",
            "status": "alert_transition",
            "firing": ["Triggered", "Re-Triggered"],
            "resolved": "Recovered",
            "starts_at": "date",
            "fingerprint": "alert_cycle_key",
        }
    )
    (alert,) = decode(record(example("datadog_webhook.json")), mapping=datadog).alerts
    assert (alert.status, alert.labels["sender_fingerprint"]) == ("firing", "6123456789012345678")
    assert labelled_target(alert) is None
    aws = AlertMapping.model_validate(
        {"name": "detail.alarmName", "status": "detail.state.value", "firing": "ALARM", "resolved": "OK"}
    )
    (alarm,) = decode(record(example("cloudwatch_eventbridge.json")), mapping=aws).alerts
    assert alarm.name == "eks-prod-eu1-checkout-restarts"


@pytest.mark.parametrize(
    ("mapping", "said"),
    [
        ({"kind": "k"}, "alerts.mapping: `kind` and `object` go together"),
        ({"firing": "OPEN", "resolved": ["open"]}, "alerts.mapping: 'open' can't mean both firing and resolved"),
        ({"labels": {"cluster": "c"}}, "alerts.mapping: `labels` can't set 'cluster': use the key `cluster`"),
        ({"labels": {"9x": "c"}}, "alerts.mapping: '9x' in `labels` is no label's name"),
        ({"name": ".".join("x" * 20)}, "alerts.mapping: 'x.x"),
        ({"name": ""}, "alerts.mapping.name.0: String should have at least 1 character"),
        ({"nmae": "x"}, "alerts.mapping.nmae: unknown key; did you mean 'name'?"),
    ],
)
def test_a_mapping_that_can_not_be_followed_is_refused_when_it_is_loaded(
    tmp_path: Path, mapping: dict[str, Any], said: str
) -> None:
    path = tmp_path / "handrail.yaml"
    topics = [{"name": "alerts"}]
    config = {"cluster": {"name": "c"}, "kafka": {"bootstrap": ["k:1"], "topics": topics}, "policy": "p.yaml"}
    path.write_text(yaml.safe_dump({**config, "alerts": {"mapping": mapping}}))
    with pytest.raises(BadConfig) as wrong:
        load_config(path)
    assert str(wrong.value).replace(f"{path}: ", "").startswith(said)


def test_a_topics_own_mapping_stands_instead_of_the_global_one() -> None:
    topic = TopicConfig.model_validate({"name": "a", "mapping": {"name": "x"}})
    config = Config.model_validate(
        {
            "cluster": {"name": "c"},
            "kafka": {"bootstrap": ["k:1"], "topics": [topic.model_dump(), {"name": "b"}]},
            "policy": "p.yaml",
            "alerts": {"mapping": {"name": "y"}},
        }
    )
    assert [config.mapping_of(each).name for each in config.kafka.topics] == [("x",), ("y",)]
