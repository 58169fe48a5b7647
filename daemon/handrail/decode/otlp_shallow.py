"""OTLP log batches of which only the outside is unpacked: resources and attributes stay bytes until they are wanted.

Monitoring says nearly the same again and again: what is known by its bytes need not be unpacked, and most attributes
of an alert (its name, its cluster, its severity) are those of another. The messages are OpenTelemetry's own, taken from
its descriptors, but for the fields that are kept as bytes, which is what an embedded message is on the wire.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any

from google.protobuf.descriptor_pb2 import FieldDescriptorProto, FileDescriptorProto
from google.protobuf.descriptor_pool import Default
from google.protobuf.message import DecodeError
from google.protobuf.message_factory import GetMessageClass
from opentelemetry.proto.common.v1 import common_pb2
from opentelemetry.proto.logs.v1 import logs_pb2
from opentelemetry.proto.resource.v1.resource_pb2 import Resource

from handrail.decode.otlp_values import MAX_ATTRIBUTES, MAX_DEPTH, proto_attributes, proto_value
from handrail.model.remembered import Remembered

Attributes = dict[str, object]

SHORT = 128
"""Bytes of an attribute that is worth remembering: names and short texts."""

KNOWN = 4096
"""So many of them, which is two megabytes at most."""

_PACKAGE = "handrail.shallow"

_resources: Remembered[bytes, Attributes] = Remembered(1024 * 1024)


def _message(file: Any, name: str, *kept_as_bytes: str) -> Any:
    """`name` of `file` as a class of our own; fields are named as Message.field. One that may come once may then come
    several times, so that nothing is lost of what would be merged."""
    ours = FileDescriptorProto()
    file.DESCRIPTOR.CopyToProto(ours)
    theirs, ours.package, ours.name = f".{ours.package}.", _PACKAGE, f"handrail/shallow/{ours.name}"
    for message in ours.message_type:
        for field in message.field:
            if field.type_name:
                field.type_name = field.type_name.replace(theirs, f".{_PACKAGE}.")
            if f"{message.name}.{field.name}" in kept_as_bytes:
                field.ClearField("type_name")
                field.type, field.label = FieldDescriptorProto.TYPE_BYTES, FieldDescriptorProto.LABEL_REPEATED
    pool = Default()
    pool.AddSerializedFile(ours.SerializeToString())
    return GetMessageClass(pool.FindMessageTypeByName(f"{_PACKAGE}.{name}"))


_LogsData = _message(logs_pb2, "LogsData", "ResourceLogs.resource", "LogRecord.attributes")
_KeyValue = _message(common_pb2, "KeyValue", "KeyValueList.values")


def batch_of(value: bytes) -> Any:
    """A LogsData whose resources and attributes are bytes; None where it is none. What is wrong within those bytes
    shows only where they are read."""
    try:
        return _LogsData.FromString(value)
    except DecodeError:
        return None


def resource_of(said: bytes) -> Attributes:
    """The attributes of a resource (of its pieces joined, which merges them, as it should). A collector sends
    thousands of batches of one. Raises DecodeError."""
    known = _resources.get(said)
    if known is None:
        known = proto_attributes(Resource.FromString(said).attributes)
        _resources.keep(said, known, 1024 + 4 * len(said))
    return known


def attributes_of(pairs: Iterable[bytes]) -> Attributes:
    """As `proto_attributes`. Raises DecodeError."""
    return dict([_attribute(pair) if len(pair) <= SHORT else _long(pair) for pair in list(pairs)[:MAX_ATTRIBUTES]])


def _reader(depth: int) -> Callable[[bytes], tuple[str, object]]:
    """Of single attributes at that depth. What they hold is nobody's to change: others get it too."""

    def read(pair: bytes) -> tuple[str, object]:
        said = common_pb2.KeyValue.FromString(pair)
        value = said.value
        return said.key, value.string_value or proto_value(value, depth)

    return read


_any, _any_within = _reader(MAX_DEPTH), _reader(MAX_DEPTH - 1)
_attribute, _within = lru_cache(KNOWN)(_any), lru_cache(KNOWN)(_any_within)


def _long(pair: bytes) -> tuple[str, object]:
    """A map of labels is read by what its own attributes are known for."""
    said = _KeyValue.FromString(pair)
    if said.value.WhichOneof("value") != "kvlist_value":
        return _any(pair)
    inner = list(said.value.kvlist_value.values)[:MAX_ATTRIBUTES]
    return said.key, dict([_within(one) if len(one) <= SHORT else _any_within(one) for one in inner])
