"""`python -m tests.fakes.messages --port 0 --json`: the fake Messages API as a process, driven under /_control."""

import asyncio

from tests.fakes.loopback import parser, serve
from tests.fakes.messages.server import MODELS, FakeMessages


def main() -> None:
    options = parser("A fake Messages API on loopback.")
    options.add_argument("--api-key", default="sk-ant-test")
    options.add_argument("--model", action="append", help="a model that it knows; may be repeated")
    given = options.parse_args()
    fake = FakeMessages(given.port, api_key=given.api_key, models=tuple(given.model or MODELS))
    asyncio.run(serve(fake, given.json))


main()
