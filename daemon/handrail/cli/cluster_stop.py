"""What `--cluster` does for stop, start and status: with the caller's own kubeconfig, and without the daemon."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import click

from handrail.cli.client import flat
from handrail.cli.named import named
from handrail.model.errors import HandrailError

if TYPE_CHECKING:
    from handrail.adapters.kubernetes.stops import ClusterStops, Standing

F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T")


@dataclass(frozen=True)
class InCluster:
    """`wanted` is --cluster; `namespace` "" means everything."""

    wanted: bool
    namespace: str
    name: str
    kubeconfig: str
    context: str

    def stop(self, reason: str) -> None:
        if self.namespace:
            self._run(lambda stops: stops.stop_namespace(self.namespace, reason))
            click.echo(f"the API server refuses every write of Handrail in {self.namespace}: {reason}")
            return
        gone = self._run(lambda stops: stops.stop_all(reason))
        if not gone:
            raise click.ClickException(f"no binding of {self.name}-hands was there: nothing could be written before")
        click.echo(f"Handrail can write nothing any more; deleted: {', '.join(gone)}")
        click.echo("`handrail start --cluster` gives it back; so does an upgrade of the chart with hands.enabled")

    def start(self) -> None:
        if self.namespace:
            was = self._run(lambda stops: stops.start_namespace(self.namespace))
            click.echo(f"{self.namespace} is open again" if was else f"{self.namespace} was not stopped")
        else:
            made = self._run(lambda stops: stops.start_all())
            click.echo(f"bound again: {', '.join(made)}" if made else "every binding of the hands is there")
        reach = f" --in-namespace {self.namespace}" if self.namespace else ""
        click.echo(f"a daemon that met the stop waits for `handrail start{reach}`")

    def status(self, *, as_json: bool) -> None:
        standing: Standing = self._run(lambda stops: stops.standing())
        if as_json:
            click.echo(json.dumps(standing.model_dump(mode="json"), indent=2))
            return
        if standing.writes:
            click.echo("the cluster holds no stop for all")
        else:
            why = flat(standing.why) or "no reason left"
            click.echo(f"STOPPED by the cluster, the hands are bound to nobody: {why}")
        for namespace, why in sorted(standing.namespaces.items()):
            click.echo(f"STOPPED by the cluster in {namespace}: {flat(why)}")

    def _run(self, work: Callable[[ClusterStops], Awaitable[T]]) -> T:
        try:
            return asyncio.run(self._with_stops(work))
        except HandrailError as refused:
            raise click.ClickException(str(refused)) from refused

    async def _with_stops(self, work: Callable[[ClusterStops], Awaitable[T]]) -> T:
        from handrail.adapters.kubernetes import Cluster
        from handrail.adapters.kubernetes.stops import ClusterStops
        from handrail.model.config import KubernetesConfig

        config = KubernetesConfig(mode="kubeconfig", kubeconfig=self.kubeconfig, context=self.context)
        async with Cluster(config) as cluster:
            return await work(ClusterStops(cluster, self.name))


def with_cluster(command: F) -> F:
    """Adds the options of --cluster, and passes an InCluster as `in_cluster`."""

    def wrapped(
        *args: Any, cluster: bool, namespace: str, name: str, kubeconfig: str, context: str, **options: Any
    ) -> Any:
        if namespace and not cluster:
            raise click.UsageError("--namespace goes with --cluster")
        return command(*args, in_cluster=InCluster(cluster, namespace, name, kubeconfig, context), **options)

    wrapped.__name__ = command.__name__
    wrapped.__doc__ = command.__doc__
    wrapped.__click_params__ = getattr(command, "__click_params__", [])  # type: ignore[attr-defined]
    for option in (
        click.option("--context", default="", help="With --cluster: a context of the kubeconfig."),
        click.option("--kubeconfig", default="", envvar="KUBECONFIG", help="With --cluster: else ~/.kube/config."),
        click.option("--name", default="handrail", show_default=True, help="With --cluster: prefix of the roles."),
        named("--namespace", help="With --cluster: this namespace alone."),
        click.option("--cluster", is_flag=True, help="The stop that the cluster itself holds; needs no daemon."),
    ):
        wrapped = option(wrapped)
    return wrapped  # type: ignore[return-value]
