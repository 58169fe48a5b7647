"""Secrets from files or the environment, read again when they change. Never logged, never in the configuration."""

from __future__ import annotations

import os
from pathlib import Path

from handrail.model.config import SecretRef
from handrail.model.errors import BadConfig


class Secret:
    """Call it for the value as it is now; a file is read anew when its time or size has changed.

    Raises BadConfig when it is missing, empty or more than one line: an empty token would be sent as one, and a line
    break inside is never part of a token but of a whole file that was put in its place.
    """

    def __init__(self, ref: SecretRef, name: str) -> None:
        self._ref = ref
        self._name = name
        self._stamp: tuple[int, int, int] | None = None
        self._value = ""

    def __call__(self) -> str:
        value = self._from_file() if self._ref.file else os.environ.get(self._ref.env, "").strip()
        where = f"file {self._ref.file}" if self._ref.file else f"environment variable {self._ref.env}"
        if not value:
            raise BadConfig(f"{self._name}: {where} is missing or empty; put the secret there")
        if any(ord(sign) < 32 for sign in value):
            raise BadConfig(f"{self._name}: {where} holds more than one line; put the secret alone there")
        return value

    def _from_file(self) -> str:
        path = Path(self._ref.file)
        try:
            status = path.stat()
            stamp = (status.st_mtime_ns, status.st_size, status.st_ino)
            if stamp != self._stamp:
                self._value = path.read_text(encoding="utf-8").strip()
                self._stamp = stamp
        except (OSError, UnicodeDecodeError) as unreadable:
            raise BadConfig(f"{self._name}: {path} can't be read: {unreadable}") from unreadable
        return self._value
