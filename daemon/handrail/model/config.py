"""The configuration as one frozen tree. Secrets are never in it, only where to find them."""

from __future__ import annotations

from enum import StrEnum
from typing import Literal

from pydantic import Field, model_validator

from handrail.model.mapping import NO_MAPPING, AlertMapping
from handrail.model.value import Value, canonical


class SecretRef(Value):
    """A file (re-read when it changes) or an environment variable; exactly one of the two."""

    file: str = ""
    env: str = ""

    @model_validator(mode="after")
    def _one_of_two(self) -> SecretRef:
        if bool(self.file) == bool(self.env):
            raise ValueError("name exactly one of `file` and `env`")
        return self


class ClusterConfig(Value):
    """`name` must equal the cluster label of the alerts that are meant for this cluster."""

    name: str = Field(min_length=1)
    accept_unlabelled: bool = True


class TopicConfig(Value):
    """`signal` is that of OTLP, whose protobuf form doesn't name it; `mapping` stands instead of `alerts.mapping`."""

    name: str = Field(min_length=1)
    signal: Literal["logs", "metrics", "traces", "auto"] = "auto"
    encoding: Literal["otlp_proto", "otlp_json", "alertmanager", "grafana", "cloudevents", "raw", "auto"] = "auto"
    mapping: AlertMapping | None = None


class ExpectedSignal(Value):
    """An alert that should come again within `minutes`, with at least these labels. Its absence opens an incident."""

    name: str = Field(min_length=1)
    labels: dict[str, str] = {}
    minutes: int = Field(ge=2, le=14 * 24 * 60)

    @property
    def key(self) -> str:
        """What its sightings are kept under."""
        return canonical([self.name, self.labels])


class WatchdogConfig(Value):
    """The alert that always fires. `minutes` must be longer than Alertmanager's `repeat_interval` for it; when it does
    not come for so long, every write is refused until it does."""

    name: str = Field(default="Watchdog", min_length=1)
    minutes: int = Field(ge=2, le=24 * 60)


class AlertsConfig(Value):
    """`mapping` names a sender's own attributes; Kubernetes events that last occurred longer ago are passed over
    (a collector sends all of them again when it restarts). `expected` and `watchdog` are
    signals whose absence counts."""

    mapping: AlertMapping = NO_MAPPING
    event_age_minutes: int = Field(default=15, ge=1, le=24 * 60)
    expected: tuple[ExpectedSignal, ...] = ()
    watchdog: WatchdogConfig | None = None

    @property
    def awaited(self) -> tuple[ExpectedSignal, ...]:
        """All of them, the watchdog first."""
        dog = self.watchdog
        return (*((ExpectedSignal(name=dog.name, minutes=dog.minutes),) if dog else ()), *self.expected)


class SaslConfig(Value):
    mechanism: Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"]
    username: SecretRef
    password: SecretRef


class KafkaSecurity(Value):
    protocol: Literal["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"] = "PLAINTEXT"
    ca_file: str = ""
    cert_file: str = ""
    key_file: str = ""
    sasl: SaslConfig | None = None

    @model_validator(mode="after")
    def _sasl_where_needed(self) -> KafkaSecurity:
        if self.protocol.startswith("SASL") != (self.sasl is not None):
            raise ValueError("`sasl` goes with SASL_PLAINTEXT and SASL_SSL, and only with them")
        return self


MEMBER_NAME = r"^[A-Za-z0-9._-]{0,249}$"
"""What the brokers take as `group.instance.id`."""


class KafkaConfig(Value):
    """`group_instance_id` makes membership stable across restarts; each replica needs its own. `group_instance_env`
    names the environment variable that holds it instead: HOSTNAME is the pod's name.

    `events_topic` is where the events of all journals are published for others to read; "" publishes nothing.
    """

    bootstrap: tuple[str, ...] = Field(min_length=1)
    topics: tuple[TopicConfig, ...] = Field(min_length=1)
    group: str = "handrail"
    group_instance_id: str = Field(default="", pattern=MEMBER_NAME)
    group_instance_env: str = ""
    dead_letter_topic: str = "handrail.dead-letters"
    events_topic: str = ""
    offset_reset: Literal["earliest", "latest"] = "earliest"
    security: KafkaSecurity = KafkaSecurity()

    @model_validator(mode="after")
    def _one_name(self) -> KafkaConfig:
        if self.group_instance_id and self.group_instance_env:
            raise ValueError("name at most one of `group_instance_id` and `group_instance_env`")
        return self

    @model_validator(mode="after")
    def _own_output_is_no_input(self) -> KafkaConfig:
        read = [topic.name for topic in self.topics]
        if len({*read, *self.written}) < len({*read}) + len(self.written):
            raise ValueError("`dead_letter_topic`, `events_topic` and the topics that are read must differ")
        return self

    @property
    def written(self) -> tuple[str, ...]:
        """Topics that are written to."""
        return (self.dead_letter_topic, self.events_topic) if self.events_topic else (self.dead_letter_topic,)


