"""Quantities such as `500m` and `64Mi`, as far as they have to be read and compared."""

import re
from decimal import Decimal
from typing import Any

_FORM = re.compile(r"([+-]?(?:\d+\.?\d*|\.\d+))(?:([eE][+-]?\d+)|(Ki|Mi|Gi|Ti|Pi|Ei|n|u|m|k|M|G|T|P|E)?)")
_BINARY = {unit: Decimal(1024) ** power for power, unit in enumerate(("Ki", "Mi", "Gi", "Ti", "Pi", "Ei"), start=1)}
_DECIMAL = {
    unit: Decimal(1).scaleb(power)
    for unit, power in {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}.items()
}


def is_quantity(value: Any) -> bool:
    return _FORM.fullmatch(str(value)) is not None


def amount(value: Any) -> Decimal:
    """The number that a well-formed quantity stands for."""
    found = _FORM.fullmatch(str(value))
    if found is None:
        raise ValueError(f"no quantity: {value}")
    number, exponent, unit = found.groups()
    if exponent:
        return Decimal(number + exponent)
    return Decimal(number) * (_BINARY | _DECIMAL)[unit or ""]


def canonical(value: Any) -> str:
    """A well-formed quantity as the API server writes it: the largest unit of its family that leaves no fraction."""
    text = str(value)
    found = _FORM.fullmatch(text)
    if found is None or found.group(2):
        return text
    total = amount(value)
    if total == 0:
        return "0"
    family = _BINARY if found.group(3) in _BINARY else _DECIMAL
    for unit, size in sorted(family.items(), key=lambda item: -item[1]):
        if total % size == 0:
            return f"{int(total / size)}{unit}"
    return text
