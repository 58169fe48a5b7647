"""Batches of log records whose attributes stay bytes until they are wanted: read as if they had been unpacked."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, ArrayValue, KeyValue, KeyValueList
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord, LogsData, ResourceLogs, ScopeLogs
from opentelemetry.proto.resource.v1.resource_pb2 import Resource

from handrail.decode import decode, otlp_logs, otlp_shallow
from handrail.decode.parts import Origin, collect
from handrail.model.reason import Reason
from handrail.model.record import Decoded
from tests.decode.quiet import QUIETLY
from tests.decode.records import AT, record


def plain(value: bytes) -> Decoded:
    """As by the messages of OpenTelemetry themselves, with nothing remembered."""
    return collect(otlp_logs.from_protobuf(LogsData.FromString(value), Origin(at=AT, wire="otlp_proto")))


texts = st.text(max_size=140)
values = st.recursive(
    st.one_of(
        st.builds(AnyValue, string_value=texts),
        st.builds(AnyValue, int_value=st.integers(-(2**63), 2**63 - 1)),
        st.builds(AnyValue, bool_value=st.booleans()),
        st.builds(AnyValue),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(lambda found: AnyValue(array_value=ArrayValue(values=found))),
        st.lists(st.builds(KeyValue, key=texts, value=inner), max_size=4).map(
            lambda found: AnyValue(kvlist_value=KeyValueList(values=found))
        ),
    ),
)
named = st.sampled_from(["alert.name", "alert.state", "alert.labels", "alert.annotations", "k8s.event.uid", "cluster"])
pairs = st.lists(st.builds(KeyValue, key=st.one_of(named, texts), value=values), max_size=8)
labelled = st.dictionaries(st.sampled_from(["alertname", "namespace", "pod", "deployment"]), texts).map(
    lambda words: KeyValue(
        key="alert.labels",
        value=AnyValue(
            kvlist_value=KeyValueList(
                values=[KeyValue(key=key, value=AnyValue(string_value=text)) for key, text in words.items()]
            )
        ),
    )
)
entries = st.builds(
    LogRecord,
    time_unix_nano=st.sampled_from([1, 2**63]),
    event_name=st.sampled_from(["", "alert.firing"]),
    body=values,
    attributes=st.tuples(pairs, labelled).map(lambda both: [*both[0], both[1]]),
)
batches = st.builds(
    LogsData,
    resource_logs=st.lists(
        st.builds(
            ResourceLogs,
            resource=st.builds(Resource, attributes=pairs),
            scope_logs=st.lists(
                st.builds(ScopeLogs, log_records=st.lists(entries, min_size=1, max_size=3)), min_size=1, max_size=2
            ),
        ),
        min_size=1,
        max_size=2,
    ),
)


@QUIETLY
@given(batches)
def test_a_batch_is_read_from_its_bytes_as_by_its_messages(batch: LogsData) -> None:
    value = batch.SerializeToString()
    expected = plain(value)
    for _ in range(3):  # kept the second time, known the third
        assert (
            collect(otlp_logs.from_shallow(otlp_shallow.batch_of(value), Origin(at=AT, wire="otlp_proto"))) == expected
        )


def test_a_resource_in_two_pieces_is_one() -> None:
    """Of an embedded message that comes twice, protobuf merges the pieces."""
    first, last = (
        Resource(attributes=[KeyValue(key=key, value=AnyValue(string_value=text))])
        for key, text in (("k8s.cluster.name", "prod-eu1"), ("k8s.namespace.name", "shop"))
    )
    scope = ScopeLogs(log_records=[LogRecord(time_unix_nano=1, event_name="alert.firing", attributes=[named_a()])])
    pieces = [ResourceLogs(resource=first), ResourceLogs(resource=last, scope_logs=[scope])]
    body = b"".join(piece.SerializeToString() for piece in pieces)
    value = b"\n" + bytes([len(body)]) + body
    (alert,) = decode(record(value)).alerts
    assert (alert.cluster, alert.labels["namespace"]) == ("prod-eu1", "shop")
    assert decode(record(value)) == plain(value)


def named_a() -> KeyValue:
    return KeyValue(key="alert.name", value=AnyValue(string_value="A"))


def with_a_broken_one() -> bytes:
    good = LogRecord(time_unix_nano=1, event_name="alert.firing", attributes=[named_a()])
    broken = LogRecord.FromString(good.SerializeToString())
    broken.attributes[0].key = "broken-name"
    batch = LogsData(resource_logs=[ResourceLogs(scope_logs=[ScopeLogs(log_records=[good, broken, good])])])
    return batch.SerializeToString().replace(b"broken-name", b"broken\xff\xffame")


def test_a_record_whose_attributes_are_broken_costs_no_other() -> None:
    found = decode(record(with_a_broken_one()))
    assert [alert.name for alert in found.alerts] == ["A", "A"]
    assert [(part.reason, part.index) for part in found.refused] == [(Reason.MALFORMED, 1)]


def test_a_record_whose_attributes_are_broken_is_counted_with_the_others() -> None:
    """What an OTLP sender is told of a batch is how many of these were of no use."""
    assert otlp_logs.entries_of(with_a_broken_one(), "otlp_proto") == 3
    assert otlp_logs.entries_of(b"", "otlp_proto") == 0
    assert otlp_logs.entries_of(b"no protobuf at all", "otlp_proto") is None


def test_what_is_remembered_of_attributes_is_short_and_few() -> None:
    for number in range(2 * otlp_shallow.KNOWN):
        pair = KeyValue(key="alert.name", value=AnyValue(string_value=f"{number}"))
        otlp_shallow.attributes_of([pair.SerializeToString()])
    before = otlp_shallow._attribute.cache_info()
    assert before.currsize == otlp_shallow.KNOWN
    long = KeyValue(key="alert.name", value=AnyValue(string_value="x" * otlp_shallow.SHORT))
    assert otlp_shallow.attributes_of([long.SerializeToString()]) == {"alert.name": "x" * otlp_shallow.SHORT}
    assert otlp_shallow._attribute.cache_info() == before
