"""The reference is what the code says; `make docs` writes it anew."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

from handrail.core.publishing import schema
from tests.cli.support import handrail

ROOT = Path(__file__).parents[2]


def test_the_reference_equals_the_code() -> None:
    spec = importlib.util.spec_from_file_location("generate_docs", ROOT / "docs" / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    generate = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(generate)
    for path, make in generate.FILES.items():
        assert path.read_text(encoding="utf-8") == make(), f"{path.name} is not what the code says: `make docs`"


def test_the_schema_of_events_is_printed_whole() -> None:
    ran = handrail("schema", "events")
    assert (ran.code, json.loads(ran.out)) == (0, schema())
