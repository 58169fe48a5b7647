"""A card in this terminal: as wide as it is, in colours where somebody sees them."""

from __future__ import annotations

import os
import shutil
import sys
from typing import Any

import click

WIDEST = 100
WIDTH = 80
"""Columns: a sentence over the whole of a wide screen is hard to read; and of what is no terminal."""


def show_card(shown: dict[str, Any]) -> None:
    """`shown` is the card as the API gives it. Raises ClickException for one that this build can't show whole: nobody
    decides from a part of it."""
    from pydantic import ValidationError

    from handrail.console.terminal import render
    from handrail.model.card import Card

    columns = min(WIDEST, shutil.get_terminal_size((WIDTH, 0)).columns)
    colour = sys.stdout.isatty() and not os.environ.get("NO_COLOR")  # https://no-color.org
    try:
        card = Card.model_validate(shown)
    except ValidationError as strange:
        raise click.ClickException(
            "the daemon's card holds what this command does not know: use the command of the daemon's version"
        ) from strange
    click.echo(render(card, columns, colour=colour))
