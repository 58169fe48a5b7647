"""Which clusters the chart admits, and that budgets and freezes reach the daemon as they stand in the values."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from subprocess import CompletedProcess

import pytest
import yaml

from handrail.adapters.settings import load_policy
from handrail.model.value import Raw
from tests.helm.chart import CHART, LEAST, ROOT, Helm, one, rendered

pytestmark = pytest.mark.server

EXAMPLE = ROOT / "policies" / "examples" / "freezes.yaml"


@pytest.mark.parametrize("version", ["1.29.9", "1.24.0", "v1.29.14-eks-1234567"])
def test_a_cluster_older_than_1_30_is_refused_with_both_versions_named(
    helm: Helm, tmp_path: Path, version: str
) -> None:
    done = template(helm, tmp_path, version)
    assert done.returncode != 0
    assert "kubeVersion: >=1.30.0-0" in done.stderr
    assert version.removeprefix("v") in done.stderr


@pytest.mark.parametrize("version", ["1.30.0", "v1.30.14-gke.1234", "1.36.1", "2.0.0"])
def test_any_cluster_from_1_30_on_is_taken_also_a_vendors_build(helm: Helm, tmp_path: Path, version: str) -> None:
    done = template(helm, tmp_path, version)
    assert done.returncode == 0, done.stderr


def template(helm: Helm, folder: Path, version: str) -> CompletedProcess[str]:
    path = folder / "values.yaml"
    path.write_text(yaml.safe_dump(LEAST))
    return helm("template", "handrail", str(CHART), "-f", str(path), "--kube-version", version)


def test_windows_and_budgets_of_the_values_are_read_as_they_were_written(helm: Helm, tmp_path: Path) -> None:
    """As text of the values' file: helm and YAML have their own ideas of what looks like a time."""
    values = tmp_path / "values.yaml"
    policy = "\n".join(f"  {line}" for line in EXAMPLE.read_text().splitlines())
    values.write_text(f"{yaml.safe_dump(LEAST)}policy:\n{policy}\n")
    path = tmp_path / "policy.yaml"
    path.write_text(one(rendered(helm, values), "ConfigMap", "handrail-policy")["data"]["policy.yaml"])
    assert load_policy(path) == load_policy(EXAMPLE)
    assert load_policy(path).freezes[0].begins == datetime(2026, 12, 18, 17, tzinfo=UTC)


@pytest.mark.parametrize(
    ("policy", "where"),
    [
        ({"budgets": {"per_target": {"most": 0}}}, "/policy/budgets/per_target/most"),
        ({"budgets": {"per_node": {"most": 1}}}, "per_node"),
        ({"freezes": [{"name": "a", "reason": "b", "till": "x"}]}, "till"),
        ({"freezes": [{"name": "a", "reason": "b", "weekly": {"days": ["friday"]}}]}, "/policy/freezes/0/weekly"),
    ],
)
def test_a_budget_or_window_of_another_shape_is_refused_before_anything_is_installed(
    helm: Helm, tmp_path: Path, policy: Raw, where: str
) -> None:
    values = tmp_path / "values.yaml"
    values.write_text(yaml.safe_dump({**LEAST, "policy": {"version": 1, **policy}}))
    done = helm("template", "handrail", str(CHART), "-f", str(values))
    assert done.returncode != 0
    assert where in done.stderr, done.stderr
