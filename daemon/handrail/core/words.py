"""Small words that card, story and report share: one line of text, a time, a time span, a person, a plural. Pure.

Never escapes for Slack or colours for a terminal. It keeps text on one line and short, and takes out what would steer
whatever shows it, since reports and stories are printed as they are.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta

from handrail.core.redact import neutral
from handrail.model.alert import Alert
from handrail.model.approval import Approvers
from handrail.model.reason import Reason

CUT = "…"


def one_line(text: str, most: int) -> str:
    """The text on a single line (every run of white space is one space) of at most `most` characters."""
    flat = " ".join(neutral(text[: most * 4]).split())
    return flat if len(flat) <= most else flat[: most - 1].rstrip() + CUT


def clock(at: datetime) -> str:
    return f"{at:%H:%M:%S} UTC"


def span(length: timedelta) -> str:
    """The two largest units: `3 s`, `2 min 5 s`, `1 h 12 min`, `2 d 3 h`. A negative span is `0 s`."""
    seconds = max(0, int(length.total_seconds()))
    if seconds < 60:
        return f"{seconds} s"
    units = (("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1))
    parts: list[str] = []
    for name, size in units:
        count, seconds = divmod(seconds, size)
        if count or parts:
            parts.append(f"{count} {name}" if count else "")
    return " ".join(part for part in parts[:2] if part)


def because(reason: Reason | None, detail: str, most: int = 600) -> str:
    """`REASON: detail`, on one line and without a full stop, since a sentence goes on after it."""
    said = one_line(detail, most).rstrip(".")
    if reason is None:
        return said
    return f"{reason}: {said}" if said else str(reason)


def plural(count: int, thing: str) -> str:
    return f"{count} {thing}" if count == 1 else f"{count} {thing}s"


def cut_off(alerts: Iterable[Alert]) -> list[str]:
    """One line where a sender says that it left alerts of a group out: what is here is not all that fires."""
    most = max((alert.left_out for alert in alerts), default=0)
    were = "was" if most == 1 else "were"
    return [f"{plural(most, 'more alert')} of its group {were} cut by Alertmanager (max_alerts)"] if most else []


def who_may(approvers: Approvers) -> str:
    """Everybody who may decide, as Person prints them; an empty list says that nobody may."""
    names = [f"slack:{user}" for user in approvers.slack_users]
    names += [f"kubernetes:{user}" for user in approvers.users]
    names += [f"kubernetes group {group}" for group in approvers.groups]
    names += ["local: the owner of the daemon's process"] if approvers.local else []
    if not names:
        return "nobody: the policy names no approver"
    return ", ".join(names[:20]) + (f" and {len(names) - 20} more" if len(names) > 20 else "")
