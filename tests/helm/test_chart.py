"""The chart grants what `handrail rbac` says, holds no secret, and the real API server accepts it."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

from handrail.adapters.settings import load_config
from handrail.cli import cli
from handrail.model.value import Raw
from tests.helm.chart import CHART, EXAMPLES, OPERATORS, ROOT, Helm, admission, collection, rendered, rights
from tests.servers.control_plane import ControlPlane

pytestmark = pytest.mark.server

every_example = pytest.mark.parametrize("values", EXAMPLES, ids=lambda path: path.stem)


def test_the_generated_files_of_the_chart_equal_the_code() -> None:
    spec = importlib.util.spec_from_file_location("generate", ROOT / "helm" / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    generate = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(generate)
    for path, make in generate.FILES.items():
        assert path.read_text() == make(), f"{path.name} differs from the code: make chart"


@every_example
def test_lint_is_clean(helm: Helm, values: Path) -> None:
    done = helm("lint", "--strict", str(CHART), "-f", str(values))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "[WARNING]" not in done.stdout


@every_example
def test_the_chart_grants_exactly_what_handrail_rbac_prints(helm: Helm, values: Path, tmp_path: Path) -> None:
    defaults = yaml.safe_load((CHART / "values.yaml").read_text())
    path = tmp_path / "policy.yaml"
    path.write_text(yaml.safe_dump(yaml.safe_load(values.read_text()).get("policy") or defaults["policy"]))
    printed = CliRunner().invoke(cli, ["rbac", "--policy", str(path)], catch_exceptions=False).output
    assert rights(rendered(helm, values)) == rights(list(yaml.safe_load_all(printed)))


SOME_POLICIES: dict[str, Raw] = {
    "everywhere_but": {
        "rules": [{"namespaces": ["*"], "steps": {"scale_workload": "act"}}],
        "protected_namespaces": ["b"],
    },
    "some_and_all": {
        "rules": [
            {
                "namespaces": ["shop", "kube-system", "handrail"],
                "steps": {"rollout_undo": "ask", "scale_workload": "ask"},
            },
            {"namespaces": ["*"], "steps": {"scale_workload": "ask"}},
        ]
    },
    "some_kinds": {
        "rules": [
            {
                "namespaces": ["shop"],
                "kinds": ["Deployment"],
                "steps": {"rollout_restart": "ask", "rollout_undo": "ask", "delete_pod": "ask"},
            },
            {
                "namespaces": ["pay"],
                "kinds": ["StatefulSet", "Node"],
                "steps": {"rollout_undo": "ask", "cordon": "ask"},
            },
            {"namespaces": ["*"], "kinds": ["DaemonSet"], "steps": {"delete_pod": "ask", "rollout_restart": "ask"}},
            {"namespaces": ["*"], "kinds": ["Node"], "steps": {"uncordon": "ask", "rollout_undo": "ask"}},
        ]
    },
    "nodes_by_a_namespace": {"rules": [{"namespaces": ["shop"], "steps": {"cordon": "ask", "annotate": "act"}}]},
    "own_namespace_alone": {"rules": [{"namespaces": ["handrail"], "steps": {"rollout_undo": "ask"}}]},
    "observes": {"rules": [{"namespaces": ["shop"], "steps": {"rollout_undo": "observe"}}]},
}


@pytest.mark.parametrize("name", SOME_POLICIES)
def test_the_chart_has_exactly_the_rights_and_admission_policies_that_are_printed(
    helm: Helm, tmp_path: Path, name: str
) -> None:
    policy = {"version": 1, **SOME_POLICIES[name]}
    path, values = tmp_path / "policy.yaml", tmp_path / "values.yaml"
    path.write_text(yaml.safe_dump(policy))
    example = yaml.safe_load((ROOT / "helm" / "examples" / "ask.yaml").read_text())
    values.write_text(yaml.safe_dump({**example, "policy": policy}))
    said = {
        name: list(
            yaml.safe_load_all(CliRunner().invoke(cli, [name, "--policy", str(path)], catch_exceptions=False).output)
        )
        for name in ("admission", "rbac")
    }
    documents = rendered(helm, values)
    expected = admission(said["admission"])
    assert len(expected) == 4
    assert admission(documents) == expected
    assert rights(documents) == rights(said["rbac"])


def test_without_hands_nothing_but_reading_is_granted(helm: Helm, tmp_path: Path) -> None:
    values = tmp_path / "values.yaml"
    values.write_text((ROOT / "helm" / "examples" / "ask.yaml").read_text() + "\nhands: {enabled: false}\n")
    assert {name for _, _, name in rights(rendered(helm, values))} == {"handrail-eyes"}


@every_example
def test_the_configuration_in_the_chart_is_one_that_the_daemon_loads(helm: Helm, values: Path, tmp_path: Path) -> None:
    maps = [o for o in rendered(helm, values) if o["kind"] == "ConfigMap" and "handrail.yaml" in o["data"]]
    path = tmp_path / "handrail.yaml"
    path.write_text(maps[0]["data"]["handrail.yaml"])
    config = load_config(path)
    assert config.kubernetes.own_namespace == "handrail"
    assert config.kafka.group_instance_env == "HOSTNAME"


def test_a_missing_cluster_name_and_an_unknown_key_are_refused_by_the_schema(helm: Helm, tmp_path: Path) -> None:
    nameless = helm("template", "x", str(CHART))
    assert nameless.returncode != 0
    assert "name" in nameless.stderr
    values = tmp_path / "values.yaml"
    values.write_text((ROOT / "helm" / "examples" / "observe.yaml").read_text() + "\nreplica: 3\n")
    unknown = helm("template", "x", str(CHART), "-f", str(values))
    assert unknown.returncode != 0
    assert "replica" in unknown.stderr


@every_example
def test_secrets_stand_in_the_chart_by_reference_only(helm: Helm, values: Path) -> None:
    assert not [o for o in rendered(helm, values) if o["kind"] == "Secret"]


@every_example
def test_the_real_api_server_accepts_the_chart_in_a_dry_run(
    helm: Helm, values: Path, control_plane: ControlPlane
) -> None:
    for namespace in ("handrail", "shop", "payments"):
        control_plane.ensure_namespace(namespace)
    for document in rendered(helm, values):
        if document["kind"] in OPERATORS:
            continue
        answer = control_plane.api.call("POST", collection(document), document, dryRun="All", fieldValidation="Strict")
        assert answer.status == 201, f"{document['kind']} {document['metadata']['name']}: {answer.text}"
