"""Writes the chart's generated files from the code: `make chart`. A test fails while they differ."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import handrail_remediations
from handrail.core.admission import parts
from handrail.core.allow import NEVER, OPENED
from handrail.core.rights import DESK, EYES, deeds, needs_of
from handrail.model.config import Config
from handrail.model.policy import Policy
from handrail.model.step import Rule

CHART = Path(__file__).parent / "handrail"

PULL = ["Always", "IfNotPresent", "Never"]
STRINGS = {"type": "object", "additionalProperties": {"type": "string"}}
FLAG = {"type": "boolean"}
OBJECTS = {"type": "array", "items": {"type": "object"}}


def rights() -> str:
    """What templates/hands.yaml chooses from: the rules of the eyes, and of each step on each of its kinds."""
    steps = handrail_remediations.catalogue()
    data = {
        "never": sorted(NEVER),
        "eyes": [_rule(rule) for rule in (*EYES, *DESK)],
        "deeds": {
            deed.key: {
                "step": deed.step,
                "kind": deed.kind,
                "everywhere": deed.kind in OPENED,
                "rules": [_rule(rule) for rule in needs_of(steps[deed.step], deed.kind)],
            }
            for deed in deeds(steps)
        },
    }
    return json.dumps(data, indent=2) + "\n"


def _rule(rule: Rule) -> dict[str, Any]:
    return rule.model_dump(mode="json", exclude={"kinds"})


def schema() -> str:
    """JSON Schema of the values: `config` and `policy` are the daemon's own trees."""
    config = Config.model_json_schema()
    policy = Policy.model_json_schema()
    definitions = {**config.pop("$defs", {}), **policy.pop("$defs", {})}
    config["required"] = ["cluster", "kafka"]
    config["properties"].pop("policy")
    data: dict[str, Any] = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Values of the Handrail chart",
        "type": "object",
        "additionalProperties": False,
        "required": ["config", "policy"],
        "properties": {
            "global": {"type": "object"},
            "image": _closed(repository=_text(1), tag=_text(), pullPolicy={"enum": PULL}),
            "nameOverride": _text(),
            "fullnameOverride": _text(),
            "config": config,
            "secrets": {
                "type": "array",
                "items": {
                    **_closed(name={"type": "string", "pattern": "^[a-z0-9-]{1,40}$"}, secretName=_text(1)),
                    "required": ["name", "secretName"],
                },
            },
            "policy": policy,
            "hands": _closed(enabled=FLAG),
            "replicas": {"type": ["integer", "null"], "minimum": 1, "maximum": 20},
            "migration": _closed(
                enabled=FLAG,
                user=_text(),
                secretName=_text(),
                key={"type": "string", "pattern": "^[-._a-zA-Z0-9]{1,253}$"},
                seconds={"type": "integer", "minimum": 30, "maximum": 86400},
            ),
            "podDisruptionBudget": _closed(enabled=FLAG),
            "persistence": _closed(size=_text(1), storageClass=_text()),
            "resources": {"type": "object"},
            "serviceAccount": _closed(annotations=STRINGS),
            "networkPolicy": _closed(enabled=FLAG, http=OBJECTS, intake=OBJECTS, egress=OBJECTS),
            "serviceMonitor": _closed(enabled=FLAG, interval=_text(1), labels=STRINGS),
            "prometheusRule": _closed(enabled=FLAG, labels=STRINGS),
            "imagePullSecrets": OBJECTS,
            "podAnnotations": STRINGS,
            "priorityClassName": _text(),
            "nodeSelector": STRINGS,
            "tolerations": OBJECTS,
            "affinity": {"type": "object"},
            "topologySpreadConstraints": OBJECTS,
        },
        "$defs": definitions,
    }
    return json.dumps(data, indent=2) + "\n"


def _text(least: int = 0) -> dict[str, Any]:
    return {"type": "string", "minLength": least} if least else {"type": "string"}


def _closed(**properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "additionalProperties": False, "properties": properties}


def admission() -> str:
    """What templates/admission.yaml puts together: a CEL form for each step on each kind, and a namespace's stop."""
    return json.dumps(parts(handrail_remediations.catalogue()), indent=2) + "\n"


FILES = {
    CHART / "files" / "rights.json": rights,
    CHART / "files" / "admission.json": admission,
    CHART / "values.schema.json": schema,
}


def main() -> None:
    for path, make in FILES.items():
        path.write_text(make(), encoding="utf-8")
        print(f"wrote {path.relative_to(CHART.parent)}", file=sys.stderr)


if __name__ == "__main__":
    main()
