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
    """`shown` is the card as the API gives it."""
    from handrail.console.terminal import render
    from handrail.model.card import Card

    columns = min(WIDEST, shutil.get_terminal_size((WIDTH, 0)).columns)
    colour = sys.stdout.isatty() and not os.environ.get("NO_COLOR")  # https://no-color.org
    click.echo(render(Card.model_validate(shown), columns, colour=colour))
