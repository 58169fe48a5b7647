"""Alertmanager as a source: which alerts it keeps quiet about, and by whose will. Reads only, and never sets a silence.

Its API v2 is the only place where that can be seen: a notification says nothing of the alerts that it leaves out.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote

from handrail.adapters import bounded
from handrail.adapters.settings import Secret
from handrail.core.redact import neutral
from handrail.model.config import AlertmanagerConfig
from handrail.model.errors import BadConfig, Permanent
from handrail.model.silence import Silence, Standing

MOST_BYTES = 8 * 1024 * 1024
MOST_LABELS = 64
TEXT = 200


class Alertmanager:
    """`token` gives the bearer token as it is now; by default the one that the configuration names.

    Raises BadConfig for a URL that is none.
    """

    def __init__(self, config: AlertmanagerConfig, token: Callable[[], str] | None = None) -> None:
        if not config.url.startswith(("http://", "https://")):
            raise BadConfig("alertmanager.url: must begin with http:// or https://")
        self._url = config.url.rstrip("/") + "/api/v2"
        self._server = bounded.Server("Alertmanager", "alertmanager.url", config.seconds, MOST_BYTES)
        self._token = token or (Secret(config.token, "alertmanager.token") if config.token else None)

    async def standings(self, name: str) -> tuple[Standing, ...]:
        """Every alert of this name that fires there, silenced or not. Raises Transient, Permanent."""
        return tuple(_standing(entry) for entry in await self._alerts(_matcher("alertname", name)))

    async def silence(self, id_: str) -> Silence:
        """Raises Transient, Permanent."""
        found = await self._get(f"/silence/{quote(id_[:80], safe='')}", ())
        try:
            until = datetime.fromisoformat(str(found["endsAt"])).astimezone(UTC)
            return Silence(id=id_, by=_text(found.get("createdBy")), comment=_text(found.get("comment")), until=until)
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise Permanent("Alertmanager answers with something that is no silence") from error

    async def names_of(self, fingerprints: Iterable[str]) -> tuple[str, ...]:
        """What those alerts are called, as far as they still fire. Raises Transient, Permanent."""
        wanted = {*fingerprints}
        found = [entry for entry in await self._alerts("") if str(entry.get("fingerprint")) in wanted]
        return tuple(sorted({_standing(entry).labels.get("alertname", "")[:TEXT] for entry in found} - {""}))

    async def version(self) -> str:
        """Raises Transient, Permanent."""
        found = await self._get("/status", ())
        if not isinstance(found, dict):
            raise Permanent("Alertmanager answers with something that is no status")
        about = found.get("versionInfo")
        return _text(about.get("version")) if isinstance(about, dict) else ""

    async def _alerts(self, matcher: str) -> list[dict[str, Any]]:
        shown = [(state, "true") for state in ("active", "silenced", "inhibited", "unprocessed")]
        found = await self._get("/alerts", [*shown, *([("filter", matcher)] if matcher else [])])
        if not isinstance(found, list):
            raise Permanent("Alertmanager answers with something that is no list of alerts")
        return [entry for entry in found if isinstance(entry, dict)]

    async def _get(self, path: str, asked: bounded.Query) -> Any:
        raw = await bounded.get(self._server, self._url + path, asked, self._token() if self._token else "")
        try:
            return json.loads(raw)
        except (ValueError, RecursionError) as error:
            raise Permanent("Alertmanager answers with something that is no JSON") from error


def _matcher(label: str, text: str) -> str:
    """In the syntax of its matchers; the text may hold anything."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'{label}="{escaped}"'


def _standing(entry: dict[str, Any]) -> Standing:
    status = entry.get("status")
    said = status if isinstance(status, dict) else {}
    labels = entry.get("labels")
    pairs = list(labels.items())[:MOST_LABELS] if isinstance(labels, dict) else []
    return Standing(
        labels={str(name): str(text) for name, text in pairs},
        silences=_ids(said.get("silencedBy")),
        inhibited_by=_ids(said.get("inhibitedBy")),
        muted_by=_ids(said.get("mutedBy")),
    )


def _ids(found: object) -> tuple[str, ...]:
    return tuple(str(one)[:80] for one in found[:20]) if isinstance(found, list) else ()


def _text(found: object) -> str:
    """On one line and short: it ends on a card."""
    return " ".join(neutral(str(found or "")[: TEXT * 4]).split())[:TEXT]
