"""`handrail steps` and `handrail detectors`: what this build knows. Presence makes known; only policy makes usable."""

from __future__ import annotations

import inspect
import json

import click


@click.command()
@click.option("--json", "as_json", is_flag=True, help="For scripts.")
def steps(as_json: bool) -> None:
    """Every remediation step: its risk, kinds, rights, fields and undo.

    --json prints the same for scripts, with the bounds of its numbers.

    \b
    Example:  handrail steps --json
    """
    import handrail_remediations

    known = handrail_remediations.catalogue()
    rows = [
        {
            "name": step.name,
            "risk": step.risk.value,
            "asked": "always" if step.risk.always_asked else "by policy",
            "kinds": sorted(step.kinds),
            "needs": [rule.model_dump(mode="json") for rule in step.needs],
            "admits": list(step.admits),
            "bounds": [bound.model_dump(mode="json") for bound in step.bounds],
            "undo": step.way_back,
        }
        for step in known.values()
    ]
    if as_json:
        click.echo(json.dumps(rows, indent=2))
        return
    for step in known.values():
        asked = "always" if step.risk.always_asked else "by policy"
        click.echo(f"{step.name:<18} {step.risk:<11} asked {asked:<10} {', '.join(sorted(step.kinds))}")
        rights = ", ".join(f"{verb} {what}" for rule in step.needs for verb in rule.verbs for what in rule.resources)
        click.echo(f"{'':<18} rights: {rights}")
        click.echo(f"{'':<18} fields: {', '.join(step.admits) or 'none'}")
        click.echo(f"{'':<18} undo:   {step.way_back}")


@click.command()
@click.option("--json", "as_json", is_flag=True, help="For scripts.")
def detectors(as_json: bool) -> None:
    """Every detector and what wakes it.

    \b
    Example:  handrail detectors
    """
    import handrail_detectors

    rows = [
        {
            "name": detector.name,
            "watches": sorted(detector.watches),
            "about": (inspect.getdoc(inspect.getmodule(type(detector))) or "").split("\n")[0],
        }
        for detector in handrail_detectors.catalogue()
    ]
    if as_json:
        click.echo(json.dumps(rows, indent=2))
        return
    for row in rows:
        click.echo(f"{row['name']:<18} {', '.join(row['watches']):<10} {row['about']}")
