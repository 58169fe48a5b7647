"""Payloads as Slack builds them for clicks, slash commands, submitted views and events.

A click can be made only on an element that the message shows (or showed, when an earlier version is named): anything
else is a mistake of the test and raises LookupError.
"""

from __future__ import annotations

import json
from typing import Any

from tests.fakes.slack.blocks import actionable
from tests.fakes.slack.state import Hook, State, View
from tests.fakes.slack.workspace import APP, DOMAIN, TEAM, Message

Json = dict[str, Any]

VERIFICATION = "verification-token-of-old"


def _user(state: State, user: str) -> Json:
    known = state.workspace.users.get(user)
    if known is None:
        raise LookupError(f"no user {user}; there are {sorted(state.workspace.users)}")
    return {"id": user, "username": known.name, "name": known.name, "team_id": TEAM}


def _common(state: State, user: str) -> Json:
    return {
        "token": VERIFICATION,
        "api_app_id": APP,
        "team": {"id": TEAM, "domain": DOMAIN},
        "enterprise": None,
        "is_enterprise_install": False,
        "user": _user(state, user),
        "trigger_id": state.trigger(user),
    }


def response_url(state: State, base: str, hook: Hook) -> str:
    name = f"{state.workspace.number():016x}"
    state.hooks[name] = hook
    return f"{base}/actions/{name}"


def _find(message: Message, action_id: str) -> tuple[Json, Json]:
    offered = [(block, element) for block in message.blocks for _, element in actionable(block)]
    for block, element in offered:
        if element["action_id"] == action_id:
            return block, element
    there = [element["action_id"] for _, element in offered]
    raise LookupError(f"message {message.ts} shows no action {action_id!r}; it shows {there}")


def _picked(element: Json, choose: str | None) -> Json:
    """What the element adds to its action when it is used."""
    if element["type"] == "button":
        kept = ("text", "value", "style", "url", "confirm")
        return {name: element[name] for name in kept if name in element}
    if element["type"] == "users_select":
        return {"selected_user": choose}
    for option in element.get("options", []):
        if option["value"] == choose:
            name = "selected_options" if element["type"] == "checkboxes" else "selected_option"
            return {name: [option] if element["type"] == "checkboxes" else option}
    raise LookupError(f"{element['action_id']} has no option {choose!r}")


def block_actions(state: State, base: str, message: Message, action_id: str, user: str, choose: str | None) -> Json:
    """A person uses an element of the message as it stands in `message` (the current or an earlier version)."""
    block, element = _find(message, action_id)
    picked = _picked(element, choose)
    current = state.workspace.message(message.channel, message.ts)
    channel = state.workspace.channels[message.channel]
    container = {
        "type": "message",
        "message_ts": message.ts,
        "channel_id": message.channel,
        "is_ephemeral": message.ephemeral_to is not None,
    }
    if message.thread_ts is not None:
        container["thread_ts"] = message.thread_ts
    action = {"action_id": action_id, "block_id": block["block_id"], "type": element["type"], **picked}
    stateful = {} if element["type"] in ("button", "overflow") else {"type": element["type"], **picked}
    payload = {
        "type": "block_actions",
        **_common(state, user),
        "container": container,
        "channel": {"id": channel.id, "name": channel.name or "directmessage"},
        "state": {"values": {block["block_id"]: {action_id: stateful}} if stateful else {}},
        "response_url": response_url(state, base, Hook(message.channel, user, current)),
        "actions": [{**action, "action_ts": state.workspace.stamp()}],
    }
    if message.ephemeral_to is None:
        payload["message"] = message.shown()
    return payload


def slash(state: State, base: str, command: str, text: str, user: str, channel: str) -> Json:
    where = state.workspace.channel(channel)
    if where is None:
        raise LookupError(f"no channel {channel}")
    who = _user(state, user)
    return {
        "token": VERIFICATION,
        "team_id": TEAM,
        "team_domain": DOMAIN,
        "channel_id": where.id,
        "channel_name": where.name or "directmessage",
        "user_id": user,
        "user_name": who["username"],
        "command": command,
        "text": text,
        "api_app_id": APP,
        "is_enterprise_install": "false",
        "response_url": response_url(state, base, Hook(where.id, user, None)),
        "trigger_id": state.trigger(user),
    }


def view_submission(state: State, view: View, values: Json) -> Json:
    """`values` is block_id -> action_id -> element state, as in `view.state.values`."""
    body = {"id": view.id, "team_id": TEAM, "app_id": APP, "hash": "1.a", **view.body}
    body["state"] = {"values": json.loads(json.dumps(values))}
    return {"type": "view_submission", **_common(state, view.user), "view": body, "response_urls": []}


def event(state: State, inner: Json) -> Json:
    return {
        "token": VERIFICATION,
        "team_id": TEAM,
        "api_app_id": APP,
        "event": inner,
        "type": "event_callback",
        "event_id": f"Ev{state.workspace.number():08d}",
        "event_time": int(float(state.workspace.stamp())),
        "authorizations": [],
        "is_ext_shared_channel": False,
    }
