"""One probe for each thing that the configuration names. Each imports what it needs, so a broken one breaks alone.

Raises whatever the adapters raise (HandrailError): the caller makes a line of it.
"""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import handrail_remediations
from handrail.adapters.settings import Secret, load_policy
from handrail.check.doors import intake
from handrail.check.lines import Line, fail, ok
from handrail.check.windows import windows
from handrail.core.allow import unknown_steps
from handrail.core.words import plural
from handrail.model.config import (
    AlertmanagerConfig,
    Config,
    PlannerMode,
    PrometheusConfig,
    SlackConfig,
    StoreConfig,
    WebhookConfig,
)
from handrail.model.policy import Mode, Policy
from handrail.model.step import Step

MODEL_SECONDS = 8.0
FREE_BYTES = 100 * 1024 * 1024

LIBRARIES = {
    "kafka": "handrail.adapters.kafka",
    "cluster": "handrail.check.rights",
    "slack": "handrail.adapters.slack",
    "model": "anthropic",
    "prometheus": "handrail.adapters.prometheus",
    "alertmanager": "handrail.adapters.alertmanager",
}

Probe = Callable[[Config], Coroutine[Any, Any, list[Line]]]


def configured(config: Config) -> dict[str, Probe]:
    """What is configured; nothing else is proved or mentioned."""
    found: dict[str, Probe] = {"policy": _policy, "kafka": _kafka, "cluster": _cluster, "store": _store}
    if config.slack is not None:
        found["slack"] = partial(_slack, config.slack)
    if config.planner.mode is not PlannerMode.RUNBOOK:
        found["model"] = _model
    if config.webhook is not None:
        found["webhook"] = partial(_webhook, config.webhook)
    if config.prometheus is not None:
        found["prometheus"] = partial(_prometheus, config.prometheus)
    if config.alertmanager is not None:
        found["alertmanager"] = partial(_alertmanager, config.alertmanager)
    if config.intake.http.tokens:
        found["intake"] = intake
    return found


def load(names: Iterable[str]) -> None:
    """What these probes need, ahead of them: it takes seconds on a busy machine, which nobody else is to blame for.

    What can't be loaded is left to the probe to say.
    """
    for name in names:
        if name in LIBRARIES:
            with suppress(ImportError):
                import_module(LIBRARIES[name])


async def _policy(config: Config) -> list[Line]:
    policy, steps = load_policy(Path(config.policy)), handrail_remediations.catalogue()
    unknown = unknown_steps(policy, steps)
    if unknown:
        known = ", ".join(sorted(steps))
        return [fail("policy", f"names unknown steps: {', '.join(unknown)}; known are {known}")]
    lines = [
        ok("policy", f"{config.policy} is valid, {plural(len(policy.rules), 'rule')}"),
        *windows(policy, datetime.now(UTC)),
    ]
    problem = _nobody(policy, steps, slack=config.slack is not None)
    return [*lines, fail("approvers", problem)] if problem else lines


def _nobody(policy: Policy, steps: Mapping[str, Step], *, slack: bool) -> str:
    """Why nobody could approve, where a rule asks (what is disruptive always asks)."""
    modes = [(step, mode) for rule in policy.rules for step, mode in rule.steps.items()]
    asks = any(mode is Mode.ASK or (mode is Mode.ACT and steps[step].risk.always_asked) for step, mode in modes)
    who = policy.approvers
    if not asks or who.users or who.groups or who.local or (who.slack_users and slack):
        return ""
    if who.slack_users:
        return "nobody could approve: approvers names Slack members only, but slack is not configured; name users too"
    return "nobody could approve: a rule asks and approvers is empty; name slack_users, users or groups in the policy"


async def _kafka(config: Config) -> list[Line]:
    from aiokafka.errors import KafkaError

    from handrail.adapters.kafka import explain, lacking, options, topics, unreachable

    problem = await unreachable(options(config.kafka))
    if problem:
        return [fail("kafka", problem)]
    try:
        found, rights = await asyncio.gather(topics(config.kafka), lacking(config.kafka))
    except (KafkaError, OSError) as error:
        return [fail("kafka", explain(error))]
    answers = ok("kafka", f"{', '.join(config.kafka.bootstrap)} answers, group {config.kafka.group}")
    written = config.kafka.written
    return [answers, *(_topic(name, partitions, rights, written) for name, partitions in found.items())]


def _topic(name: str, partitions: int, rights: Mapping[str, str] | None, written: Sequence[str]) -> Line:
    """`rights` are those that are missing, None where the brokers can't say. `written`: dead letters, then events."""
    if not partitions:
        return fail(f"topic {name}", "does not exist, or this user may not see it; create it or grant READ")
    right = rights.get(name) if rights is not None else None
    if right is not None:
        why = "no alert could be taken in"
        if name in written:
            letters = "what can't be decoded could not be put there, and intake would stand still"
            why = letters if name == written[0] else "no event could be published"
        return fail(f"topic {name}", f"this user lacks {right} on it ({why}); grant {right}")
    can = "written to" if name in written else "read"
    sure = f"can be {can}" if rights is not None else f"whether it can be {can}, brokers before 2.3 don't say"
    return ok(f"topic {name}", f"{partitions} partitions, {sure}")


