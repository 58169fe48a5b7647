"""Lists: which objects, in what order and in which pages.

It decides nothing about rights. Pages are cut from the present state, not from a snapshot: a page may show what has
changed since the first one.
"""

import base64
import json
from collections.abc import Mapping

from .kinds import Kind
from .objects import Obj, name_of, namespace_of
from .paths import Target
from .query import number
from .selectors import Selector, by_fields, by_labels
from .status import bad_request, expired
from .store import Store, TooOld


def selector_of(target: Target, query: Mapping[str, str]) -> Selector:
    """What a list or a watch of this target selects; a named object is a selection of one."""
    labels = by_labels(query.get("labelSelector", ""))
    fields = by_fields(target.kind, query.get("fieldSelector", ""))

    def selects(obj: Obj) -> bool:
        if target.namespace and namespace_of(obj) != target.namespace:
            return False
        if target.name and name_of(obj) != target.name:
            return False
        return labels(obj) and fields(obj)

    return selects


def listed(store: Store, target: Target, query: Mapping[str, str]) -> Obj:
    """The list, or the page of it, that this query asks for."""
    selects = selector_of(target, query)
    items = [obj for obj in store.all(target.kind) if selects(obj)]
    metadata: Obj = {"resourceVersion": str(store.version)}
    items, more = _page(store, items, query)
    if more:
        metadata["continue"] = _token(store.version, items[-1])
        if not query.get("labelSelector") and not query.get("fieldSelector"):
            metadata["remainingItemCount"] = more
    return body_of(target.kind, items, metadata)


def body_of(kind: Kind, items: list[Obj], metadata: Obj) -> Obj:
    """Items of a list leave out what the list says: version and kind."""
    bare = [{key: value for key, value in obj.items() if key not in ("apiVersion", "kind")} for obj in items]
    return {"kind": f"{kind.name}List", "apiVersion": kind.api_version, "metadata": metadata, "items": bare}


def _page(store: Store, items: list[Obj], query: Mapping[str, str]) -> tuple[list[Obj], int]:
    if token := query.get("continue"):
        version, after = _read_token(token)
        try:
            store.since(version)
        except TooOld as error:
            raise expired("The provided continue parameter is too old") from error
        items = [obj for obj in items if (namespace_of(obj), name_of(obj)) > after]
    limit = number(query, "limit") or 0
    if limit <= 0 or len(items) <= limit:
        return items, 0
    return items[:limit], len(items) - limit


def _token(version: int, last: Obj) -> str:
    place = json.dumps([version, namespace_of(last), name_of(last)])
    return base64.urlsafe_b64encode(place.encode()).decode()


def _read_token(token: str) -> tuple[int, tuple[str, str]]:
    try:
        version, namespace, name = json.loads(base64.urlsafe_b64decode(token))
        return int(version), (str(namespace), str(name))
    except ValueError as error:
        raise bad_request("continue key is not valid") from error
