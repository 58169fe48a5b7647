"""The ways in, and what is said when one is shut: TLS, SASL, wrong words, missing topics, missing rights."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Literal

import pytest
from aiokafka import AIOKafkaConsumer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._acl import AclBinding, AclOperation, AclPermissionType
from confluent_kafka.admin._resource import ResourcePatternType, ResourceType

from handrail.adapters.kafka import lacking, options, unreachable
from handrail.model.config import KafkaConfig, KafkaSecurity, SaslConfig, SecretRef
from tests.kafka.support import Taker, config, fresh, intake, make_intake_topics, make_topics, running, send, until
from tests.servers.certificates import Authority
from tests.servers.fixtures import running as serving
from tests.servers.kafka import KafkaServer

pytestmark = pytest.mark.server

Mechanism = Literal["SCRAM-SHA-256", "SCRAM-SHA-512", "PLAIN"]


def security(
    server: KafkaServer, protocol: str, folder: Path, mechanism: Mechanism = "SCRAM-SHA-512", **more: Any
) -> KafkaSecurity:
    """As the operator would write it: secrets in files."""
    (folder / "user").write_text(server.user)
    (folder / "password").write_text(more.get("password", server.password) + "\n")
    sasl = SaslConfig(
        mechanism=mechanism,
        username=SecretRef(file=str(folder / "user")),
        password=SecretRef(file=str(folder / "password")),
    )
    tls = "SSL" in protocol
    return KafkaSecurity.model_validate(
        {
            "protocol": protocol,
            "ca_file": str(more.get("ca", server.ca_file)) if tls else "",
            "sasl": sasl if protocol.startswith("SASL") else None,
        }
    )


@pytest.mark.parametrize("protocol", ["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"])
async def test_a_record_comes_through_every_kind_of_listener(
    kafka_secure_server: KafkaServer, tmp_path: Path, protocol: str
) -> None:
    server, topic, taker = kafka_secure_server, fresh("alerts"), Taker()
    await make_intake_topics(server.bootstrap, topic)
    await send(server.bootstrap, topic, [b"one"])
    settings = config(server.listeners[protocol], topic, security=security(server, protocol, tmp_path))
    assert await unreachable(options(settings)) == ""
    async with running(intake(settings, taker)):
        await until(lambda: taker.values == [b"one"])


@pytest.mark.parametrize("mechanism", ["SCRAM-SHA-256", "SCRAM-SHA-512", "PLAIN"])
async def test_a_record_comes_with_every_mechanism_over_tls_and_a_wrong_password_is_refused(
    kafka_secure_server: KafkaServer, tmp_path: Path, mechanism: Mechanism
) -> None:
    server, topic, taker = kafka_secure_server, fresh("alerts"), Taker()
    await make_intake_topics(server.bootstrap, topic)
    await send(server.bootstrap, topic, [b"one"])
    address = server.listeners["SASL_SSL"]
    wrong = config(address, topic, security=security(server, "SASL_SSL", tmp_path, mechanism, password="hunter2"))
    said = await unreachable(options(wrong))
    assert "refuses this user name or password: see kafka.security.sasl" in said
    assert "hunter2" not in said
    right = config(address, topic, security=security(server, "SASL_SSL", tmp_path, mechanism))
    async with running(intake(right, taker)):
        await until(lambda: taker.values == [b"one"])


async def test_a_mechanism_that_the_broker_does_not_offer_is_said(
    kafka_secure_server: KafkaServer, tmp_path: Path
) -> None:
    server = kafka_secure_server
    plain = security(server, "SASL_PLAINTEXT", tmp_path, "PLAIN")
    said = await _says(config(server.listeners["SASL_PLAINTEXT"], fresh("alerts"), security=plain))
    assert "does not offer this mechanism: see kafka.security.sasl.mechanism" in said


async def test_a_client_certificate_is_sent(kafka_secure_server: KafkaServer) -> None:
    server, topic, taker = kafka_secure_server, fresh("alerts"), Taker()
    await make_intake_topics(server.bootstrap, topic)
    await send(server.bootstrap, topic, [b"one"])
    certificate, key = server.client_certificate
    tls = KafkaSecurity(protocol="SSL", ca_file=str(server.ca_file), cert_file=str(certificate), key_file=str(key))
    async with running(intake(config(server.listeners["SSL"], topic, security=tls), taker)):
        await until(lambda: taker.values == [b"one"])


async def test_a_certificate_of_another_authority_is_refused_and_named(
    kafka_secure_server: KafkaServer, tmp_path: Path
) -> None:
    server = kafka_secure_server
    stranger = Authority(tmp_path / "stranger")
    tls = security(server, "SSL", tmp_path, ca=stranger.ca_file)
    said = await _says(config(server.listeners["SSL"], fresh("alerts"), security=tls))
    assert "not trusted: see kafka.security.ca_file" in said


async def test_a_wrong_password_is_said_and_a_right_one_is_read_without_a_restart(
    kafka_secure_server: KafkaServer, tmp_path: Path
) -> None:
    server, topic, taker = kafka_secure_server, fresh("alerts"), Taker()
    await make_intake_topics(server.bootstrap, topic)
    await send(server.bootstrap, topic, [b"one"])
    wrong = security(server, "SASL_SSL", tmp_path, password="hunter2")
    one = intake(config(server.listeners["SASL_SSL"], topic, security=wrong), taker)
    async with running(one):
        await until(lambda: one.pulse.last_error)
        assert "refuses this user name or password" in one.pulse.last_error
        assert "hunter2" not in one.pulse.last_error
        (tmp_path / "password").write_text(server.password)
        await until(lambda: taker.values == [b"one"])
        await until(lambda: not one.pulse.last_error)


async def test_a_missing_secret_is_said_and_waited_for(kafka_secure_server: KafkaServer, tmp_path: Path) -> None:
    server, topic, taker = kafka_secure_server, fresh("alerts"), Taker()
    await make_intake_topics(server.bootstrap, topic)
    await send(server.bootstrap, topic, [b"one"])
    settings = config(server.listeners["SASL_PLAINTEXT"], topic, security=security(server, "SASL_PLAINTEXT", tmp_path))
    (tmp_path / "password").unlink()
    one = intake(settings, taker)
    async with running(one):
        await until(lambda: "kafka.security.sasl.password" in one.pulse.last_error)
        (tmp_path / "password").write_text(server.password)
        await until(lambda: taker.values == [b"one"])


@pytest.mark.parametrize(("protocol", "listener"), [("PLAINTEXT", "SSL"), ("SSL", "PLAINTEXT")])
async def test_the_wrong_protocol_for_a_listener_is_said(
    kafka_secure_server: KafkaServer, tmp_path: Path, protocol: str, listener: str
) -> None:
    server = kafka_secure_server
    settings = config(server.listeners[listener], fresh("alerts"), security=security(server, protocol, tmp_path))
    assert "does kafka.security.protocol fit the listener?" in await _says(settings)


async def test_an_address_where_nobody_listens_is_said() -> None:
    said = await _says(config("127.0.0.1:9", fresh("alerts")))
    assert "127.0.0.1:9: " in said
    assert "refused" in said.lower() or "Connect call failed" in said


async def test_a_name_that_does_not_resolve_is_said() -> None:
    assert "kafka.invalid:9092: " in await _says(config("kafka.invalid:9092", fresh("alerts")))


@pytest.fixture(scope="module")
def strict_server() -> Iterator[KafkaServer]:
    """Makes no topics by itself, and lets the SASL user do only what ACLs grant; the plain listener may do all."""
    settings = {
        "auto.create.topics.enable": "false",
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:ANONYMOUS",
    }
    with serving(lambda: KafkaServer(secure=True, settings=settings).start()) as server:
        yield server


async def grant(server: KafkaServer, kind: ResourceType, name: str, operation: AclOperation) -> None:
    user, any_host = f"User:{server.user}", "*"
    rule = AclBinding(kind, name, ResourcePatternType.LITERAL, user, any_host, operation, AclPermissionType.ALLOW)
    admin = AdminClient({"bootstrap.servers": server.bootstrap})
    await asyncio.to_thread(admin.create_acls([rule])[rule].result, 20)


async def test_a_topic_that_does_not_exist_is_named_and_waited_for(strict_server: KafkaServer) -> None:
    topic, taker = fresh("alerts"), Taker()
    one = intake(config(strict_server.bootstrap, topic), taker)
    async with running(one):
        await until(lambda: f"topic {topic!r} does not exist" in one.pulse.last_error)
        await make_topics(strict_server.bootstrap, topic)
        await until(lambda: f"topic '{topic}.dead' does not exist" in one.pulse.last_error)
        await make_topics(strict_server.bootstrap, f"{topic}.dead")
        await send(strict_server.bootstrap, topic, [b"one"])
        await until(lambda: taker.values == [b"one"])


async def test_rights_that_are_missing_are_said_and_found_once_granted(
    strict_server: KafkaServer, tmp_path: Path
) -> None:
    topic, taker = fresh("alerts"), Taker()
    await make_intake_topics(strict_server.bootstrap, topic)
    await send(strict_server.bootstrap, topic, [b"one"])
    sasl = security(strict_server, "SASL_PLAINTEXT", tmp_path)
    settings = config(strict_server.listeners["SASL_PLAINTEXT"], topic, security=sasl)
    one = intake(settings, taker)
    async with running(one):
        await until(lambda: "this user may not use this topic" in one.pulse.last_error)
        await grant(strict_server, ResourceType.TOPIC, topic, AclOperation.READ)
        await grant(strict_server, ResourceType.TOPIC, settings.dead_letter_topic, AclOperation.WRITE)
        await until(lambda: "may not read as this group" in one.pulse.last_error)
        await grant(strict_server, ResourceType.GROUP, settings.group, AclOperation.READ)
        await until(lambda: taker.values == [b"one"])


async def test_rights_are_known_without_reading_or_writing_anything(strict_server: KafkaServer, tmp_path: Path) -> None:
    topic = fresh("alerts")
    await make_intake_topics(strict_server.bootstrap, topic)
    sasl = security(strict_server, "SASL_PLAINTEXT", tmp_path)
    settings = config(strict_server.listeners["SASL_PLAINTEXT"], topic, security=sasl)
    dead = settings.dead_letter_topic
    assert await lacking(settings) == {}, "what can't be seen is not judged"
    await grant(strict_server, ResourceType.TOPIC, topic, AclOperation.DESCRIBE)
    await grant(strict_server, ResourceType.TOPIC, dead, AclOperation.READ)
    await _until_lacking(settings, {topic: "READ", dead: "WRITE"})
    await grant(strict_server, ResourceType.TOPIC, topic, AclOperation.READ)
    await grant(strict_server, ResourceType.TOPIC, dead, AclOperation.WRITE)
    await _until_lacking(settings, {})
    plain = config(strict_server.bootstrap, topic)
    assert await lacking(plain) == {}, "who may do all lacks nothing"
    async with watching(strict_server.bootstrap, topic, dead) as ends:
        assert ends == {topic: 0, dead: 0}


async def _until_lacking(settings: KafkaConfig, wanted: dict[str, str]) -> None:
    """Rights that were granted are known to the brokers within moments."""
    for _ in range(100):
        if (found := await lacking(settings)) == wanted:
            return
        await asyncio.sleep(0.1)
    raise AssertionError(f"{found} instead of {wanted}")


@asynccontextmanager
async def watching(bootstrap: str, *names: str) -> AsyncIterator[dict[str, int]]:
    """Where each topic ends: how much was ever written to it."""
    consumer = AIOKafkaConsumer(bootstrap_servers=bootstrap)
    await consumer.start()
    try:
        ends = await consumer.end_offsets([TopicPartition(name, 0) for name in names])
        yield {partition.topic: end for partition, end in ends.items()}
    finally:
        await consumer.stop()


async def _says(settings: object) -> str:
    one = intake(settings, Taker())  # type: ignore[arg-type]
    async with running(one):
        await until(lambda: one.pulse.last_error)
        return one.pulse.last_error
