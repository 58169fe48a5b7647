"""Names of namespaces as a policy writes them. They are exact: a pattern or a slip of the pen would name nothing, and
leave open what somebody meant to close, so it is refused where it is read.
"""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import AfterValidator

NAME = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
"""RFC 1123, as the API server has it."""

ANY = "*"


def _name(given: str) -> str:
    if NAME.fullmatch(given):
        return given
    raise ValueError(f"{given[:60]!r} can be no namespace's name; names are exact, patterns are not known")


def _name_or_any(given: str) -> str:
    return given if given == ANY else _name(given)


Namespace = Annotated[str, AfterValidator(_name)]
NamespaceOrAny = Annotated[str, AfterValidator(_name_or_any)]
