"""How the CLI reaches the daemon: its socket on this machine, or its address with a Kubernetes token.

Next to nothing is imported, so that a verb answers at once. On SQLite everything goes through the daemon, never
beside it.
"""

from __future__ import annotations

import http.client
import json
import os
import socket
import urllib.parse
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import click

from handrail.core.redact import neutral

SECONDS = 15.0

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True)
class Client:
    """`get` and `post` return the JSON answer; an error ends the command with a line that says what to do."""

    server: str
    socket_path: str
    token: str

    def get(self, path: str) -> Any:
        return self._call("GET", path, None)

    def post(self, path: str, body: dict[str, Any]) -> Any:
        return self._call("POST", path, body)

    def text(self, path: str) -> str:
        status, data = self._raw("GET", path, None)
        if status != 200:
            raise click.ClickException(_message(data))
        return data.decode()

    def _call(self, method: str, path: str, body: dict[str, Any] | None) -> Any:
        status, data = self._raw(method, path, body)
        if status not in (200, 409):
            raise click.ClickException(_message(data))
        try:
            return json.loads(data)
        except (ValueError, RecursionError) as other:
            raise click.ClickException(f"what answers at {self._where} is no daemon of ours") from other

    @property
    def _where(self) -> str:
        return self.socket_path or self.server

    def _raw(self, method: str, path: str, body: dict[str, Any] | None) -> tuple[int, bytes]:
        headers = {"Content-Type": "application/json", "Connection": "close"}
        if self.token:
            headers["Authorization"] = f"Bearer {self.token}"
        connection = self._connect()
        try:
            connection.request(method, path, json.dumps(body) if body is not None else None, headers)
            answer = connection.getresponse()
            return answer.status, answer.read()
        except (OSError, http.client.HTTPException) as away:
            said = " ".join(str(away).split())[:200] or type(away).__name__
            raise click.ClickException(f"no daemon answers at {self._where}: {said}; is `handrail run` up?") from away
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


def _message(data: bytes) -> str:
    try:
        return str(json.loads(data)["message"])
    except (ValueError, KeyError, TypeError, RecursionError):
        return data.decode(errors="replace")[:300] or "the daemon gave an empty answer"


def told(answer: dict[str, Any]) -> str:
    """The sentence of a wish that was granted. Raises ClickException with the reason's word for one that was not."""
    said = str(answer["message"])
    if not answer["ok"]:
        raise click.ClickException(f"{answer['reason']}: {said}" if answer.get("reason") else said)
    return said


def flat(text: str) -> str:
    """Text of the world on one line, unable to steer a terminal: nothing in it looks like a line of ours."""
    return " ".join(neutral(text).split())


def _token(file: Path | None) -> str:
    """A token is one word: a whole file put in its place would break the request's header."""
    token = (file.read_text(errors="replace") if file else os.environ.get("HANDRAIL_TOKEN", "")).strip()
    if not token.isascii() or any(not 33 <= ord(sign) < 127 for sign in token):
        where = str(file) if file else "HANDRAIL_TOKEN"
        raise click.ClickException(f"{where} holds no token; put the token alone there")
    return token


def with_client(command: F) -> F:
    """Adds the options that name the daemon, and passes a Client as the first argument."""

    def wrapped(*args: Any, server: str, socket_path: str, token_file: Path | None, **options: Any) -> Any:
        token = _token(token_file)
        return command(Client(server, socket_path, token), *args, **options)

    wrapped.__name__ = command.__name__
    wrapped.__doc__ = command.__doc__
    for option in (
        click.option(
            "--token-file",
            type=click.Path(path_type=Path, exists=True, dir_okay=False, readable=True),
            help="Else HANDRAIL_TOKEN.",
        ),
        click.option("--socket", "socket_path", envvar="HANDRAIL_SOCKET", default="", help="The daemon's socket."),
        click.option(
            "--server",
            envvar="HANDRAIL_SERVER",
            default="http://127.0.0.1:8080",
            show_default=True,
            help="The daemon's address (`kubectl port-forward` brings it here).",
        ),
    ):
        wrapped = option(wrapped)
    return wrapped  # type: ignore[return-value]
