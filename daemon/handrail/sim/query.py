"""Reading the parameters of a query: numbers and switches, refused as the API server refuses them."""

from collections.abc import Mapping

from .status import ApiError, bad_request


def number(query: Mapping[str, str], key: str) -> int | None:
    """The number of this parameter; None when it is missing or empty."""
    text = query.get(key)
    if not text:
        return None
    try:
        return int(text)
    except ValueError as error:
        raise bad_request(f'strconv.ParseInt: parsing "{text}": invalid syntax') from error


def is_set(query: Mapping[str, str], key: str) -> bool:
    return query.get(key, "").lower() in ("true", "1")


def version(query: Mapping[str, str]) -> int:
    """The version that a watch begins after; 0 is "whatever there is"."""
    text = query.get("resourceVersion") or "0"
    if text.isdigit():
        return int(text)
    why = f'strconv.ParseUint: parsing "{text}": invalid syntax'
    raise ApiError(500, "", f'resourceVersion: Invalid value: "{text}": {why}')
