"""`handrail stop|start|status`: the daemon's own switch, or with --cluster the stops that the cluster itself holds."""

from __future__ import annotations

import json

import click

from handrail.cli.client import Client, with_client
from handrail.cli.cluster_stop import InCluster, with_cluster
from handrail.core.words import plural


@click.command()
@click.option("--reason", required=True, help="Why; everybody who looks will read it.")
@with_cluster
@with_client
def stop(client: Client, in_cluster: InCluster, reason: str) -> None:
    """Stop every write from now on.

    What is in flight is recorded; nothing is cancelled or undone. With --cluster the API server itself refuses the
    daemon's writes: it works with your own kubeconfig, whatever state the daemon and its database are in.

    \b
    Example:  handrail stop --reason "release freeze until Monday"
              handrail stop --cluster --namespace shop --reason "migration of the shop"
              handrail stop --cluster --reason "it misbehaves"
    """
    if in_cluster.wanted:
        in_cluster.stop(reason)
        return
    _say(client.post("/api/v1/stop", {"why": reason}))


@click.command()
@with_cluster
@with_client
def start(client: Client, in_cluster: InCluster) -> None:
    """Let incidents go on where they stood.

    A stop that the cluster held is given back with --cluster first; the daemon that met it waits for `handrail start`.

    \b
    Example:  handrail start
              handrail start --cluster
              handrail start --cluster --namespace shop
    """
    if in_cluster.wanted:
        in_cluster.start()
        return
    _say(client.post("/api/v1/start", {}))


@click.command()
@click.option("--json", "as_json", is_flag=True, help="For scripts.")
@with_cluster
@with_client
def status(client: Client, in_cluster: InCluster, as_json: bool) -> None:
    """Say whether it is stopped, and what is open.

    By whom and why it was stopped, and how many incidents are open. With --cluster: which stops the cluster holds.

    \b
    Example:  handrail status
              handrail status --cluster
    """
    if in_cluster.wanted:
        in_cluster.status(as_json=as_json)
        return
    found = client.get("/api/v1/status")
    if as_json:
        click.echo(json.dumps(found, indent=2))
        return
    switch = found["switch"]
    if found["stopped"]:
        click.echo(f"STOPPED by {switch['by']} at {switch['at'][:19]}Z: {switch['why']}")
    else:
        click.echo("not stopped")
    click.echo(plural(found["open_incidents"], "open incident"))


def _say(answer: dict[str, str]) -> None:
    if not answer["ok"]:
        raise click.ClickException(answer["message"])
    click.echo(answer["message"])
