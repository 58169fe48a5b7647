"""Watches: the changes of a selection, in order, from a version on.

It decides what a change means for the selection (an object that leaves it is deleted from it) and when a watch has
asked for changes that are forgotten. It sends nothing: the caller turns events into lines.
"""

import asyncio
from collections.abc import AsyncGenerator, Mapping

from .kinds import Kind
from .listing import selector_of
from .objects import Obj, clone, meta
from .paths import Target
from .query import is_set, number, version
from .selectors import Selector
from .status import expired
from .store import Change, Store, TooOld

_ALL_SENT = "k8s.io/initial-events-end"


def events(store: Store, target: Target, query: Mapping[str, str]) -> AsyncGenerator[Obj, None]:
    """The events of this watch until its time is over; at the end a bookmark, if one was asked for.

    What is wrong with the query is raised here, before anything is sent.
    """
    number(query, "timeoutSeconds")
    version(query)
    return _events(store, target, query, selector_of(target, query))


async def _events(
    store: Store, target: Target, query: Mapping[str, str], selects: Selector
) -> AsyncGenerator[Obj, None]:
    deadline = _deadline(query)
    changed = asyncio.Event()
    ignore = store.listen(changed.set)
    try:
        seen, first = _start(store, target, selects, query)
        for event in first:
            yield event
        while True:
            changed.clear()
            try:
                changes = store.since(seen)
            except TooOld as error:
                yield {"type": "ERROR", "object": expired(str(error)).body()}
                return
            seen = max(seen, store.version)
            for change in changes:
                shown = _event(change, target.kind, selects)
                if shown is not None:
                    yield shown
            if not await _woken(changed, deadline):
                break
        if is_set(query, "allowWatchBookmarks"):
            yield _bookmark(target.kind, seen)
    finally:
        ignore()


def _start(store: Store, target: Target, selects: Selector, query: Mapping[str, str]) -> tuple[int, list[Obj]]:
    """Without a version, or where it is asked for, a watch begins with all that is there."""
    initial = is_set(query, "sendInitialEvents")
    if version(query) and not initial:
        return version(query), []
    there = [{"type": "ADDED", "object": obj} for obj in store.all(target.kind) if selects(obj)]
    if initial:
        there.append(_bookmark(target.kind, store.version, annotations={_ALL_SENT: "true"}))
    return store.version, there


def _deadline(query: Mapping[str, str]) -> float | None:
    seconds = number(query, "timeoutSeconds")
    return asyncio.get_running_loop().time() + seconds if seconds else None


async def _woken(changed: asyncio.Event, deadline: float | None) -> bool:
    """Wait for a change; False when the time of the watch is over."""
    try:
        async with asyncio.timeout_at(deadline):
            await changed.wait()
    except TimeoutError:
        return False
    return True


def _event(change: Change, kind: Kind, selects: Selector) -> Obj | None:
    if change.kind is not kind:
        return None
    was = change.before is not None and selects(change.before)
    now = change.verb != "DELETED" and selects(change.obj)
    if not was and not now:
        return None
    if was and now:
        return {"type": "MODIFIED", "object": change.obj}
    if now:
        return {"type": "ADDED", "object": change.obj}
    return {"type": "DELETED", "object": _last_seen(change)}


def _last_seen(change: Change) -> Obj:
    """An object that left the selection is shown as it was, with the version at which it left."""
    gone = clone(change.before or change.obj)
    meta(gone)["resourceVersion"] = str(change.version)
    return gone


def _bookmark(kind: Kind, reached: int, **more: Obj) -> Obj:
    metadata = {"resourceVersion": str(reached), **more}
    return {"type": "BOOKMARK", "object": {"kind": kind.name, "apiVersion": kind.api_version, "metadata": metadata}}
