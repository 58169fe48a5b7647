"""The policy as it is now: the gate asks at every intent, so an operator's edit holds from the next write on."""

from __future__ import annotations

from pathlib import Path

import structlog

from handrail.adapters.settings.load import load_policy
from handrail.model.errors import BadConfig, Transient
from handrail.model.policy import Policy

log = structlog.get_logger("policy")


class PolicyFile:
    """Call it for the policy. A file that was good at start and is broken now stops everything, loudly: it raises
    Transient, since nobody can tell any more what is allowed."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._stamp: tuple[int, int, int] | None = None
        self._policy = load_policy(path)
        self._said = False

    def __call__(self) -> Policy:
        try:
            status = self._path.stat()
            stamp = (status.st_mtime_ns, status.st_size, status.st_ino)
            if stamp != self._stamp:
                self._policy = load_policy(self._path)
                self._stamp = stamp
        except (OSError, BadConfig) as broken:
            self._stamp = None
            raise Transient(f"the policy can't be read, so nothing is allowed: {broken}", retry_after=10.0) from broken
        return self._policy

    def last_good(self) -> Policy:
        """For what permits nothing: how old an alert may be, how many rounds, who may stop or say no. A policy that
        is broken now must not lose an alert, keep an incident from ending, or take the brake away."""
        self.problem()
        return self._policy

    def problem(self) -> str:
        """What is wrong with the file now, in one sentence; "" when nothing is. Logged once for each time it breaks."""
        try:
            self()
        except Transient as broken:
            if not self._said:
                log.error("the policy is broken", why=str(broken))
            self._said = True
            return str(broken)
        self._said = False
        return ""
