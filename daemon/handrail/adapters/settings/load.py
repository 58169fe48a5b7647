"""YAML to one frozen, typed tree. An unknown key is fatal, with its path and the nearest known one.

Never guesses, and never repeats a value that may be a secret: what stands where a secret belongs is not quoted.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from pathlib import Path
from typing import Any, TypeVar, get_args

import yaml
from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from handrail.model.config import Config, SecretRef
from handrail.model.errors import BadConfig
from handrail.model.policy import Policy

SECRET_WORDS = ("password", "token", "secret", "key", "credential")
SECRET_HINT = "secrets come from `file:` or `env:`, never from the YAML"
MOST_BYTES = 1024 * 1024

BEGIN: dict[type[BaseModel], str] = {
    Config: "`handrail config init` writes one to begin with",
    Policy: "policies/observe.yaml and policies/ask.yaml of the sources are there to begin with",
}
"""What to do where there is no file."""

V = TypeVar("V", bound=BaseModel)
Loc = tuple[int | str, ...]


def load_config(path: Path) -> Config:
    """Raises BadConfig with one line per problem."""
    return _load(path, Config)


def load_policy(path: Path) -> Policy:
    """Raises BadConfig with one line per problem; an empty file is a problem, not an empty policy."""
    return _load(path, Policy)


def _load(path: Path, kind: type[V]) -> V:
    data = _read(path, BEGIN[kind])
    try:
        return kind.model_validate(data)
    except ValidationError as error:
        lines = [_line(problem, kind) for problem in error.errors()]
        raise BadConfig("\n".join(f"{path}: {line}" for line in lines)) from None


def _read(path: Path, begin: str) -> dict[str, Any]:
    try:
        with path.open(encoding="utf-8") as file:
            text = file.read(MOST_BYTES + 1)
    except FileNotFoundError as missing:
        raise BadConfig(f"{path}: no such file; {begin}") from missing
    except (OSError, UnicodeDecodeError) as unreadable:
        raise BadConfig(f"{path}: can't be read: {unreadable}") from unreadable
    if len(text) > MOST_BYTES:
        raise BadConfig(f"{path}: is larger than {MOST_BYTES} characters; is it the right file?")
    data = _parse(path, text)
    if not isinstance(data, dict):
        raise BadConfig(f"{path}: must be a mapping of keys; it holds {type(data).__name__}")
    return data


def _parse(path: Path, text: str) -> Any:
    try:
        return yaml.load(text, _Strict)
    except yaml.MarkedYAMLError as broken:
        mark = broken.problem_mark or broken.context_mark
        where = f" at line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        raise BadConfig(f"{path}: is not YAML: {broken.problem or broken.context}{where}") from None
    except (yaml.YAMLError, RecursionError, ValueError) as broken:
        raise BadConfig(f"{path}: is not YAML: {' '.join(str(broken).split())[:200]}") from None


class _Strict(yaml.SafeLoader):
    """A key that stands twice is an error: YAML's last one would win without a word."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen: set[str] = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode) and key.value in seen and key.value != "<<":
                raise yaml.MarkedYAMLError(problem=f"the key {key.value!r} stands twice", problem_mark=key.start_mark)
            seen.add(str(key.value))
        return super().construct_mapping(node, deep)


def _line(problem: ErrorDetails, kind: type[BaseModel]) -> str:
    loc = _plain(problem["loc"])
    where = ".".join(str(part) for part in loc) or "the file"
    if _for_a_secret(loc[:-1], kind) or (_for_a_secret(loc, kind) and problem["type"] != "missing"):
        if problem["type"] in ("value_error", "missing"):
            return f"{where}: {_said(problem)}"
        return f"{where}: {SECRET_HINT}; write {{file: /path}} or {{env: NAME}}"
    match problem["type"]:
        case "extra_forbidden":
            hint = f" ({SECRET_HINT})" if _sounds_secret(loc) else ""
            return f"{where}: unknown key{_suggestion(loc, kind)}{hint}"
        case "missing":
            return f"{where}: is required; add it"
        case _:
            return f"{where}: {_said(problem)} (got {_short(problem, loc)})"


def _plain(loc: Loc) -> Loc:
    """Without pydantic's own marks, such as the `[key]` behind a mapping's key."""
    return tuple(part for part in loc if part != "[key]") or loc


def _said(problem: ErrorDetails) -> str:
    return problem["msg"].removeprefix("Value error, ")


def _for_a_secret(loc: Loc, kind: type[BaseModel]) -> bool:
    return _model_at(loc, kind) is SecretRef


def _sounds_secret(loc: Loc) -> bool:
    return bool(loc) and any(word in str(loc[-1]).lower() for word in SECRET_WORDS)


def _suggestion(loc: Loc, kind: type[BaseModel]) -> str:
    inner = _model_at(loc[:-1], kind)
    known = [field.alias or name for name, field in inner.model_fields.items()] if inner else []
    near = difflib.get_close_matches(str(loc[-1]), known, n=1, cutoff=0.5)
    return f"; did you mean {near[0]!r}?" if near else f"; known here: {', '.join(sorted(known)) or 'nothing'}"


def _model_at(loc: Iterable[int | str], kind: type[BaseModel]) -> type[BaseModel] | None:
    for part in loc:
        if isinstance(part, int):
            continue
        field = kind.model_fields.get(part)
        inner = _model_in(field.annotation) if field else None
        if inner is None:
            return None
        kind = inner
    return kind


def _model_in(annotation: Any) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((found for arg in get_args(annotation) if (found := _model_in(arg))), None)


def _short(problem: ErrorDetails, loc: Loc) -> str:
    """A mapping or list is named only, since anything may stand in it; so is what stands where a mapping belongs."""
    value = problem["input"]
    if isinstance(value, dict | list) or problem["type"].startswith("model_") or (loc and _sounds_secret(loc)):
        return f"a {type(value).__name__}"
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
