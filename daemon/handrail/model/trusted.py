"""Values made without a second check, where whoever makes them has typed and bounded every field already.

Only for what is made thousands of times a second (an alert and what is said of it); everything that crosses a wire or
comes from the store is validated. A fuzz test validates, strictly, what was made so.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

from pydantic import BaseModel

from handrail.model.value import Value

P = ParamSpec("P")
V = TypeVar("V", bound=Value)

_slots: Any = BaseModel.__dict__
_fields, _fields_set = _slots["__dict__"].__set__, _slots["__pydantic_fields_set__"].__set__
_extra, _private = _slots["__pydantic_extra__"].__set__, _slots["__pydantic_private__"].__set__
"""All that an instance consists of, and what its own constructor sets."""

_new: Any = object.__new__


def again(value: V, **changed: Any) -> V:
    """The same with other words in these fields, made as quickly. They are typed and bounded as before."""
    made: V = _new(value.__class__)
    _fields(made, {**value.__dict__, **changed})
    _fields_set(made, value.__pydantic_fields_set__)
    _extra(made, None)
    _private(made, None)
    return made


def trusted(kind: Callable[P, V]) -> Callable[P, V]:
    """The class's own constructor, as far as a type checker sees, but for keywords only and without validation."""
    made_of: Any = kind
    template = {name: field.get_default(call_default_factory=True) for name, field in made_of.model_fields.items()}
    said = set(template)  # one for all: a copy of a value takes a copy of it
    count = len(template)

    def make(*_: P.args, **fields: P.kwargs) -> V:
        made: V = _new(made_of)
        _fields(made, fields if len(fields) == count else {**template, **fields})
        _fields_set(made, said)
        _extra(made, None)
        _private(made, None)
        return made

    return make
