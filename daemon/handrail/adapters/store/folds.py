"""Folds that were made before, so that a journal is not read from its beginning at each look."""

from __future__ import annotations

from collections import OrderedDict

from handrail.model.incident import Incident

KEPT = 512


class Folds:
    """By incident. A journal only grows, so an older fold is a correct beginning."""

    def __init__(self) -> None:
        self._kept: OrderedDict[str, Incident] = OrderedDict()

    def get(self, id_: str) -> Incident | None:
        found = self._kept.get(id_)
        if found is not None:
            self._kept.move_to_end(id_)
        return found

    def keep(self, incident: Incident) -> None:
        known = self._kept.get(incident.id)
        if known is None or known.seq < incident.seq:
            self._kept[incident.id] = incident
            self._kept.move_to_end(incident.id)
        while len(self._kept) > KEPT:
            self._kept.popitem(last=False)
