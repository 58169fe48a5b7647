"""What is written quickly is, byte for byte, what the careful way writes: else an old chain could not be verified."""

from __future__ import annotations

from datetime import UTC, datetime

from hypothesis import given, settings
from hypothesis import strategies as st

from handrail.adapters.store.chain import entry_hash, seal
from handrail.adapters.store.journal import said_event
from handrail.adapters.store.texts import said_of
from handrail.model.alert import Alert
from handrail.model.events import AlertAttached, Opened
from handrail.model.value import canonical, digest
from tests.factories import a_finding, a_source

words = st.dictionaries(st.text(max_size=9), st.text(max_size=9), max_size=5)
times = st.datetimes(datetime(1971, 1, 1), datetime(9999, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001 -- bounds are naive
alerts = st.builds(
    Alert,
    name=st.text(),
    status=st.sampled_from(["firing", "resolved"]),
    labels=words,
    annotations=words,
    starts_at=st.none() | times,
    ends_at=st.none() | times,
    seen_at=times,
    wire=st.just("test"),
    message=st.text(alphabet=st.characters(categories=["Cs", "Cc", "Lu"])),
)


@settings(deadline=None)
@given(alerts)
def test_the_text_of_an_event_with_any_alert_is_the_canonical_one(alert: Alert) -> None:
    attached = AlertAttached(alert=alert, source=a_source(), closed="resolved")
    opened = Opened(
        alert=alert, source=a_source(), target=None, findings=(a_finding(),), identity=alert.name, episode="e"
    )
    assert said_of(attached) == said_event(attached)
    assert said_of(opened) == said_event(opened)


@given(words, st.text(alphabet=st.characters(exclude_categories=["Cs"])), st.integers(1, 3))
def test_a_seal_is_the_hash_of_the_canonical_entry(data: dict[str, str], actor: str, version: int) -> None:
    covered = {"previous": "p", "incident": "i", "seq": 7, "at": "t", "kind": "k", "data": data, "actor": actor}
    if version != 1:
        covered["version"] = version
    found = seal("p", ("i", 7, "t"), ("k", canonical(data)), actor, version)
    assert found == digest(covered) == entry_hash("p", ("i", 7, "t"), ("k", data), actor, version)