async def _cluster(config: Config) -> list[Line]:
    from handrail.adapters.kubernetes import Cluster, KubernetesRights
    from handrail.adapters.kubernetes.wire import Request
    from handrail.check.rights import rights

    async with Cluster(config.kubernetes) as cluster:
        version = await cluster.request(Request("GET", "/version"))
        if not version.ok:
            return [fail("cluster", f"answers {version.status} to /version: {version.sentence}")]
        reached = ok("cluster", f"{config.cluster.name}, Kubernetes {version.body.get('gitVersion', '?')}")
        policy = load_policy(Path(config.policy))
        found = await rights(KubernetesRights(cluster), policy, handrail_remediations.catalogue(), config.kubernetes)
    return [reached, *found]


async def _store(config: Config) -> list[Line]:
    """By looking only: the database may be a running daemon's."""
    from handrail.adapters.store.home import parsed
    from handrail.adapters.store.sqlite import database_file

    if parsed(config.store.url).get_backend_name() != "sqlite":
        return await _server(config.store)
    file = database_file(config.store.url)
    if not os.access(file.parent, os.W_OK | os.X_OK):
        return [fail("store", f"{file.parent} can't be written to; give it to the user that runs the daemon")]
    if file.exists() and not os.access(file, os.R_OK | os.W_OK):
        return [fail("store", f"{file} can't be written to; give it to the user that runs the daemon")]
    free = shutil.disk_usage(file.parent).free
    if free < FREE_BYTES:
        return [fail("store", f"only {free // 2**20} MiB are free in {file.parent}; make room")]
    return [ok("store", f"{file.parent} is writable, {free // 2**20} MiB free")]


async def _server(store: StoreConfig) -> list[Line]:
    from handrail.adapters.store.configured import access_of
    from handrail.adapters.store.schema import SCHEMA
    from handrail.adapters.store.upgrading import look_at_store

    found, too_much = await look_at_store(store.url, access_of(store))
    found.refuse_if_newer()
    if found.is_old:
        return [fail("store", f"has schema {found.schema}, this build needs {SCHEMA}; run `handrail store upgrade`")]
    lines = [ok("store", f"answers, schema {found.schema}")]
    return [*lines, fail("store", too_much)] if too_much else lines


async def _slack(slack: SlackConfig, _config: Config) -> list[Line]:
    from handrail.adapters.slack import SlackDesk

    bot, app = Secret(slack.bot_token, "slack.bot_token"), Secret(slack.app_token, "slack.app_token")
    problems = await SlackDesk(slack, bot, app).check()
    if problems:
        return [fail("slack", problem) for problem in problems]
    return [ok("slack", f"both tokens and channel {slack.channel}")]


async def _model(config: Config) -> list[Line]:
    """One call that costs nothing: the model's own description."""
    model = config.planner.model
    if model.key is None:
        return [fail("model", f"planner.mode is {config.planner.mode} but planner.model.key names no key; add it")]
    import anthropic

    from handrail.adapters.claude.client import API

    key = Secret(model.key, "planner.model.key")()
    client = anthropic.AsyncAnthropic(api_key=key, base_url=model.base_url or API, max_retries=0, timeout=MODEL_SECONDS)
    try:
        async with client:
            await client.models.retrieve(model.name)
    except anthropic.AuthenticationError:
        return [fail("model", "the key is refused; put a valid one where planner.model.key points to")]
    except anthropic.NotFoundError:
        return [fail("model", f"there is no model {model.name!r} for this key; correct planner.model.name")]
    except anthropic.APIError as error:
        return [fail("model", f"{type(error).__name__}: {str(error)[:300]}".replace(key, "***"))]
    return [ok("model", f"{model.name} can be used")]


async def _webhook(webhook: WebhookConfig, _config: Config) -> list[Line]:
    url = urlsplit(Secret(webhook.url, "webhook.url")())
    if url.scheme not in ("http", "https") or not url.hostname:
        return [fail("webhook", "webhook.url: what it points to is no http(s) address; put the whole address there")]
    return [ok("webhook", f"an address at {url.hostname} (nothing was sent)")]


async def _prometheus(prometheus: PrometheusConfig, _config: Config) -> list[Line]:
    from handrail.adapters.prometheus import Prometheus

    now = datetime.now(UTC)
    await Prometheus(prometheus).range("vector(1)", now - timedelta(minutes=1), now, 60)
    return [ok("prometheus", f"{prometheus.url} answers queries")]


async def _alertmanager(alertmanager: AlertmanagerConfig, _config: Config) -> list[Line]:
    from handrail.adapters.alertmanager import Alertmanager

    version = await Alertmanager(alertmanager).version()
    return [ok("alertmanager", f"{alertmanager.url} says what is silenced, version {version or 'unknown'}")]
