"""Structured logs: JSON for machines, text for a terminal, one object a line. Libraries only from warnings on."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable
from typing import Any

import structlog

from handrail.model.config import LogConfig

NOISY = ("aiokafka", "slack_sdk", "kubernetes", "aiohttp.access")
"""Each of them logs by the hundred what the adapters say once."""


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
