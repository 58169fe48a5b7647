"""Slack: one card per incident kept up to date in place, its story as a thread, and the buttons under it."""

from handrail.adapters.slack.commands import USAGE, Command, read
from handrail.adapters.slack.desk import Posted, SlackDesk
from handrail.adapters.slack.socket import Click, ClickStream

__all__ = ["USAGE", "Click", "ClickStream", "Command", "Posted", "SlackDesk", "read"]
