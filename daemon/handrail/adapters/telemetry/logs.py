"""Structured logs: JSON for machines, text for a terminal. Library chatter only from warnings on."""

from __future__ import annotations

import logging
import sys

import structlog

from handrail.model.config import LogConfig


def configure_logs(config: LogConfig) -> None:
    level = getattr(logging, config.level.upper())
    renderer = (
        structlog.processors.JSONRenderer(sort_keys=False)
        if config.format == "json"
        else structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty())
    )
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.StackInfoRenderer(),
            structlog.processors.format_exc_info,
            renderer,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
    )
    logging.basicConfig(level=logging.WARNING, stream=sys.stderr, format="%(levelname)s %(name)s: %(message)s")
    for noisy in ("aiokafka", "slack_sdk", "kubernetes", "aiohttp.access"):
        logging.getLogger(noisy).setLevel(logging.CRITICAL)
