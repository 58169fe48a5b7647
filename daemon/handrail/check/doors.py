"""Whether senders of alerts would be let in: each token by itself, and by a running daemon where there is one.

What is posted is an OTLP request without a single log record: it is answered, and nothing is taken in.
"""

from __future__ import annotations

import aiohttp

from handrail.adapters.http.senders import long_enough
from handrail.adapters.http.server import listen_address
from handrail.adapters.settings import Secret
from handrail.check.lines import Line, fail, ok
from handrail.model.config import Config, SecretRef
from handrail.model.doors import LOGS, path_of
from handrail.model.errors import BadConfig

SECONDS = 5.0
EVERYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1"}


async def intake(config: Config) -> list[Line]:
    """One line for each token."""
    url = _url(config)
    return [await _token(url, number, ref) for number, ref in enumerate(config.intake.http.tokens)]


async def _token(url: str, number: int, ref: SecretRef) -> Line:
    name = f"intake token {number}"
    try:
        token = long_enough(Secret(ref, f"intake.http.tokens.{number}")())
    except BadConfig as wrong:
        return fail(name, str(wrong))
    try:
        status = await _knock(url, token)
    except (TimeoutError, aiohttp.ClientError, OSError):
        return ok(name, f"can be read; no daemon listens at {url} now, so it was not tried")
    match status:
        case 200:
            return ok(name, f"opens the doors at {url}")
        case 401:
            return fail(name, f"is refused at {url}; does the daemon there run with this configuration?")
        case 404:
            return fail(
                name, f"there are no doors at {url}; the daemon there began without intake.http.tokens: restart it"
            )
        case _:
            return fail(name, f"{url} answers {status}; see `/readyz` of the daemon there")


async def _knock(url: str, token: str) -> int:
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/x-protobuf"}
    timeout = aiohttp.ClientTimeout(total=SECONDS)
    async with (
        aiohttp.ClientSession(timeout=timeout) as session,
        session.post(url + path_of(LOGS), data=b"", headers=headers, allow_redirects=False) as answer,
    ):
        return answer.status


def _url(config: Config) -> str:
    host, port = listen_address(config.http.intake or config.http.listen, "http.intake")
    host = EVERYWHERE.get(host, host)
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
