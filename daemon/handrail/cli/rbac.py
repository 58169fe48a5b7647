"""`handrail rbac` and `handrail admission`: what a policy needs of the API server, ready to apply."""

from __future__ import annotations

from pathlib import Path

import click


@click.command()
@click.option("--policy", "path", type=click.Path(path_type=Path), required=True, help="The policy file.")
@click.option("--namespace", default="handrail", show_default=True, help="Where the daemon runs.")
@click.option("--service-account", default="handrail", show_default=True)
@click.option("--name", default="handrail", show_default=True, help="Prefix of the roles' names.")
def rbac(path: Path, namespace: str, service_account: str, name: str) -> None:
    """Print the least rights that a policy needs.

    Reading and writing are bound apart: delete the bindings that end in -hands and nothing is written any more.

    \b
    Example:  handrail rbac --policy policies/ask.yaml | kubectl apply -f -
    """
    import yaml

    import handrail_remediations
    from handrail.adapters.settings import load_policy
    from handrail.core.rbac import objects

    found = objects(load_policy(path), handrail_remediations.catalogue(), name, namespace, service_account)
    click.echo(yaml.safe_dump_all(found, sort_keys=False), nl=False)


@click.command()
@click.option("--policy", "path", type=click.Path(path_type=Path), required=True, help="The policy file.")
@click.option("--namespace", default="handrail", show_default=True, help="Where the daemon runs.")
@click.option("--service-account", default="handrail", show_default=True)
@click.option("--name", default="handrail", show_default=True, help="Prefix of the policies' names.")
def admission(path: Path, namespace: str, service_account: str, name: str) -> None:
    """Print what the API server shall refuse to the daemon.

    They match the daemon's own service account alone, and pin every field that no step changes. Kubernetes 1.30 or
    newer. The one that ends in -stop refuses writes in a namespace that bears the annotation handrail.dev/stop.

    \b
    Example:  handrail admission --policy policies/ask.yaml | kubectl apply -f -
    """
    import yaml

    import handrail_remediations
    from handrail.adapters.settings import load_policy
    from handrail.core.admission import objects

    found = objects(load_policy(path), handrail_remediations.catalogue(), name, namespace, service_account)
    click.echo(yaml.safe_dump_all(found, sort_keys=False), nl=False)
