"""Apache Kafka, one node without ZooKeeper, on loopback.

Decides: the listeners, that topics appear when first used, and that everything has one replica. Never holds
the topics' content back from a restart: `stop()` and `start()` keep the data, `close()` removes it.
"""

from __future__ import annotations

import base64
import os
import secrets
import subprocess
import uuid
from collections.abc import Mapping
from pathlib import Path

from tests.servers import pins
from tests.servers.certificates import Authority
from tests.servers.process import Process, StartError, drop_work_dir, free_port, new_work_dir

UP = "Kafka Server started"
SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule required;"
SCRAMS = ("SCRAM-SHA-256", "SCRAM-SHA-512")
PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule required"
SECURE = ("SSL", "SASL_PLAINTEXT", "SASL_SSL")

SETTINGS = """\
process.roles=broker,controller
node.id=1
inter.broker.listener.name=PLAINTEXT
controller.listener.names=CONTROLLER
offsets.topic.replication.factor=1
offsets.topic.num.partitions=4
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
transaction.state.log.num.partitions=4
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
share.coordinator.state.topic.num.partitions=1
group.initial.rebalance.delay.ms=0
auto.create.topics.enable=true
num.partitions=1
broker.session.timeout.ms=3000
broker.heartbeat.interval.ms=500
"""

LOGGING = f"""\
status=error
appender.out.type=Console
appender.out.name=out
appender.out.layout.type=PatternLayout
appender.out.layout.pattern=%d %p %c{{1}}: %m%n
rootLogger.level=warn
rootLogger.appenderRef.out.ref=out
logger.up.name=kafka.server.KafkaRaftServer
logger.up.level=info
# {UP} is what readiness is read from.
"""


class KafkaServer:
    """A broker. `listeners` maps each protocol to its bootstrap address; `bootstrap` is the plain one.

    With `secure=True` there are also SSL (client certificates are accepted, not demanded), SASL_PLAINTEXT and
    SASL_SSL with both kinds of SCRAM for `user` and `password`, and PLAIN on SASL_SSL only; clients trust `ca_file`.
    """

    def __init__(self, *, secure: bool = False, settings: Mapping[str, str] | None = None) -> None:
        self._libs = pins.program("kafka")
        self.work = new_work_dir("kafka")
        protocols = ("PLAINTEXT", *SECURE) if secure else ("PLAINTEXT",)
        self.listeners = {protocol: f"127.0.0.1:{free_port()}" for protocol in protocols}
        self.bootstrap = self.listeners["PLAINTEXT"]
        self.user, self.password = "handrail", secrets.token_hex(12)
        self._secure = secure
        self._config = self.work / "server.properties"
        self._config.write_text(self._settings(settings or {}), encoding="utf-8")
        (self.work / "log4j2.properties").write_text(LOGGING, encoding="utf-8")
        self.process = Process("kafka", self._java("kafka.Kafka", str(self._config)), self.work, self._is_up)
        self._format()

    @property
    def ca_file(self) -> Path:
        return self.work / "tls" / "ca.pem"

    @property
    def client_certificate(self) -> tuple[Path, Path]:
        """Certificate and key of a client that the SSL listener knows."""
        return self.work / "tls" / "client.pem", self.work / "tls" / "client.key"

    def start(self) -> KafkaServer:
        self._log_before = self.process.log.stat().st_size if self.process.log.exists() else 0
        self.process.start()
        return self

    def stop(self) -> None:
        self.process.stop()

    def close(self) -> None:
        self.stop()
        drop_work_dir(self.work)

    def _is_up(self) -> bool:
        # An open port is not enough: until this line the broker is fenced and topics cannot be created.
        with self.process.log.open("rb") as log:
            log.seek(self._log_before)
            return UP.encode() in log.read()

    def _java(self, main: str, *arguments: str) -> list[str]:
        flags = ["-Xms96m", "-Xmx384m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto"]
        logging = f"-Dlog4j2.configurationFile={self.work / 'log4j2.properties'}"
        return ["java", *flags, logging, "-cp", f"{self._libs}/*", main, *arguments]

    def _format(self) -> None:
        cluster = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
        command = ["format", "--cluster-id", cluster.replace("-", "_"), "--config", str(self._config)]
        if self._secure:
            for kind in SCRAMS:
                command += ["--add-scram", f"{kind}=[name={self.user},password={self.password}]"]
        done = subprocess.run(
            self._java("kafka.tools.StorageTool", *command), capture_output=True, text=True, check=False
        )
        if done.returncode != 0:
            raise StartError(f"kafka: the data folder could not be formatted:\n{done.stdout}{done.stderr}")

    def _settings(self, more: Mapping[str, str]) -> str:
        controller = f"127.0.0.1:{free_port()}"
        own = {name: f"{name}://{address}" for name, address in self.listeners.items()}
        settings = {
            "log.dirs": str(self.work / "data"),
            "controller.quorum.voters": f"1@{controller}",
            "listeners": ",".join([*own.values(), f"CONTROLLER://{controller}"]),
            "advertised.listeners": ",".join(own.values()),
            "listener.security.protocol.map": ",".join(["CONTROLLER:PLAINTEXT", *(f"{name}:{name}" for name in own)]),
        }
        if self._secure:
            settings |= self._security()
        return SETTINGS + "".join(f"{key}={value}\n" for key, value in {**settings, **more}.items())

    def _security(self) -> dict[str, str]:
        authority = Authority(self.work / "tls")
        certificate, key = authority.server("broker")
        authority.client("client")
        both = self.work / "tls" / "broker-both.pem"
        both.write_bytes(key.read_bytes() + certificate.read_bytes() + authority.ca_file.read_bytes())
        return {
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": str(both),
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": str(authority.ca_file),
            "listener.name.ssl.ssl.client.auth": "requested",
            "sasl.enabled.mechanisms": ",".join(SCRAMS),
            "listener.name.sasl_ssl.sasl.enabled.mechanisms": ",".join([*SCRAMS, "PLAIN"]),
            "listener.name.sasl_ssl.plain.sasl.jaas.config": f'{PLAIN} user_{self.user}="{self.password}";',
            **{
                f"listener.name.{listener}.{kind.lower()}.sasl.jaas.config": SCRAM
                for listener in ("sasl_plaintext", "sasl_ssl")
                for kind in SCRAMS
            },
        }


class ExistingKafka:
    """The broker named by HANDRAIL_TEST_KAFKA: somebody else's, so never started or stopped here."""

    def __init__(self) -> None:
        self.bootstrap = os.environ["HANDRAIL_TEST_KAFKA"]
        self.listeners = {"PLAINTEXT": self.bootstrap}

    def close(self) -> None:
        """Nothing: it is not ours."""
