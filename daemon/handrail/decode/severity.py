"""A sender's severity in our words; what we don't know is "" and says nothing."""

from __future__ import annotations

WORDS = {
    "critical": "critical",
    "crit": "critical",
    "fatal": "critical",
    "error": "error",
    "err": "error",
    "warning": "warning",
    "warn": "warning",
    "info": "info",
    "informational": "info",
    "none": "none",
}


def severity_of(text: str) -> str:
    """Compared without regard to case (Robusta compared it with, and raised where there was none)."""
    return WORDS.get(text.strip().lower(), "")
