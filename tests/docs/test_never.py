"""The documents are true to the tree: named tests exist, links lead somewhere, diagram and examples are real."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
import yaml

from handrail.adapters.settings import load_policy
from handrail.core.lifecycle import diagram
from handrail.model.approval import Approvers
from handrail.model.config import Config

ROOT = Path(__file__).parents[2]
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
NEVER = (ROOT / "docs" / "never.md").read_text(encoding="utf-8")
NAMED = re.findall(r"`(tests/[\w/]+\.py)::(test_\w+)`", NEVER)
LINKS = [
    pytest.param(page, link, id=f"{page.name}: {link}")
    for page in PAGES
    for link in re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8"))
    if not link.startswith(("http://", "https://", "#"))
]
YAML = re.compile(r"^ *```yaml\n(.*?)^ *```", re.M | re.S)
POLICIES = sorted((ROOT / "policies").rglob("*.yaml"))
EXAMPLES = [
    pytest.param(block, id=f"{page.name} {number}")
    for page in PAGES
    for number, block in enumerate(
        re.findall(r"^ *```yaml\n(.*?)^ *```", page.read_text(encoding="utf-8"), re.M | re.S)
    )
]


def names_in(path: Path) -> set[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}


@pytest.mark.parametrize(("path", "name"), NAMED)
def test_the_test_that_a_promise_names_exists(path: str, name: str) -> None:
    assert (ROOT / path).is_file()
    assert name in names_in(ROOT / path)


def test_every_promise_names_a_test_and_no_name_is_misspelt() -> None:
    promises = re.split(r"^- ", NEVER, flags=re.M)[1:]
    assert len(promises) > 30
    assert [promise for promise in promises if "::test_" not in promise] == []
    assert NEVER.count("::") == len(NAMED)


@pytest.mark.parametrize(("page", "link"), LINKS)
def test_every_link_leads_to_a_file_of_the_tree(page: Path, link: str) -> None:
    assert (page.parent / link.partition("#")[0]).exists()


def test_the_diagram_of_the_walkthrough_is_the_table_of_the_code() -> None:
    text = (ROOT / "docs" / "walkthrough.md").read_text(encoding="utf-8")
    (drawn,) = re.findall(r"```mermaid\n(stateDiagram-v2\n.*?)\n```", text, re.S)
    assert drawn == diagram()


@pytest.mark.parametrize("path", POLICIES, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_policy_of_the_tree_loads(path: Path) -> None:
    assert load_policy(path).version == 1


@pytest.mark.parametrize("block", EXAMPLES)
def test_every_yaml_example_is_a_mapping_whose_known_parts_are_valid(block: str) -> None:
    found = yaml.safe_load(block)
    assert isinstance(found, dict)
    if "approvers" in found:
        Approvers.model_validate(found["approvers"])
    for key in found.keys() & Config.model_fields.keys():
        kind = Config.model_fields[key].annotation
        model = next((one for one in (kind, *getattr(kind, "__args__", ())) if hasattr(one, "model_validate")), None)
        if model is not None:
            model.model_validate(found[key])
