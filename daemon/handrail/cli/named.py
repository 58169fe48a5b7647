"""An option that narrows what a command is about: an empty name is a mistake, and never means all of them.

`--in-namespace "$NS"` in a script with NS unset would else stop, start or send back everything.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])


def named(option: str, **how: Any) -> Callable[[F], F]:
    """As `click.option`; "" where it is left out. An empty text is a usage error."""
    return click.option(option, default=None, callback=_name, **how)


def _name(_context: click.Context, _option: click.Parameter, text: str | None) -> str:
    if text is not None and not text.strip():
        raise click.BadParameter("names nothing; leave the option out where all are meant")
    return text or ""
