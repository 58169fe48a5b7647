"""`python -m tests.fakes.slack --port 0 --json`: the fake Slack as a process, driven under /_control."""

import asyncio

from tests.fakes.loopback import parser, serve
from tests.fakes.slack.server import FakeSlack


def main() -> None:
    options = parser("A fake Slack on loopback.")
    options.add_argument("--bot-token", default="xoxb-test")
    options.add_argument("--app-token", default="xapp-test")
    options.add_argument("--ack-within", type=float, default=3.0, help="seconds")
    given = options.parse_args()
    fake = FakeSlack(given.port, bot_token=given.bot_token, app_token=given.app_token, ack_within=given.ack_within)
    asyncio.run(serve(fake, given.json))


main()
