"""What an error of the brokers means, in one sentence that says what to do. Pure."""

from __future__ import annotations

import ssl
from typing import Any

from aiokafka import errors

MOST = 300
"""Characters of one sentence: an error may quote what a broker sent."""

HINTS: tuple[tuple[Any, str], ...] = (
    (
        errors.UnsupportedSaslMechanismError,
        "the broker does not offer this mechanism: see kafka.security.sasl.mechanism",
    ),
    (errors.AuthenticationFailedError, "the broker refuses this user name or password: see kafka.security.sasl"),
    (errors.SaslAuthenticationFailed, "the broker refuses this user name or password: see kafka.security.sasl"),
    (errors.GroupAuthorizationFailedError, "this user may not read as this group: grant READ on kafka.group"),
    (errors.TopicAuthorizationFailedError, "this user may not use this topic: grant READ (WRITE for dead letters)"),
    (
        errors.TransactionalIdAuthorizationFailed,
        "this user may not use this transactional id: grant WRITE and DESCRIBE on transactional ids that begin with"
        " handrail.dlq",
    ),
    (errors.ClusterAuthorizationFailedError, "this user may not do this on the cluster: see the brokers' ACLs"),
    (errors.UnknownTopicOrPartitionError, "the topic does not exist: create it, or correct its name"),
    (errors.CorruptRecordException, "a batch of records is damaged on the broker: its checksum is wrong"),
    (errors.UnsupportedCodecError, "the records are compressed in a way that this installation can't read (cramjam)"),
    (errors.RecordTooLargeError, "a record is larger than what is fetched at once (1 MiB)"),
    (UnicodeDecodeError, "a record's header name is not UTF-8, which no client library accepts"),
    (ssl.SSLCertVerificationError, "the broker's certificate is not trusted: see kafka.security.ca_file"),
    (ssl.SSLError, "no TLS with this broker: does kafka.security.protocol fit the listener?"),
    (ConnectionResetError, "the broker hung up: does kafka.security.protocol fit the listener?"),
    (TimeoutError, "no answer in time"),
)
"""The first that fits is said; the error's own words follow."""


def explain(error: BaseException) -> str:
    """One bounded sentence; the error's class stays in it, for searching."""
    hint = next((text for kind, text in HINTS if isinstance(error, kind)), "")
    own, name = str(error), type(error).__name__
    own = own if own.startswith(name) else f"{name}: {own}".rstrip(": ")
    if isinstance(error, errors.KafkaConnectionError) and "closed" in str(error):
        hint = "the broker hung up: does kafka.security.protocol fit the listener?"
    return one_line(f"{hint} ({own})" if hint else own)


def one_line(text: str) -> str:
    return " ".join(text.split())[:MOST]