class KubernetesConfig(Value):
    """`in-cluster` reads the pod's own token, again as it rotates; `kubeconfig` is for everywhere else."""

    mode: Literal["in-cluster", "kubeconfig"] = "in-cluster"
    kubeconfig: str = ""
    context: str = ""
    own_namespace: str = "handrail"
    hands_enabled: bool = True
    request_seconds: float = Field(default=10, gt=0, le=60)


class PlannerMode(StrEnum):
    RUNBOOK = "runbook"
    MODEL = "model"
    BOTH = "both"


class ModelConfig(Value):
    """Limits hold per incident and are checked before each call (issue 3: two calls, 20,000 input tokens)."""

    key: SecretRef | None = None
    name: str = "claude-sonnet-5-5"
    base_url: str = ""
    max_calls: int = Field(default=2, ge=1, le=10)
    max_input_tokens: int = Field(default=20_000, ge=1000, le=200_000)
    max_output_tokens: int = Field(default=2_000, ge=256, le=16_000)
    request_seconds: float = Field(default=90, gt=0, le=600)


class PlannerConfig(Value):
    """`runbook`: never a model. `model`: never a runbook. `both`: the model only where no runbook is sure."""

    mode: PlannerMode = PlannerMode.RUNBOOK
    model: ModelConfig = ModelConfig()


class SlackConfig(Value):
    """`base_url` only for tests and proxies."""

    channel: str = Field(min_length=1)
    bot_token: SecretRef
    app_token: SecretRef
    base_url: str = "https://slack.com/api/"


class WebhookConfig(Value):
    """The second channel, where there is no Slack or Slack has failed for 30 seconds.

    It is told once of each question, hand-over and repair, when nobody can tell whether a write was applied, and of
    what concerns the daemon itself (its store, a storm, a damaged journal). `url` is a secret: who has it can post.
    """

    url: SecretRef


class PrometheusConfig(Value):
    url: str
    token: SecretRef | None = None
    seconds: float = Field(default=5, gt=0, le=30)


class AlertmanagerConfig(Value):
    """Asked whether an alert is silenced or inhibited, before anything is done about it."""

    url: str
    token: SecretRef | None = None
    seconds: float = Field(default=5, gt=0, le=30)


class StoreConfig(Value):
    """`url`: sqlite:////path.db for one process, postgresql://user@host/database for replicas; never with a password.

    `lease_seconds` is how long a replica that falls silent keeps its incidents (PostgreSQL alone).
    """

    url: str = "sqlite:////var/lib/handrail/handrail.db"
    password: SecretRef | None = None
    lease_seconds: float = Field(default=30, ge=15, le=300)


class HttpConfig(Value):
    """`socket` serves the owner of the process (peer credentials); `listen` serves probes, metrics and the API.

    `intake` is an address of its own for alerts; "" takes them at `listen`.
    """

    listen: str = "127.0.0.1:8080"
    socket: str = ""
    intake: str = ""


class HttpIntakeConfig(Value):
    """Alerts by HTTP: without a token its routes do not exist. Any of them opens: two, while one replaces the other.

    `most_bytes` bounds a body, inflated too. `at_once` bodies are held at the same time, `waiting` more may wait;
    each is answered within `seconds`.
    """

    tokens: tuple[SecretRef, ...] = Field(default=(), max_length=20)
    most_bytes: int = Field(default=4 * 1024 * 1024, ge=1024, le=4 * 1024 * 1024)
    at_once: int = Field(default=16, ge=1, le=64)
    waiting: int = Field(default=100, ge=0, le=1000)
    seconds: float = Field(default=10, gt=0, le=60)


class IntakeConfig(Value):
    http: HttpIntakeConfig = HttpIntakeConfig()


class LogConfig(Value):
    level: Literal["debug", "info", "warning", "error"] = "info"
    format: Literal["json", "text"] = "json"


class Config(Value):
    cluster: ClusterConfig
    kafka: KafkaConfig
    alerts: AlertsConfig = AlertsConfig()
    kubernetes: KubernetesConfig = KubernetesConfig()
    store: StoreConfig = StoreConfig()
    planner: PlannerConfig = PlannerConfig()
    slack: SlackConfig | None = None
    webhook: WebhookConfig | None = None
    prometheus: PrometheusConfig | None = None
    alertmanager: AlertmanagerConfig | None = None
    policy: str = Field(min_length=1)
    http: HttpConfig = HttpConfig()
    intake: IntakeConfig = IntakeConfig()
    log: LogConfig = LogConfig()
    poll_seconds: float = Field(default=2, gt=0, le=30)

    @model_validator(mode="after")
    def _no_listener_for_nobody(self) -> Config:
        if self.http.intake and not self.intake.http.tokens:
            raise ValueError("`http.intake` listens for alerts, but `intake.http.tokens` names no token for senders")
        return self

    def mapping_of(self, topic: TopicConfig) -> AlertMapping:
        """The topic's own mapping, else the one for all."""
        return self.alerts.mapping if topic.mapping is None else topic.mapping
