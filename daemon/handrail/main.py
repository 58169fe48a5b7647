"""Wiring only: configuration to adapters, and one TaskGroup that holds every task. Decides nothing."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import secrets
import signal
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

import structlog
from aiohttp import web

import handrail_detectors
import handrail_remediations
from handrail.adapters.alertmanager import Alertmanager
from handrail.adapters.claude import Claude
from handrail.adapters.gathering import ClusterGatherer
from handrail.adapters.http import Behind, HttpIntake, HttpServer, Posted, Senders, Together, Who
from handrail.adapters.kafka import EventTopic, KafkaIntake
from handrail.adapters.kubernetes import Cluster, KubernetesEyes, KubernetesHands, KubernetesRights
from handrail.adapters.prometheus import Prometheus
from handrail.adapters.publishing import Publisher
from handrail.adapters.runbooks import RunbookPlanner
from handrail.adapters.settings import PolicyFile, Secret
from handrail.adapters.slack import ClickStream, SlackDesk
from handrail.adapters.store import Store
from handrail.adapters.store.configured import access_of
from handrail.adapters.telemetry import Gauges, Tally
from handrail.adapters.telling import Teller
from handrail.adapters.telling.away import StoreWatch, say_at_start
from handrail.adapters.telling.duty import DeskOnDuty, HookOnDuty, JournalsOnDuty
from handrail.adapters.webhook import Webhook
from handrail.effects.desk import PeoplesDesk
from handrail.effects.tools import Tools
from handrail.loop import Clock, Reconciler
from handrail.model.config import Config, PlannerMode
from handrail.model.errors import HandrailError
from handrail.model.record import Received, Record
from handrail.reconciler import contained, on_records, on_requests

log = structlog.get_logger("main")

YOUNG = 5_000
"""Objects that came to be, less those that went, before the collector looks at these: about a megabyte."""

STOP_SECONDS = 12.0
"""How long an ending task may take after SIGTERM; Kubernetes sends SIGKILL after 30 s, we promise 20."""


@dataclass(frozen=True, slots=True)
class Daemon:
    """Everything that runs. `address` is where HTTP listens."""

    tools: Tools
    intake: KafkaIntake
    reconciler: Reconciler
    teller: Teller
    watch: StoreWatch
    clicks: ClickStream | None
    publisher: Publisher | None
    address: str


async def run(config: Config) -> None:
    """Until SIGTERM or SIGINT, then ends cleanly whatever is away. Raises BadConfig before anything is started."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for name in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(name, stop.set)
    async with daemon(config) as started:
        settle()
        await serve(started, stop)
    log.info("ended")


