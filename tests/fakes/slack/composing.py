"""Takes or refuses what an app wants to post: text, blocks, thread and metadata, with Slack's errors and limits.

Slack cuts a posted `text` at 40,000 characters and says so to nobody: here a `truncated` warning says it.
`chat.update` refuses from 4,001 characters on.
"""

from __future__ import annotations

import copy
import re
from typing import Any

from tests.fakes.slack.arguments import Arguments, Refused
from tests.fakes.slack.blocks import actionable, complain_of_blocks, too_long
from tests.fakes.slack.markup import Warned, links, marks
from tests.fakes.slack.state import State
from tests.fakes.slack.workspace import Channel

Json = dict[str, Any]

POST_TEXT = 40_000
UPDATE_TEXT = 4_000
_TS = re.compile(r"\d{10}\.\d{6}")


def _with_ids(state: State, blocks: list[Json]) -> list[Json]:
    """Slack names what the app left unnamed."""
    named = copy.deepcopy(blocks)
    for block in named:
        block.setdefault("block_id", f"b{state.workspace.number():04x}")
        for _, element in actionable(block):
            element.setdefault("action_id", f"a{state.workspace.number():04x}")
    return named


def accept_blocks(state: State, blocks: Any) -> list[Json]:
    """The blocks with ids filled in; raises Refused with every complaint."""
    complaints = complain_of_blocks(blocks)
    if complaints:
        raise Refused("invalid_blocks", complaints)
    if too_long(blocks):
        raise Refused("msg_blocks_too_long")
    return _with_ids(state, blocks)


def given_blocks(state: State, args: Arguments) -> list[Json] | None:
    """None when the call has no blocks; an empty list removes those of an earlier version."""
    raw = args.json("blocks", "invalid_blocks_format")
    if raw is None:
        return None
    if raw == []:
        return []
    return accept_blocks(state, raw)


def given_text(state: State, args: Arguments, method: str) -> str:
    text = args.text("text") or ""
    if method == "chat.update" and len(text) > UPDATE_TEXT:
        raise Refused("msg_too_long")
    if len(text) > POST_TEXT:
        state.warnings.append(Warned("truncated", method, f"text of {len(text)} characters"))
        text = text[:POST_TEXT]
    return text


def content(state: State, args: Arguments, method: str) -> tuple[str, list[Json] | None]:
    """Text and blocks of a post or an edit."""
    args.not_modelled("attachments", "markdown_text", "file_ids")
    parse = args.text("parse")
    args.ignore("link_names", "unfurl_links", "unfurl_media", "mrkdwn", "as_user", "reply_broadcast")
    text, blocks = given_text(state, args, method), given_blocks(state, args)
    if not text.strip() and not blocks:
        raise Refused("no_text")
    state.warnings.extend(marks(method, text, blocks or []))
    if method.startswith("chat."):
        state.warnings.extend(links(method, text, parse == "none", blocks or []))
    return text, blocks


def given_metadata(args: Arguments) -> Json | None:
    metadata = args.json("metadata", "invalid_metadata_format")
    if metadata is None:
        return None
    if (
        not isinstance(metadata, dict)
        or set(metadata) != {"event_type", "event_payload"}
        or not isinstance(metadata["event_type"], str)
        or not isinstance(metadata["event_payload"], dict)
    ):
        raise Refused("invalid_metadata_format")
    return metadata


def given_thread(state: State, args: Arguments, channel: Channel) -> str | None:
    """The thread to reply to. Slack can lose a reply to a message that is not there; here that is always an error."""
    ts = args.text("thread_ts")
    if ts is None:
        return None
    if not _TS.fullmatch(ts):
        raise Refused("invalid_thread_ts", [f"{ts} is not a valid thread_ts"])
    parent = state.workspace.message(channel.id, ts)
    if parent is None:
        raise Refused("thread_not_found")
    if parent.is_reply:
        state.warnings.append(Warned("reply_to_reply", "chat.postMessage", ts))
    return parent.thread_ts if parent.is_reply else ts


def reachable(state: State, named: str, to_write: bool = True) -> Channel:
    channel = state.workspace.channel(named)
    if channel is None or (channel.private and not channel.member):
        raise Refused("channel_not_found")
    if to_write and channel.archived:
        raise Refused("is_archived")
    if to_write and not channel.member:
        raise Refused("not_in_channel")
    return channel
