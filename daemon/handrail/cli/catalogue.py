"""`handrail steps` and `handrail detectors`: what this build knows. Presence makes known; only policy makes usable."""

from __future__ import annotations

import inspect
import sys
from typing import TYPE_CHECKING, NamedTuple

import click

from handrail.cli.ending import JSON, show_json

if TYPE_CHECKING:
    from handrail.model.detector import Detector


@click.command()
@JSON
def steps(as_json: bool) -> None:
    """Every remediation step: risk, kinds, rights, undo.

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
        show_json(rows)
        return
    for step in known.values():
        asked = "always" if step.risk.always_asked else "by policy"
        click.echo(f"{step.name:<18} {step.risk:<11} asked {asked:<10} {', '.join(sorted(step.kinds))}")
        rights = ", ".join(f"{verb} {what}" for rule in step.needs for verb in rule.verbs for what in rule.resources)
        click.echo(f"{'':<18} rights: {rights}")
        click.echo(f"{'':<18} fields: {', '.join(step.admits) or 'none'}")
        click.echo(f"{'':<18} undo:   {step.way_back}")


@click.command()
@JSON
def detectors(as_json: bool) -> None:
    """Every detector: what wakes it, confirms it, its traps.

    --json prints the same for scripts, with how far back its window of events goes and its parameters' defaults.

    \b
    Example:  handrail detectors
    """
    import handrail_detectors

    known = handrail_detectors.catalogue()
    rows = [
        {
            "name": detector.name,
            "about": about_detector(detector).what,
            "watches": sorted(detector.watches),
            "confirmed_by": detector.confirmed_by,
            "traps": about_detector(detector).traps,
            "hands_over": about_detector(detector).hands,
            "example": detector.example,
            "reach_seconds": int(detector.reach.total_seconds()),
            "params": detector.Params().model_dump(mode="json"),
        }
        for detector in known
    ]
    if as_json:
        show_json(rows)
        return
    for detector in known:
        about = about_detector(detector)
        click.echo(f"{detector.name:<19} {about.what}")
        click.echo(f"{'':<19} woken by:  {', '.join(sorted(detector.watches))}")
        click.echo(f"{'':<19} confirmed: {detector.confirmed_by}")
        click.echo(f"{'':<19} traps:     {about.traps}")
        click.echo(f"{'':<19} gives:     {about.hands}")
        click.echo(f"{'':<19} example:   {detector.example}")


class About(NamedTuple):
    """What a detector's file says of it: what it finds, what looks like that and is not, what it hands over."""

    what: str
    traps: str
    hands: str


def about_detector(detector: Detector) -> About:
    """By the words `Traps:` and `Hands` of the file that it stands in; "" where they are missing."""
    told = inspect.getdoc(sys.modules[f"handrail_detectors.{detector.name}"]) or ""
    flat = " ".join(told.split())
    _before, _, after = flat.partition("Traps: ")
    traps, _, hands = after.partition(" Hands ")
    return About(told.split("\n")[0], traps, f"Hands {hands}" if hands else "")