def settle() -> None:
    """What was loaded by now stays for good: the garbage collector need not look at it again and again, nor look for
    cycles after every few hundred objects, since an alert alone is made of dozens that all stay until it is durable."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(YOUNG)


async def serve(started: Daemon, stop: asyncio.Event) -> None:
    """All tasks in one group: one that fails ends the others, and the process with it."""
    work: list[Callable[[], Awaitable[None]]] = [started.intake.run, started.reconciler.run]
    work += [started.teller.run, started.watch.run]
    if started.clicks is not None:
        work.append(started.clicks.run)
    work.append(Clock(started.tools).run)
    if started.publisher is not None:
        work.append(started.publisher.run)
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(_named(one), name=one.__qualname__) for one in work]
        log.info("running", http=started.address, cluster=started.tools.config.cluster.name)
        await stop.wait()
        log.info("stopping")
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks, timeout=STOP_SECONDS)


async def _named(work: Callable[[], Awaitable[None]]) -> None:
    await work()


@asynccontextmanager
async def daemon(config: Config) -> AsyncIterator[Daemon]:
    """Opens what has to be closed again, in order; nothing runs yet but the HTTP server."""
    async with contextlib.AsyncExitStack() as stack:
        policy = PolicyFile(Path(config.policy))
        hook = _webhook(config)
        store = await _store(config, hook)
        stack.push_async_callback(store.close)
        cluster = Cluster(config.kubernetes)
        stack.push_async_callback(cluster.close)
        await cluster.open()
        tally = Tally()
        store.listen_to(tally)
        tools = replace(_tools(config, store, cluster, policy), signs=tally)
        desk = PeoplesDesk(tools)
        intake = KafkaIntake(config.kafka, lambda records: on_records(tools, records), time.monotonic)
        gauges = Gauges(store, intake.pulse, time.monotonic, policy.problem, tally)
        http = HttpServer(config.http, desk, Who(KubernetesRights(cluster)), gauges.ready, gauges.text)
        http.alive_unless(gauges.stuck)
        http.take_alerts(_doors(config, tools, intake))
        address = await http.start()
        stack.push_async_callback(http.stop)
        slack, clicks = _slack(config, desk)
        watch = StoreWatch(store.answers, hook, store.replica, utc_now)
        teller = _teller(store, slack, hook)
        publisher = _publisher(config, store)
        gauges.publisher = publisher
        yield Daemon(tools, intake, Reconciler(tools), teller, watch, clicks, publisher, address)


async def _store(config: Config, hook: Webhook | None) -> Store:
    """Where a server's can't be used the second channel hears of it: a pod that only starts again is silence. A file's
    is for whoever starts the process to see. Raises BadConfig, Transient."""
    try:
        return await Store.open(
            config.store.url,
            cluster=config.cluster.name,
            accept_unlabelled=config.cluster.accept_unlabelled,
            access=access_of(config.store),
        )
    except HandrailError as unusable:
        if config.store.url.startswith("postgresql"):
            await say_at_start(hook, str(unusable))
        raise


def _doors(config: Config, tools: Tools, intake: KafkaIntake) -> list[web.RouteDef]:
    """Of alerts by HTTP; none where no token is configured."""
    tokens = config.intake.http.tokens
    senders = Senders([Secret(ref, f"intake.http.tokens.{number}") for number, ref in enumerate(tokens)])

    async def take(posted: Sequence[Posted]) -> Sequence[Received]:
        now = tools.now()
        records = [Record(topic=door.name, partition=0, offset=0, value=body, at=now) for door, body in posted]
        return await on_requests(tools, records)

    doors = HttpIntake(config.intake.http, senders, Behind(Together(take), intake.bury, tools.signs))
    return doors.routes() if tokens else []


def _tools(config: Config, store: Store, cluster: Cluster, policy: PolicyFile) -> Tools:
    eyes = KubernetesEyes(cluster)
    metrics = Prometheus(config.prometheus) if config.prometheus else None
    silences = Alertmanager(config.alertmanager) if config.alertmanager else None
    return Tools(
        store=store,
        eyes=eyes,
        hands=KubernetesHands(cluster),
        gatherer=ClusterGatherer(eyes, metrics),
        runbooks=RunbookPlanner(),
        model=_model(config),
        steps=handrail_remediations.catalogue(),
        detectors=handrail_detectors.catalogue(),
        policy=policy,
        config=config,
        now=utc_now,
        new_id=lambda: secrets.token_urlsafe(16),
        silences=silences,
        rights=KubernetesRights(cluster),
        listens_since=utc_now(),
    )


def _model(config: Config) -> Claude | None:
    """Without a key the runbooks work alone; asking for the model alone without one is refused by the planner."""
    key = config.planner.model.key
    if config.planner.mode is PlannerMode.RUNBOOK or key is None:
        return None
    return Claude(config.planner.model, Secret(key, "planner.model.key"))


def _slack(config: Config, desk: PeoplesDesk) -> tuple[SlackDesk | None, ClickStream | None]:
    if config.slack is None:
        return None, None
    bot = Secret(config.slack.bot_token, "slack.bot_token")
    app = Secret(config.slack.app_token, "slack.app_token")
    slack = SlackDesk(config.slack, bot, app)
    return slack, ClickStream(slack, app, desk.click, on_command=desk.command)


def _teller(store: Store, slack: SlackDesk | None, hook: Webhook | None) -> Teller:
    """Of several replicas the one that has the duty."""
    desk = DeskOnDuty(slack, store) if slack else None
    second = HookOnDuty(hook, store) if hook else None
    return Teller(JournalsOnDuty(store, store), desk, second, utc_now, contained)


def _publisher(config: Config, store: Store) -> Publisher | None:
    """Of the journals' events, where a topic is named for them."""
    topic = config.kafka.events_topic
    if not topic:
        return None
    outbox = store.outbox(topic)
    return Publisher(config.cluster.name, outbox, EventTopic(config.kafka), contained, time.monotonic)


def _webhook(config: Config) -> Webhook | None:
    return Webhook(Secret(config.webhook.url, "webhook.url")) if config.webhook else None


def utc_now() -> datetime:
    return datetime.now(UTC)
