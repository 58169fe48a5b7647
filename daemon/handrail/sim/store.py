"""Objects, their versions and what has changed: the etcd of the simulated cluster.

One counter numbers every change of any object, as in etcd. The store decides no rule: it keeps what it is given,
tells listeners that something has changed, and forgets the oldest changes. It never alters an object that it has
handed out; a change is always another object.
"""

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

from .kinds import Kind
from .objects import Obj, clone, meta, name_of, namespace_of

Verb = Literal["ADDED", "MODIFIED", "DELETED"]
Key = tuple[str, str]


@dataclass(frozen=True)
class Change:
    version: int
    verb: Verb
    kind: Kind
    obj: Obj
    before: Obj | None


class TooOld(Exception):
    """The changes since that version are no longer all there."""

    def __init__(self, asked: int, oldest: int) -> None:
        super().__init__(f"too old resource version: {asked} ({oldest})")


class Store:
    """`remembered` is how many changes a watch can go back."""

    def __init__(self, remembered: int = 10_000) -> None:
        self.version = 1
        self._objects: dict[Kind, dict[Key, Obj]] = {}
        self.remembered = remembered
        self._changes: deque[Change] = deque()
        self._forgotten = self.version
        self._listeners: list[Callable[[], None]] = []

    def listen(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Call this after every change; the answer ends it."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def get(self, kind: Kind, namespace: str, name: str) -> Obj | None:
        return self._objects.get(kind, {}).get((namespace, name))

    def all(self, kind: Kind, namespace: str = "") -> list[Obj]:
        """Objects of one namespace or of all, sorted by key."""
        return [obj for (where, _), obj in sorted(self._of(kind), key=lambda item: item[0]) if namespace in ("", where)]

    def _of(self, kind: Kind) -> list[tuple[Key, Obj]]:
        return list(self._objects.get(kind, {}).items())

    def everything(self) -> Iterator[tuple[Kind, Obj]]:
        for kind in list(self._objects):
            for _, obj in self._of(kind):
                yield kind, obj

    def put(self, kind: Kind, obj: Obj) -> Obj:
        """Keep a copy of this object under the next version, and return that copy."""
        key = (namespace_of(obj), name_of(obj))
        before = self._objects.get(kind, {}).get(key)
        kept = self._next(obj)
        self._objects.setdefault(kind, {})[key] = kept
        self._record(Change(self.version, "MODIFIED" if before else "ADDED", kind, kept, before))
        return kept

    def remove(self, kind: Kind, obj: Obj) -> None:
        """Forget this object. Who watches sees it once more, with the version of the removal."""
        before = self._objects[kind].pop((namespace_of(obj), name_of(obj)))
        self._record(Change(self.version + 1, "DELETED", kind, self._next(before), before))

    def since(self, version: int) -> list[Change]:
        """The changes after that version, oldest first.

        Raises TooOld when some of them are forgotten.
        """
        if version < self._forgotten:
            raise TooOld(version, self._forgotten)
        if version >= self.version:
            return []
        found = []
        for change in reversed(self._changes):
            if change.version <= version:
                break
            found.append(change)
        return found[::-1]

    def _next(self, obj: Obj) -> Obj:
        self.version += 1
        kept = clone(obj)
        meta(kept)["resourceVersion"] = str(self.version)
        return kept

    def _record(self, change: Change) -> None:
        if len(self._changes) == self.remembered:
            self._forgotten = self._changes.popleft().version
        self._changes.append(change)
        for listener in list(self._listeners):
            listener()
