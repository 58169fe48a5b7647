"""What a dead letter says, whether it may go back, and as what: without a broker."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import pytest

from handrail.adapters.kafka.letters import _headers, record_of
from handrail.core.letters import Consent, first_at, letters_of, newest, note_of, sent_back, why_not
from handrail.decode import decode
from handrail.model.letter import Letter, Place
from handrail.model.reason import Reason
from handrail.model.record import Record, Undecoded
from tests.decode.records import fired, webhook

AT = datetime(2026, 3, 2, 9, 45, tzinfo=UTC)
LATER = AT + timedelta(hours=2)
WHY = Undecoded(reason=Reason.MALFORMED, detail="no JSON", index=3)


def buried(record: Record, offset: int = 15, at: datetime = LATER) -> Record:
    """As it lies in the dead-letter topic."""
    headers = tuple(_headers(record, WHY))
    return record.model_copy(
        update={"topic": "dead", "partition": 0, "offset": offset, "headers": headers, "at": at},
    )


def a_record(**over: object) -> Record:
    record = Record(topic="alerts", partition=2, offset=7, key=b"k", value=b"{", headers=(("a", b"1"),), at=AT)
    return record.model_copy(update=over)


def a_letter(**over: object) -> Letter:
    (letter,) = letters_of([buried(a_record())])
    return letter.model_copy(update=over)


def test_a_letter_says_where_it_came_from_when_and_why() -> None:
    letter = a_letter()
    assert letter.place == Place("dead", 0, 15)
    assert letter.came_from == Place("alerts", 2, 7)
    assert (letter.at, letter.buried_at) == (AT, LATER)
    assert (letter.reason, letter.detail, letter.part) == ("MALFORMED", "no JSON", 3)
    assert (letter.key, letter.value, letter.headers) == (b"k", b"{", (("a", b"1"),))


def test_what_goes_back_is_the_record_itself_as_old_as_it_was() -> None:
    letter = a_letter()
    message = sent_back(letter)
    assert (message.topic, message.partition, message.key, message.value) == ("alerts", None, b"k", b"{")
    assert dict(message.headers) == {"a": b"1", "handrail.replayed": b"dead/0/15", "handrail.at": b"1772444700000"}
    assert message.timestamp_ms == 1772444700000


def test_a_topic_that_stamps_records_itself_makes_no_old_alert_new() -> None:
    message = sent_back(a_letter())

    class Stamped:
        topic, partition, offset, key, value = "alerts", 0, 99, message.key, message.value
        headers = message.headers
        timestamp = int(LATER.timestamp() * 1000)

    assert record_of(Stamped).at == AT


@pytest.mark.parametrize("at", [b"", b"-1", b"later", b"9" * 30, b"9" * 16, "²".encode()])
def test_a_time_that_is_forged_makes_no_record_younger_and_breaks_nothing(at: bytes) -> None:
    record = a_record(headers=(("handrail.replayed", b"dead/0/1"), ("handrail.at", at)))
    assert first_at(record) == AT
    assert first_at(a_record(headers=(("handrail.at", b"0"),))) == AT, "only what was a letter says its own age"


def test_what_was_sent_back_is_decoded_as_any_other_and_a_letter_or_a_note_is_not() -> None:
    value = json.dumps(webhook(fired())).encode()
    letter = a_letter(value=value)
    back = a_record(value=value, headers=tuple(sent_back(letter).headers))
    assert [alert.name for alert in decode(back).alerts] == ["KubeDeploymentReplicasMismatch"]
    for own in (buried(a_record(value=value)), a_record(value=value, headers=tuple(note_of(letter).headers))):
        assert decode(own).alerts == ()
        assert [part.what for part in decode(own).passed] == ["a dead letter of Handrail's own"]


def test_a_note_says_that_its_letter_was_sent_back_and_is_no_letter() -> None:
    first, second = buried(a_record(), 15), buried(a_record(), 16)
    (letter, _) = letters_of([first, second])
    note = note_of(letter)
    assert (note.topic, note.partition) == ("dead", 0)
    noted = Record(topic="dead", partition=0, offset=17, value=b"", headers=tuple(note.headers), at=LATER)
    sent, other = letters_of([first, second, noted])
    assert sent.replayed_at == (LATER,)
    assert other.replayed_at == ()


def test_a_letter_that_came_back_and_was_buried_again_is_a_letter_of_its_own() -> None:
    back = a_record(headers=tuple(sent_back(a_letter()).headers))
    (again,) = letters_of([buried(back, 20)])
    assert (again.returned, again.replayed_at, again.reason) == ("dead/0/15", (), "MALFORMED")
    assert again.headers == (("a", b"1"),)
    assert dict(sent_back(again).headers)["handrail.replayed"] == b"dead/0/20"


@pytest.mark.parametrize(
    ("letter", "consent", "decodes", "why"),
    [
        (a_letter(), Consent(), True, ""),
        (a_letter(), Consent(), False, "it still is no alert"),
        (a_letter(), Consent(force=True), False, ""),
        (a_letter(replayed_at=(LATER,)), Consent(), True, "it was sent back at 2026-03-02 11:45:00 UTC; --again"),
        (a_letter(replayed_at=(LATER,)), Consent(force=True), True, "it was sent back"),
        (a_letter(replayed_at=(LATER,)), Consent(again=True), True, ""),
        (a_letter(bytes_left_out=9), Consent(force=True, again=True), False, "its 9 bytes were left where it came"),
        (a_letter(came_from=Place("secrets", 0, 1)), Consent(force=True, again=True), True, "it came from secrets"),
        (a_letter(came_from=Place("http:/v1/logs", 0, 1)), Consent(force=True), True, "it was posted by HTTP"),
        (a_letter(came_from=None), Consent(force=True, again=True), True, "its headers do not say"),
    ],
)
def test_a_letter_goes_back_only_for_a_reason_and_only_to_where_alerts_are_read(
    letter: Letter, consent: Consent, decodes: bool, why: str
) -> None:
    assert why_not(letter, ("alerts",), decodes, consent).startswith(why)
    assert bool(why_not(letter, ("alerts",), decodes, consent)) == bool(why)


def test_the_newest_come_oldest_first_and_by_reason() -> None:
    letters = [a_letter(place=Place("dead", n % 2, n), buried_at=AT + timedelta(seconds=n)) for n in range(6)]
    letters[4] = letters[4].model_copy(update={"reason": "EMPTY"})
    assert [one.place.offset for one in newest(letters, 3)] == [3, 4, 5]
    assert [one.place.offset for one in newest(letters, 2, "MALFORMED")] == [3, 5]
    assert newest([], 5) == []


def test_headers_of_foreign_records_are_no_letters() -> None:
    assert letters_of([a_record(), a_record(headers=())]) == []
