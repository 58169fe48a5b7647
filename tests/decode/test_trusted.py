"""What is made without validation is what validation would have made."""

from __future__ import annotations

from handrail.model.alert import Alert, made
from handrail.model.target import LabelledTarget
from handrail.model.trusted import trusted
from tests.decode.records import AT

FIELDS = {"name": "A", "status": "firing", "labels": {"alertname": "A"}, "seen_at": AT, "wire": "alertmanager"}


def test_a_trusted_value_equals_a_validated_one_and_is_written_alike() -> None:
    one = made(name="A", status="firing", labels={"alertname": "A"}, seen_at=AT, wire="alertmanager")
    other = Alert.model_validate(FIELDS)
    assert one == other
    assert one.model_dump_json() == other.model_dump_json()
    assert repr(one) == repr(other)
    assert Alert.model_validate_json(one.model_dump_json()) == one


def test_a_copy_of_a_trusted_value_changes_nothing_of_the_next_one() -> None:
    make = trusted(LabelledTarget)
    one = make(kind="Pod", namespace="shop", name="api-0")
    copy = one.model_copy(update={"uid": "0b7d4f2e"})
    assert (one.uid, copy.uid) == ("", "0b7d4f2e")
    assert make(kind="Pod", namespace="shop", name="api-0") == one
    assert make(kind="Pod", namespace="shop", name="api-0").model_fields_set == set(LabelledTarget.model_fields)
