"""Structured logs: JSON for machines, text for a terminal, one object a line. Libraries only from warnings on."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable
from typing import Any

import structlog
from aiohttp.http import HttpProcessingError

from handrail.model.config import LogConfig

NOISY = ("aiokafka", "slack_sdk", "kubernetes", "aiohttp.access")
"""Each of them logs by the hundred what the adapters say once."""


class _NoHttp(logging.Filter):
    """What anybody may send that is no HTTP is no fault of ours: one line, of its kind alone, since the library's own
    words quote the header, which may hold a token."""

    def filter(self, record: logging.LogRecord) -> bool:
        wrong = record.exc_info[1] if record.exc_info else None
        if isinstance(wrong, HttpProcessingError):
            record.levelno, record.levelname = logging.WARNING, "WARNING"
            record.msg, record.args = "a request that is no HTTP: %s", (type(wrong).__name__,)
            record.exc_info = record.exc_text = None
        return True


_NO_HTTP = _NoHttp()


def configure_logs(config: LogConfig) -> None:
    """Ours and the libraries' alike, to standard error, in the same form."""
    chain = _chain()
    render = _renderer(config)
    structlog.configure(
        processors=[*chain, structlog.processors.format_exc_info, render],
        wrapper_class=structlog.make_filtering_bound_logger(getattr(logging, config.level.upper())),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=[*chain, structlog.stdlib.add_logger_name],
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                structlog.processors.format_exc_info,
                render,
            ],
        )
    )
    logging.root.handlers = [handler]
    logging.root.setLevel(logging.WARNING)
    logging.getLogger("aiohttp.server").addFilter(_NO_HTTP)
    quiet_libraries()


def quiet_libraries() -> None:
    for noisy in NOISY:
        logging.getLogger(noisy).setLevel(logging.CRITICAL)


def _chain() -> list[Callable[..., Any]]:
    return [
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.StackInfoRenderer(),
    ]


def _renderer(config: LogConfig) -> Callable[..., Any]:
    if config.format == "json":
        return structlog.processors.JSONRenderer(sort_keys=False)
    return structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty())
