"""What `--cluster` does for stop, start and status: with the caller's own kubeconfig, and without the daemon."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import click

from handrail.cli.client import flat
from handrail.cli.ending import say, show_json, waiting
from handrail.cli.named import named

if TYPE_CHECKING:
    from handrail.adapters.kubernetes.stops import ClusterStops, Standing

R = TypeVar("R")
T = TypeVar("T")


@dataclass(frozen=True)
class InCluster:
    """`wanted` is --cluster; `namespace` "" means everything."""

    wanted: bool
    namespace: str
    name: str
    kubeconfig: str
    context: str

    def stop(self, reason: str, *, as_json: bool) -> None:
        if self.namespace:
            self._run(lambda stops: stops.stop_namespace(self.namespace, reason))
            said = f"the API server refuses every write of Handrail in {self.namespace}: {flat(reason)}"
            back = f"`handrail start --cluster --namespace {self.namespace}` gives it back"
            say(f"{said}\n{back}", as_json=as_json, namespace=self.namespace, deleted=[])
            return
        gone = self._run(lambda stops: stops.stop_all(reason))
        if not gone:
            raise click.ClickException(f"no binding of {self.name}-hands was there: nothing could be written before")
        said = f"Handrail can write nothing any more; deleted: {', '.join(gone)}"
        back = "`handrail start --cluster` gives it back; so does an upgrade of the chart with hands.enabled"
        say(f"{said}\n{back}", as_json=as_json, namespace="", deleted=gone)

    def start(self, *, as_json: bool) -> None:
        made: tuple[str, ...] = ()
        if self.namespace:
            was = self._run(lambda stops: stops.start_namespace(self.namespace))
            said = f"{self.namespace} is open again" if was else f"{self.namespace} was not stopped"
        else:
            made = self._run(lambda stops: stops.start_all())
            said = f"bound again: {', '.join(made)}" if made else "every binding of the hands is there"
        reach = f" --in-namespace {self.namespace}" if self.namespace else ""
        then = f"a daemon that met the stop waits for `handrail start{reach}`"
        say(f"{said}\n{then}", as_json=as_json, namespace=self.namespace, bound=made)

    def status(self, *, as_json: bool) -> None:
        standing: Standing = self._run(lambda stops: stops.standing())
        if as_json:
            show_json(standing.model_dump(mode="json"))
            return
        if standing.writes:
            click.echo("the cluster holds no stop for all")
        else:
            why = flat(standing.why) or "no reason left"
            click.echo(f"STOPPED by the cluster, the hands are bound to nobody: {why}")
        for namespace, why in sorted(standing.namespaces.items()):
            click.echo(f"STOPPED by the cluster in {namespace}: {flat(why)}")

    def _run(self, work: Callable[[ClusterStops], Awaitable[T]]) -> T:
        with waiting("the API server"):
            return asyncio.run(self._with_stops(work))

    async def _with_stops(self, work: Callable[[ClusterStops], Awaitable[T]]) -> T:
        from handrail.adapters.kubernetes import Cluster
        from handrail.adapters.kubernetes.stops import ClusterStops
        from handrail.model.config import KubernetesConfig

        config = KubernetesConfig(mode="kubeconfig", kubeconfig=self.kubeconfig, context=self.context)
        async with Cluster(config) as cluster:
            return await work(ClusterStops(cluster, self.name))


CONTEXT = click.option("--context", default="", help="With --cluster: a context of the kubeconfig.")
KUBECONFIG = click.option("--kubeconfig", default="", envvar="KUBECONFIG", help="With --cluster: else ~/.kube/config.")
NAME = click.option("--name", default="handrail", show_default=True, help="With --cluster: prefix of the roles.")
NAMESPACE = named("--namespace", help="With --cluster: this namespace alone.")
CLUSTER = click.option("--cluster", is_flag=True, help="The stop that the cluster itself holds; needs no daemon.")


def with_cluster(command: Callable[..., R]) -> Callable[..., R]:
    """Adds the options of --cluster, and passes an InCluster as `in_cluster`."""

    @functools.wraps(command)
    def wrapped(
        *args: Any, cluster: bool, namespace: str, name: str, kubeconfig: str, context: str, **options: Any
    ) -> R:
        if namespace and not cluster:
            raise click.UsageError("--namespace goes with --cluster")
        return command(*args, in_cluster=InCluster(cluster, namespace, name, kubeconfig, context), **options)

    return CLUSTER(NAMESPACE(NAME(KUBECONFIG(CONTEXT(wrapped)))))
