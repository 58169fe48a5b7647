"""`handrail stop|start|status`: the daemon's own switch, or with --cluster the stops that the cluster itself holds."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

import click

from handrail.cli.client import Client, flat, tell, with_client
from handrail.cli.cluster_stop import InCluster, with_cluster
from handrail.cli.ending import JSON, show_json
from handrail.cli.named import named
from handrail.cli.shapes import STATUS

R = TypeVar("R")


def with_reach(command: Callable[..., R]) -> Callable[..., R]:
    """Adds --in-namespace and --step, and passes what was named as `reach`: {} for everything. Under `with_cluster`."""

    @functools.wraps(command)
    def wrapped(*args: Any, in_namespace: str, step: str, **options: Any) -> R:
        reach = {key: name for key, name in (("namespace", in_namespace), ("step", step)) if name}
        if len(reach) > 1:
            raise click.UsageError("--in-namespace and --step are two stops; press them one after the other")
        in_cluster: InCluster = options["in_cluster"]
        if reach and in_cluster.wanted:
            raise click.UsageError("--in-namespace and --step are the daemon's own; with --cluster it is --namespace")
        return command(*args, reach=reach, **options)

    in_namespace = named("--in-namespace", metavar="NS", help="What is about this namespace alone.")
    step = named("--step", metavar="NAME", help="This step alone, wherever it would act.")
    return in_namespace(step(wrapped))


@click.command()
@click.option("--reason", required=True, help="Why; everybody who looks will read it.")
@JSON
@with_cluster
@with_reach
@with_client
def stop(client: Client, in_cluster: InCluster, reach: dict[str, str], reason: str, as_json: bool) -> None:
    """Stop every write from now on.

    Or those about one namespace, or those of one step. What is in flight is recorded; nothing is cancelled or
    undone. With --cluster the API server itself refuses the daemon's writes: it works with your own kubeconfig,
    whatever state the daemon and its database are in.

    \b
    Example:  handrail stop --reason "release freeze until Monday"
              handrail stop --in-namespace shop --reason "migration of the shop"
              handrail stop --step rollout_undo --reason "it chose a wrong revision"
              handrail stop --cluster --namespace shop --reason "migration of the shop"
              handrail stop --cluster --reason "it misbehaves"
    """
    if in_cluster.wanted:
        in_cluster.stop(reason, as_json=as_json)
        return
    tell(client.post("/api/v1/stop", {"why": reason, **reach}), as_json=as_json)


@click.command()
@JSON
@with_cluster
@with_reach
@with_client
def start(client: Client, in_cluster: InCluster, reach: dict[str, str], as_json: bool) -> None:
    """Let incidents go on where they stood.

    Without an option it lifts the stop of everything; `handrail status` names the others. What the cluster held is
    given back there with --cluster first: the daemon that met it waits for `handrail start` all the same.

    \b
    Example:  handrail start
              handrail start --in-namespace shop
              handrail start --cluster
              handrail start --cluster --namespace shop
    """
    if in_cluster.wanted:
        in_cluster.start(as_json=as_json)
        return
    tell(client.post("/api/v1/start", reach), as_json=as_json)


@click.command()
@JSON
@with_cluster
@with_client
def status(client: Client, in_cluster: InCluster, as_json: bool) -> None:
    """Say what is stopped, and what is open.

    Every stop with who, why and since when, and how many incidents are open. With --cluster: which stops the
    cluster holds.

    \b
    Example:  handrail status
              handrail status --cluster
    """
    if in_cluster.wanted:
        in_cluster.status(as_json=as_json)
        return
    found = client.get("/api/v1/status", STATUS)
    if as_json:
        show_json(found)
        return
    for line in found["lines"]:
        click.echo(flat(line))
