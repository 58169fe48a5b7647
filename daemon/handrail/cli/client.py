"""How the CLI reaches the daemon: its socket on this machine, or its address with a Kubernetes token.

Next to nothing is imported, so that a verb answers at once. On SQLite everything goes through the daemon, never
beside it.
"""

from __future__ import annotations

import functools
import http.client
import json
import os
import socket
import urllib.parse
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

import click

from handrail.cli.ending import Refused, WrongCall, say, waiting
from handrail.cli.shapes import REPLY, Shape, fits
from handrail.core.redact import neutral

SECONDS = 15.0

P = ParamSpec("P")
R = TypeVar("R")


@dataclass(frozen=True)
class Client:
    """`get` and `post` return the JSON answer, that of a refused wish too; every other end, also an answer of another
    shape, is raised as the ClickException that has the exit code for it, in a line that says what to do."""

    server: str
    socket_path: str
    token: str

    def get(self, path: str, shape: Shape = dict) -> Any:
        return self._call("GET", path, None, shape)

    def post(self, path: str, body: dict[str, Any]) -> Any:
        return self._call("POST", path, body, REPLY)

    def text(self, path: str) -> str:
        status, data = self._raw("GET", path, None)
        if status != 200:
            raise self._wrong(status, data)
        return neutral(data.decode(errors="replace"))

    def _call(self, method: str, path: str, body: dict[str, Any] | None, shape: Shape) -> Any:
        status, data = self._raw(method, path, body)
        if status not in (200, 409):
            raise self._wrong(status, data)
        found = _parsed(data)
        if not fits(found, shape):
            raise click.ClickException(
                f"what answers at {self._where} is no daemon of ours, or of another version than this command"
            )
        return found

    def _wrong(self, status: int, data: bytes) -> click.ClickException:
        """What is no daemon of ours refuses nothing: it only failed."""
        said = _parsed(data)
        if not isinstance(said, dict) or not isinstance(said.get("message"), str):
            text = flat(data.decode(errors="replace"))[:300] or "an empty answer"
            return click.ClickException(f"what answers at {self._where} is no daemon of ours: HTTP {status}, {text}")
        message = flat(said["message"])
        if status in (401, 403):
            return Refused(message, flat(str(said.get("reason") or "")))
        return WrongCall(message) if 400 <= status < 500 else click.ClickException(message)

    @property
    def _where(self) -> str:
        return self.socket_path or self.server

    def _raw(self, method: str, path: str, body: dict[str, Any] | None) -> tuple[int, bytes]:
        connection = self._connect()
        with waiting(self._where):
            return self._answer(connection, method, path, body)

    def _answer(
        self, connection: http.client.HTTPConnection, method: str, path: str, body: dict[str, Any] | None
    ) -> tuple[int, bytes]:
        headers = {"Content-Type": "application/json", "Connection": "close"}
        if self.token:
            headers["Authorization"] = f"Bearer {self.token}"
        try:
            connection.request(method, path, json.dumps(body) if body is not None else None, headers)
            answer = connection.getresponse()
            return answer.status, answer.read()
        except (OSError, http.client.HTTPException) as away:
            said = " ".join(str(away).split())[:200] or type(away).__name__
            raise click.ClickException(
                f"no daemon answers at {self._where}: {said}; is `handrail run` up?"
                " --server or --socket name another place"
            ) from away
        finally:
            connection.close()

    def _connect(self) -> http.client.HTTPConnection:
        if self.socket_path:
            return _SocketConnection(self.socket_path)
        try:
            url = urllib.parse.urlsplit(self.server)
            host, port = url.hostname, url.port
        except ValueError:
            host, port = None, None
        if host is None or url.scheme not in ("http", "https"):
            raise click.BadParameter(f"{self.server!r} is no http(s) address", param_hint="--server")
        kind = http.client.HTTPSConnection if url.scheme == "https" else http.client.HTTPConnection
        return kind(host, port, timeout=SECONDS)


class _SocketConnection(http.client.HTTPConnection):
    def __init__(self, path: str) -> None:
        super().__init__("localhost", timeout=SECONDS)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


def _parsed(data: bytes) -> Any:
    """None for what is no JSON, and for JSON's own null."""
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return None


def tell(answer: dict[str, Any], *, as_json: bool) -> None:
    """The answer to a wish. Raises Refused with the reason's word where the answer was no, WrongCall where what was
    wished can't be understood."""
    said, reason = flat(str(answer["message"])), str(answer.get("reason") or "")
    if not answer["ok"]:
        raise Refused(said, reason) if reason else WrongCall(said)
    facts = {key: value for key, value in answer.items() if key not in ("ok", "message", "reason")}
    say(said, as_json=as_json, **facts)


def flat(text: str) -> str:
    """Text of the world on one line, unable to steer a terminal: nothing in it looks like a line of ours."""
    return " ".join(neutral(text).split())


def _token(file: Path | None) -> str:
    """A token is one word: a whole file put in its place would break the request's header."""
    token = (file.read_text(errors="replace") if file else os.environ.get("HANDRAIL_TOKEN", "")).strip()
    if not token.isascii() or any(not 33 <= ord(sign) < 127 for sign in token):
        where = str(file) if file else "HANDRAIL_TOKEN"
        raise WrongCall(f"{where} holds no token; put the token alone there")
    return token


TOKEN_FILE = click.option(
    "--token-file",
    type=click.Path(path_type=Path, exists=True, dir_okay=False, readable=True),
    help="Else HANDRAIL_TOKEN.",
)
SOCKET = click.option("--socket", "socket_path", envvar="HANDRAIL_SOCKET", default="", help="The daemon's socket.")
SERVER = click.option(
    "--server",
    envvar="HANDRAIL_SERVER",
    default="http://127.0.0.1:8080",
    show_default=True,
    help="The daemon's address (`kubectl port-forward` brings it here).",
)


def with_client(command: Callable[Concatenate[Client, P], R]) -> Callable[..., R]:
    """Adds the options that name the daemon, and passes a Client as the first argument."""

    @functools.wraps(command)
    def wrapped(*args: Any, server: str, socket_path: str, token_file: Path | None, **options: Any) -> R:
        return command(Client(server, socket_path, _token(token_file)), *args, **options)

    return SERVER(SOCKET(TOKEN_FILE(wrapped)))
