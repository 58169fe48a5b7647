"""Slack's refusals in our words: what passes by itself is Transient; what a person must mend is Permanent, with how."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import aiohttp
from slack_sdk.errors import SlackApiError, SlackClientError

from handrail.model.errors import Permanent, Transient

AWAY_SECONDS = 5.0
MOST_SECONDS = 300.0

_PASSES = frozenset(
    {
        "internal_error",
        "fatal_error",
        "service_unavailable",
        "request_timeout",
        "team_added_to_org",
        "accesslimited",
        "external_channel_migrating",
    }
)
_WHAT_TO_DO = {
    "invalid_auth": "the token is wrong or was revoked; put the current one where the configuration points",
    "not_authed": "no token was sent; put one where the configuration points",
    "account_inactive": "the app or its workspace was disabled; install the app again",
    "token_revoked": "the token was revoked; install the app again and use its new token",
    "token_expired": "the token has expired; use the app's current one",
    "not_allowed_token_type": "the tokens are mixed up: bot_token begins with xoxb-, app_token with xapp-",
    "missing_scope": "a scope is missing; add it to the app (docs/slack-app-manifest.yaml) and install it again",
    "channel_not_found": "slack.channel names no channel that the app can see; use the id (C…), and invite the app",
    "not_in_channel": "the app is not in the channel; type `/invite @handrail` there",
    "is_archived": "the channel is archived; name another one in slack.channel",
    "restricted_action": "the workspace forbids the app to post there; ask its administrators",
    "user_not_in_channel": "that person is not in the channel",
}


class Refused(Permanent):
    """Slack's own word for it is in `code`."""

    def __init__(self, code: str, doing: str, needed: str = "") -> None:
        hint = _WHAT_TO_DO.get(code, "look the word up in Slack's documentation of that method")
        super().__init__(f"Slack refused {doing}: {code}{f' ({needed})' if needed else ''}: {hint}")
        self.code = code


@contextmanager
def slack_errors(doing: str) -> Iterator[None]:
    """Raises Transient or Refused for whatever slack-sdk raises; `doing` is the method's name."""
    try:
        yield
    except SlackApiError as error:
        raise _ours(error, doing) from error
    except (SlackClientError, aiohttp.ClientError, TimeoutError, OSError) as away:
        why = f"{type(away).__name__}: {away}"[:200]
        raise Transient(f"Slack can't be reached for {doing}: {why}", retry_after=AWAY_SECONDS) from away
    except (AttributeError, ValueError) as odd:
        # slack-sdk trips over an answer that is no JSON object, as a proxy's page is
        raise Transient(f"Slack's answer to {doing} can't be read: {odd}"[:300], retry_after=AWAY_SECONDS) from odd


def _ours(error: SlackApiError, doing: str) -> Transient | Refused:
    response: Any = error.response
    status = int(getattr(response, "status_code", 0) or getattr(response, "status", 0) or 0)
    data = getattr(response, "data", None)
    body: dict[str, Any] = data if isinstance(data, dict) else {}
    code = str(body.get("error") or "")
    if status == 429 or code in ("ratelimited", "rate_limited"):
        return Transient(f"Slack wants fewer calls of {doing}", retry_after=_seconds(getattr(response, "headers", {})))
    if status >= 500 or code in _PASSES or not code:
        return Transient(f"Slack is not well ({doing}: HTTP {status} {code})", retry_after=AWAY_SECONDS)
    needed = str(body.get("needed") or "") or "; ".join(map(str, body.get("errors") or ()))[:300]
    return Refused(code, doing, needed)


def _seconds(headers: Any) -> float:
    """Retry-After, within reason."""
    given = str(headers.get("Retry-After") or headers.get("retry-after") or "") if headers else ""
    return min(MOST_SECONDS, float(given)) if given.isdigit() else 30.0
