"""What models answer on the main path, from the request that they got."""

from __future__ import annotations

import json
from typing import Any


def told(request: Any) -> dict[str, Any]:
    """The documents of a request by their name: MENU, EVIDENCE and the others."""
    documents = [turn["text"].partition("\n") for turn in request.body["messages"][0]["content"]]
    return {name: json.loads(text) for name, _, text in documents}


def sensible(request: Any) -> dict[str, Any]:
    """What a sensible model answers: the undo that the menu offers, for the cause that the facts show."""
    documents = told(request)
    undo = next(option for option in documents["MENU"]["options"] if "undo" in option["does"])
    proofs = [piece["id"] for piece in documents["EVIDENCE"] if piece["trust"] == "api"]
    return {
        "diagnosis": [
            {"statement": "The newest revision crashes at start.", "confidence": "high", "evidence": proofs[:2]}
        ],
        "can_plan": True,
        "why_not": "",
        "choices": [{"option": undo["id"], "numbers": []}],
        "expected_effect": "All three pods are ready again.",
        "would_disprove": "Pods of the old revision crash as well.",
    }
