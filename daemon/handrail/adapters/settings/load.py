"""YAML to one frozen, typed tree. An unknown key is fatal, with its path and the nearest known one."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from pathlib import Path
from typing import Any, TypeVar, get_args

import yaml
from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from handrail.model.config import Config
from handrail.model.errors import BadConfig
from handrail.model.policy import Policy

SECRET_WORDS = ("password", "token", "secret", "key")

V = TypeVar("V", bound=BaseModel)


def load_config(path: Path) -> Config:
    """Raises BadConfig with one line per problem."""
    return _load(path, Config)


def load_policy(path: Path) -> Policy:
    """Raises BadConfig with one line per problem; an empty file is a problem, not an empty policy."""
    return _load(path, Policy)


def _load(path: Path, kind: type[V]) -> V:
    data = _read(path)
    try:
        return kind.model_validate(data)
    except ValidationError as error:
        lines = [_line(problem, kind) for problem in error.errors()]
        raise BadConfig("\n".join(f"{path}: {line}" for line in lines)) from error


def _read(path: Path) -> dict[str, Any]:
    try:
        data = yaml.safe_load(path.read_text(encoding="utf-8"))
    except FileNotFoundError as missing:
        raise BadConfig(f"{path}: no such file; `handrail config init` writes one to begin with") from missing
    except (OSError, UnicodeDecodeError) as unreadable:
        raise BadConfig(f"{path}: can't be read: {unreadable}") from unreadable
    except yaml.YAMLError as broken:
        raise BadConfig(f"{path}: is not YAML: {' '.join(str(broken).split())}") from broken
    if not isinstance(data, dict):
        raise BadConfig(f"{path}: must be a mapping of keys; it holds {type(data).__name__}")
    return data


def _line(problem: ErrorDetails, kind: type[BaseModel]) -> str:
    where = ".".join(str(part) for part in problem["loc"]) or "the file"
    match problem["type"]:
        case "extra_forbidden":
            return f"{where}: unknown key{_suggestion(problem['loc'], kind)}{_secret_hint(problem['loc'])}"
        case "missing":
            return f"{where}: is required; add it"
        case _:
            return f"{where}: {problem['msg'].removeprefix('Value error, ')} (got {_short(problem['input'])})"


def _suggestion(loc: tuple[int | str, ...], kind: type[BaseModel]) -> str:
    known = _keys_at(loc[:-1], kind)
    near = difflib.get_close_matches(str(loc[-1]), known, n=1, cutoff=0.5)
    return f"; did you mean {near[0]!r}?" if near else f"; known here: {', '.join(sorted(known)) or 'nothing'}"


def _secret_hint(loc: tuple[int | str, ...]) -> str:
    """People try `password: hunter2`: secrets never stand in the file."""
    if any(word in str(loc[-1]).lower() for word in SECRET_WORDS):
        return " (secrets come from `file:` or `env:`, never from the YAML)"
    return ""


def _keys_at(loc: Iterable[int | str], kind: type[BaseModel]) -> list[str]:
    for part in loc:
        if isinstance(part, int):
            continue
        field = kind.model_fields.get(part)
        inner = _model_in(field.annotation) if field else None
        if inner is None:
            return []
        kind = inner
    return list(kind.model_fields)


def _model_in(annotation: Any) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((found for arg in get_args(annotation) if (found := _model_in(arg))), None)


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
