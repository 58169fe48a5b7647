"""`/handrail stop|start|status` as Slack sends it, read into what is meant. Pure; never decides who may.

A phone turns two hyphens into a dash and straight quotes into curly ones; both are taken for what was typed. What can't
be read is answered with how to write it: a stop that meant a namespace must not become one of everything, nor a start.
"""

from __future__ import annotations

from typing import Any

from handrail.model.switch import EVERYTHING, Reach, Scope
from handrail.model.value import Value

COMMAND = "/handrail"
USAGE = (
    f"`{COMMAND} stop REASON`, `{COMMAND} stop --in-namespace NS REASON`, `{COMMAND} stop --step NAME REASON`,"
    f" `{COMMAND} start` with the same options, or `{COMMAND} status`"
)
MOST_WHY = 500
_DASHES = ("—", "–", "--")
_FLAGS = {"in-namespace": Scope.NAMESPACE, "step": Scope.STEP}
_QUOTES = "\"'“”„‘’«»"


class Command(Value):
    """`user` is the member's id; `respond` the address that Slack gave for the answer."""

    user: str
    text: str
    respond: str


class Order(Value):
    verb: str
    reach: Reach = EVERYTHING
    why: str = ""


def heard(kind: str, payload: Any) -> Command | None:
    """The command of an envelope; None for what is none of ours."""
    if kind != "slash_commands" or not isinstance(payload, dict) or payload.get("command") != COMMAND:
        return None
    user, text, respond = payload.get("user_id"), payload.get("text") or "", payload.get("response_url")
    if not (isinstance(user, str) and isinstance(text, str) and isinstance(respond, str)):
        return None
    return Command(user=user, text=text[: MOST_WHY * 4], respond=respond)


def read(text: str) -> Order | None:
    """None where it can't be read with certainty."""
    words = text.split()
    verb = words.pop(0).lower() if words else ""
    if verb not in ("stop", "start", "status") or (verb == "status" and words):
        return None
    reach = EVERYTHING
    while words and (flag := _flag(words[0])) is not None:
        words.pop(0)
        if flag == "reason":
            break
        if flag not in _FLAGS or not words or reach != EVERYTHING:
            return None
        reach = Reach(scope=_FLAGS[flag], name=words.pop(0).strip(_QUOTES)[:100])
    why = " ".join(words).strip(_QUOTES)[:MOST_WHY]
    if (verb == "start" and why) or (verb == "stop" and not why) or (reach != EVERYTHING and not reach.name):
        return None
    return Order(verb=verb, reach=reach, why=why)


def _flag(word: str) -> str | None:
    dash = next((dash for dash in _DASHES if word.startswith(dash)), None)
    return None if dash is None else word.removeprefix(dash).lower()
