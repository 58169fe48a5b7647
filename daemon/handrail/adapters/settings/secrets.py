"""Secrets from files or the environment, read again when they change. Never logged, never in the configuration."""

from __future__ import annotations

import os
from pathlib import Path

from handrail.model.config import SecretRef
from handrail.model.errors import BadConfig


class Secret:
    """Call it for the value as it is now; a file is read anew when its time or size has changed.

    Raises BadConfig when it is missing or empty: an empty token would be sent as one.
    """

    def __init__(self, ref: SecretRef, name: str) -> None:
        self._ref = ref
        self._name = name
        self._stamp: tuple[int, int, int] | None = None
        self._value = ""

    def __call__(self) -> str:
        value = self._from_file() if self._ref.file else os.environ.get(self._ref.env, "").strip()
        if not value:
            where = f"file {self._ref.file}" if self._ref.file else f"environment variable {self._ref.env}"
            raise BadConfig(f"{self._name}: {where} is missing or empty; put the secret there")
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
