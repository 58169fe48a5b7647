"""The database's errors in our words: away (try again), or said wrongly by us."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy.exc import DataError, DBAPIError, IntegrityError, ProgrammingError
from sqlalchemy.exc import TimeoutError as NoConnection

from handrail.model.errors import BadConfig, Bug, Transient

RETRY_SECONDS = 2.0

NOT_OURS = ("42", "3F")
"""PostgreSQL's classes for a right, a table or a column that is not there (any more): no record's fault, since values
are bound and our statements are fixed. They may come back, and nothing may be buried for them."""

TOO_LARGE = "54"
"""PostgreSQL's class of errors for what passes a limit of its own: sent again, it would again."""


@contextmanager
def translated() -> Iterator[None]:
    """Raises Transient where it may pass, Bug where our own statement was wrong."""
    try:
        yield
    except (ProgrammingError, DataError, IntegrityError) as ours:
        if _sqlstate(ours).startswith(NOT_OURS):
            raise _away(ours) from ours
        raise _ours(ours) from ours
    except (DBAPIError, NoConnection) as away:
        if _sqlstate(away).startswith(TOO_LARGE):
            raise _ours(away) from away
        raise _away(away) from away
    except BadConfig as no_password:
        raise Transient(f"the store can't be reached: {no_password}", retry_after=RETRY_SECONDS) from no_password


def _sqlstate(error: Exception) -> str:
    """Five letters of PostgreSQL's; "" of a file's errors."""
    return getattr(getattr(error, "orig", None), "sqlstate", None) or ""


def _ours(error: Exception) -> Bug:
    return Bug(f"the store said something wrong to its database: {getattr(error, 'orig', error)}")


def _away(error: Exception) -> Transient:
    cause = getattr(error, "orig", None) or error
    return Transient(f"the store is away: {' '.join(str(cause).split())}", retry_after=RETRY_SECONDS)
