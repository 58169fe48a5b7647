"""ID: the argument that names an incident. What can be none is a wrong call, and never part of an address."""

from __future__ import annotations

import re
from typing import Any

import click

FORM = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
"""As the API has it in its paths."""


class IncidentId(click.ParamType[str]):
    name = "ID"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if not FORM.fullmatch(str(value)):
            self.fail(f"{str(value)[:60]!r} can be no incident's id; `handrail incidents list` shows them", param, ctx)
        return str(value)


INCIDENT = click.argument("id_", metavar="ID", type=IncidentId())
