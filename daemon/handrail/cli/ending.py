"""How every command ends: what it says, to people or with --json to scripts, and the exit code.

Never decides whether something is done, allowed or wrong: that is raised or returned by whoever knows.
"""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import click

from handrail.model.errors import BadConfig, Bug, HandrailError, NotAllowed

DONE, FAILED, WRONG, REFUSED, INTERRUPTED = 0, 1, 2, 3, 130
EXITS = {
    DONE: "done",
    FAILED: "failed, or nobody answers: look, or try again",
    WRONG: "the call or the configuration is wrong: change it",
    REFUSED: "refused: the answer was no (not allowed, expired, stale, stopped, not an approver)",
    INTERRUPTED: "Ctrl-C, or the question was answered with no",
}
"""Every command's, and nothing else ever."""

PROGRESS_SECONDS = 2.0


@dataclass
class Manner:
    """How this call wants to be answered, known once --json has been read."""

    as_json: bool = False


class WrongCall(click.ClickException):
    """The call names what is not there, or lacks something: the same call can't succeed."""

    exit_code = WRONG


class Refused(click.ClickException):
    """The answer was no. `reason` is the word of model/reason.py, "" where the other side gave none."""

    exit_code = REFUSED

    def __init__(self, message: str, reason: str = "") -> None:
        super().__init__(message)
        self.reason = reason

    def show(self, file: Any = None) -> None:
        said = f"{self.reason}: {self.message}" if self.reason else self.message
        click.echo(f"Error: {said}", file=file, err=file is None)


def _remember(context: click.Context, _option: click.Parameter, wanted: bool) -> bool:
    context.find_root().ensure_object(Manner).as_json = wanted
    return wanted


# Eager: a mistake in another option is then told in the same manner.
JSON = click.option("--json", "as_json", is_flag=True, is_eager=True, callback=_remember, help="For scripts.")


def show_json(found: Any) -> None:
    click.echo(json.dumps(found, indent=2))


def say(message: str, *, as_json: bool, ok: bool = True, reason: str = "", **facts: Any) -> None:
    """The answer of a command that does something; `facts` are for scripts alone."""
    if as_json:
        show_json({"ok": ok, "reason": reason, "message": message, **facts})
    else:
        click.echo(message)


@contextlib.contextmanager
def waiting(for_what: str) -> Iterator[None]:
    """Says on standard error every two seconds what is still waited for: nobody has to guess before a dead terminal."""
    over = threading.Event()

    def tell() -> None:
        while not over.wait(PROGRESS_SECONDS):
            click.echo(f"… waiting for {for_what}", err=True)

    telling = threading.Thread(target=tell, daemon=True)
    telling.start()
    try:
        yield
    finally:
        over.set()
        telling.join()


def end(wrong: Exception, manner: Manner) -> int:
    """Says what ended the command, and gives its exit code. Raises what is a fault of ours."""
    match wrong:
        case click.exceptions.Abort():
            return _told(_Plain("aborted"), manner, INTERRUPTED)
        case click.ClickException():
            return _told(wrong, manner, wrong.exit_code)
        case BadConfig():
            return _told(_Plain(str(wrong)), manner, WRONG)
        case NotAllowed():
            return _told(Refused(str(wrong)), manner, REFUSED)
        case Bug():
            raise wrong
        case HandrailError():
            return _told(click.ClickException(str(wrong)), manner, FAILED)
        case OSError():
            return _full(wrong)
    raise wrong


def _full(wrong: OSError) -> int:
    """What was to be said can't be written (a full disk): said where it still can be, if anywhere."""
    with contextlib.suppress(OSError):
        click.echo(f"handrail: {wrong.strerror or wrong}", err=True)
    return FAILED


class _Plain(click.ClickException):
    """Without click's word for errors: a configuration's mistakes, one a line."""

    def show(self, file: Any = None) -> None:
        click.echo(f"handrail: {self.message}", file=file, err=file is None)


def _told(wrong: click.ClickException, manner: Manner, code: int) -> int:
    if manner.as_json:
        reason = wrong.reason if isinstance(wrong, Refused) else ""
        say(wrong.format_message(), as_json=True, ok=False, reason=reason)
    else:
        wrong.show()
    return code
