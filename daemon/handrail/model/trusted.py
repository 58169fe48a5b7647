"""Values made without a second check, where whoever makes them has typed and bounded every field already.

Only for what is made thousands of times a second (an alert and what is said of it); everything that crosses a wire or
comes from the store is validated. A fuzz test validates, strictly, what was made so.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

from handrail.model.value import Value

P = ParamSpec("P")
V = TypeVar("V", bound=Value)

_put = object.__setattr__


def again(value: V, **changed: Any) -> V:
    """The same with other words in these fields, made as quickly. They are typed and bounded as before."""
    made: V = value.__class__.__new__(value.__class__)
    _put(made, "__dict__", {**value.__dict__, **changed})
    _put(made, "__pydantic_fields_set__", value.__pydantic_fields_set__)
    _put(made, "__pydantic_extra__", None)
    _put(made, "__pydantic_private__", None)
    return made


def trusted(kind: Callable[P, V]) -> Callable[P, V]:
    """The class's own constructor, as far as a type checker sees, but for keywords only and without validation."""
    made_of: Any = kind
    template = {name: field.get_default(call_default_factory=True) for name, field in made_of.model_fields.items()}
    said = set(template)  # one for all: a copy of a value takes a copy of it

    def make(*_: P.args, **fields: P.kwargs) -> V:
        made: V = made_of.__new__(made_of)
        _put(made, "__dict__", {**template, **fields})
        _put(made, "__pydantic_fields_set__", said)
        _put(made, "__pydantic_extra__", None)
        _put(made, "__pydantic_private__", None)
        return made

    return make
