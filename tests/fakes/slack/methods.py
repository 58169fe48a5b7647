"""The Web API methods that the fake answers, each with the scopes that a bot token needs for it.

A method not listed here is `unknown_method`, so a new use shows up in the first test that meets it.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from tests.fakes.slack.arguments import Arguments, Refused
from tests.fakes.slack.blocks import complain_of_view
from tests.fakes.slack.composing import content, given_metadata, given_thread, reachable
from tests.fakes.slack.state import State, View
from tests.fakes.slack.workspace import APP, BOT, BOT_USER, DOMAIN, TEAM, Message

Json = dict[str, Any]
Method = Callable[[State, Arguments], Json]

PAGE = 1000


def auth_test(state: State, args: Arguments) -> Json:
    return {
        "url": f"https://{DOMAIN}.slack.com/",
        "team": "Handrail test",
        "team_id": TEAM,
        "user": "handrail",
        "user_id": BOT_USER,
        "bot_id": BOT,
        "app_id": APP,
        "is_enterprise_install": False,
    }


def post_message(state: State, args: Arguments) -> Json:
    channel = reachable(state, args.needed("channel"))
    text, blocks = content(state, args, "chat.postMessage")
    thread, metadata = given_thread(state, args, channel), given_metadata(args)
    message = state.workspace.add(
        Message(channel.id, state.workspace.stamp(), BOT_USER, text, blocks or [], thread, metadata=metadata)
    )
    return {"channel": channel.id, "ts": message.ts, "message": message.shown()}


def update(state: State, args: Arguments) -> Json:
    """Without `blocks` the earlier ones stay; an empty list removes them."""
    named, ts = args.needed("channel"), args.needed("ts")
    if named not in state.workspace.channels:
        raise Refused("channel_not_found")  # an edit wants the encoded id
    channel = reachable(state, named)
    message = state.workspace.message(channel.id, ts)
    if message is None:
        raise Refused("message_not_found")
    if message.user != BOT_USER:
        raise Refused("cant_update_message")
    text, blocks = content(state, args, "chat.update")
    metadata = given_metadata(args)
    message.edit(text or message.text, message.blocks if blocks is None else blocks)
    message.metadata = metadata or message.metadata
    return {"channel": channel.id, "ts": ts, "text": message.text, "message": message.shown()}


def post_ephemeral(state: State, args: Arguments) -> Json:
    channel, user = reachable(state, args.needed("channel")), args.needed("user")
    if user not in state.workspace.users:
        raise Refused("user_not_in_channel")
    text, blocks = content(state, args, "chat.postEphemeral")
    message = Message(
        channel.id,
        state.workspace.stamp(),
        BOT_USER,
        text,
        blocks or [],
        given_thread(state, args, channel),
        ephemeral_to=user,
    )
    state.workspace.all.append(message)
    return {"message_ts": message.ts}


def conversation_info(state: State, args: Arguments) -> Json:
    args.ignore("include_locale", "include_num_members")
    return {"channel": reachable(state, args.needed("channel"), to_write=False).shown()}


def _page(messages: list[Message], args: Arguments) -> Json:
    inclusive, with_metadata = args.flag("inclusive"), args.flag("include_all_metadata")
    oldest, latest = args.text("oldest") or "0", args.text("latest") or "9999999999.999999"
    wanted = [m for m in messages if oldest < m.ts < latest or (inclusive and m.ts in (oldest, latest))]
    limit = min(args.number("limit", 100), PAGE)
    start = args.number("cursor", 0) if args.text("cursor") else 0
    page = [m.shown() for m in wanted[start : start + limit]]
    for each in page:
        if not with_metadata:
            each.pop("metadata", None)
    more = start + limit < len(wanted)
    body: Json = {"messages": page, "has_more": more}
    if more:
        body["response_metadata"] = {"next_cursor": str(start + limit)}
    return body


def history(state: State, args: Arguments) -> Json:
    """Newest first, without replies."""
    channel = reachable(state, args.needed("channel"), to_write=False)
    if not channel.member:
        raise Refused("not_in_channel")
    return _page([m for m in reversed(list(state.workspace.posted(channel.id))) if not m.is_reply], args)


def replies(state: State, args: Arguments) -> Json:
    """The parent first, then its replies, oldest first."""
    channel = reachable(state, args.needed("channel"), to_write=False)
    thread = state.workspace.thread(channel.id, args.needed("ts"))
    if not thread:
        raise Refused("thread_not_found")
    return _page(thread, args)


def user_info(state: State, args: Arguments) -> Json:
    args.ignore("include_locale")
    user = state.workspace.users.get(args.needed("user"))
    if user is None:
        raise Refused("user_not_found")
    return {"user": user.shown()}


def group_users(state: State, args: Arguments) -> Json:
    args.ignore("team_id")
    group, disabled = state.workspace.groups.get(args.needed("usergroup")), args.flag("include_disabled")
    if group is None or (group.disabled and not disabled):
        raise Refused("no_such_subteam")
    return {"users": list(group.users)}


def open_view(state: State, args: Arguments) -> Json:
    view = args.json("view", "invalid_arguments")
    trigger = state.triggers.get(args.needed("trigger_id"))
    complaints = complain_of_view(view)
    if complaints:
        raise Refused("invalid_arguments", complaints)
    if trigger is None:
        raise Refused("invalid_trigger_id")
    if trigger.used:
        raise Refused("exchanged_trigger_id")
    if time.monotonic() > trigger.expires:
        raise Refused("expired_trigger_id")
    trigger.used = True
    opened = View(f"V{state.workspace.number():08d}", trigger.user, view)
    state.views.append(opened)
    return {"view": {"id": opened.id, "team_id": TEAM, "app_id": APP, "bot_id": BOT, **view}}


def add_reaction(state: State, args: Arguments) -> Json:
    channel, name = reachable(state, args.needed("channel")), args.needed("name").strip(":")
    message = state.workspace.message(channel.id, args.needed("timestamp"))
    if message is None:
        raise Refused("message_not_found")
    users = message.reactions.setdefault(name, [])
    if BOT_USER in users:
        raise Refused("already_reacted")
    users.append(BOT_USER)
    return {}


METHODS: dict[str, tuple[str | None, Method]] = {
    "auth.test": (None, auth_test),
    "chat.postMessage": ("chat:write", post_message),
    "chat.update": ("chat:write", update),
    "chat.postEphemeral": ("chat:write", post_ephemeral),
    "conversations.info": ("channels:read", conversation_info),
    "conversations.history": ("channels:history", history),
    "conversations.replies": ("channels:history", replies),
    "users.info": ("users:read", user_info),
    "usergroups.users.list": ("usergroups:read", group_users),
    "views.open": (None, open_view),
    "reactions.add": ("reactions:write", add_reaction),
}
