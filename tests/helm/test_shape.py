"""What the chart renders: valid for every Kubernetes that it admits, hardened, shaped by the store that is named."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner
from kubernetes_validate.utils import validate

from handrail.adapters.kafka import EventTopic, Pulse
from handrail.adapters.publishing import Publisher
from handrail.adapters.settings import load_config
from handrail.adapters.store import Store
from handrail.adapters.telemetry import Gauges, Tally
from handrail.cli import cli
from handrail.model.config import KafkaConfig, TopicConfig
from handrail.model.value import Raw
from handrail.reconciler import contained
from tests.helm.chart import CHART, EXAMPLES, LEAST, OPERATORS, ROOT, Helm, one, rendered, with_values

pytestmark = pytest.mark.server

every_example = pytest.mark.parametrize("values", EXAMPLES, ids=lambda path: path.stem)

URL = "postgresql://handrail@db/handrail?sslmode=verify-full&sslrootcert=/etc/handrail/secrets/db/ca.crt"
ON_POSTGRES: Raw = {
    "config": {**LEAST["config"], "store": {"url": URL, "password": {"file": "/etc/handrail/secrets/db/password"}}},
    "secrets": [{"name": "db", "secretName": "handrail-db"}],
    "migration": {"user": "owner", "secretName": "handrail-owner"},
}


def pods(objects: list[Raw]) -> list[tuple[str, Raw]]:
    """Kind and pod template of everything that runs."""
    return [(o["kind"], o["spec"]["template"]) for o in objects if "template" in o.get("spec", {})]


def refused(helm: Helm, folder: Path, **values: Any) -> str:
    path = folder / "refused.yaml"
    path.write_text(yaml.safe_dump({**LEAST, **values}))
    done = helm("template", "handrail", str(CHART), "-f", str(path))
    assert done.returncode != 0
    return done.stderr


@pytest.mark.parametrize("version", ["1.30", "1.36"])
@every_example
def test_every_object_is_valid_where_no_unknown_field_is_let_through(helm: Helm, values: Path, version: str) -> None:
    objects = rendered(helm, values)
    checked = [o for o in objects if o["kind"] not in OPERATORS]
    for document in checked:
        validate(document, version, strict=True)
    assert len(checked) > 8


def test_the_least_that_must_be_given_is_valid_too(helm: Helm, tmp_path: Path) -> None:
    for document in with_values(helm, tmp_path):
        validate(document, "1.30", strict=True)


@every_example
def test_what_runs_is_no_root_writes_to_no_root_file_system_and_has_no_capability(helm: Helm, values: Path) -> None:
    for kind, template in pods(rendered(helm, values)):
        spec = template["spec"]
        assert spec["securityContext"]["runAsNonRoot"] is True
        assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        for container in spec["containers"]:
            assert container["securityContext"] == {
                "allowPrivilegeEscalation": False,
                "readOnlyRootFilesystem": True,
                "capabilities": {"drop": ["ALL"]},
            }
            assert "limits" in container["resources"]
        assert spec["automountServiceAccountToken"] is (kind != "Job"), "a token only for what speaks to the API server"
        assert not spec.keys() & {"hostNetwork", "hostPID", "hostIPC"}
        assert not any("hostPath" in volume for volume in spec["volumes"])


@every_example
def test_the_account_gives_its_token_to_nothing_that_does_not_ask(helm: Helm, values: Path) -> None:
    account = one(rendered(helm, values), "ServiceAccount")
    assert account["automountServiceAccountToken"] is False


def test_sqlite_is_one_pod_with_a_volume_and_without_a_budget(helm: Helm, tmp_path: Path) -> None:
    objects = with_values(helm, tmp_path)
    assert one(objects, "StatefulSet")["spec"]["replicas"] == 1
    assert not {"Deployment", "Job", "PodDisruptionBudget", "NetworkPolicy"} & {o["kind"] for o in objects}
    assert not OPERATORS & {o["kind"] for o in objects}
    assert "one writer" in refused(helm, tmp_path, replicas=3)


def test_postgresql_is_a_deployment_of_two_spread_out_with_a_budget(helm: Helm, tmp_path: Path) -> None:
    objects = with_values(helm, tmp_path, **ON_POSTGRES)
    spec = one(objects, "Deployment")["spec"]
    assert spec["replicas"] == 2
    spread = {each["topologyKey"] for each in spec["template"]["spec"]["topologySpreadConstraints"]}
    assert spread == {"topology.kubernetes.io/zone", "kubernetes.io/hostname"}
    assert one(objects, "PodDisruptionBudget")["spec"]["maxUnavailable"] == 1
    assert "StatefulSet" not in {o["kind"] for o in objects}
    assert not any("persistentVolumeClaim" in volume for volume in spec["template"]["spec"]["volumes"])


def test_the_owners_password_is_mounted_into_the_job_alone_and_the_daemons_nowhere_near_it(
    helm: Helm, tmp_path: Path
) -> None:
    objects = with_values(helm, tmp_path, **ON_POSTGRES)
    job = one(objects, "Job", "handrail-migration")
    volumes = {v["name"]: v["secret"] for v in job["spec"]["template"]["spec"]["volumes"] if "secret" in v}
    assert {name: (v["secretName"], [i["key"] for i in v["items"]]) for name, v in volumes.items()} == {
        "password": ("handrail-owner", ["password"]),
        "secret-db": ("handrail-db", ["ca.crt"]),
    }
    daemon = one(objects, "Deployment")["spec"]["template"]["spec"]
    assert "handrail-owner" not in str(daemon)
    hooks = job["metadata"]["annotations"]["helm.sh/hook"]
    assert hooks == "pre-install,pre-upgrade"
    assert job["spec"]["template"]["spec"]["containers"][0]["args"][-1] == "--grant-to=handrail"


def test_no_service_and_no_budget_takes_the_jobs_pod_for_one_of_the_daemons(helm: Helm, tmp_path: Path) -> None:
    objects = with_values(helm, tmp_path, **ON_POSTGRES, networkPolicy={"enabled": True})
    labels = one(objects, "Job", "handrail-migration")["spec"]["template"]["metadata"]["labels"]
    selectors = [one(objects, "Service")["spec"]["selector"]]
    selectors += [
        one(objects, kind)["spec"]["selector"]["matchLabels"] for kind in ("Deployment", "PodDisruptionBudget")
    ]
    selectors.append(one(objects, "NetworkPolicy")["spec"]["podSelector"]["matchLabels"])
    assert not [each for each in selectors if each.items() <= labels.items()]


def test_a_migration_without_a_role_a_path_without_a_secret_and_a_file_elsewhere_are_refused_in_words(
    helm: Helm, tmp_path: Path
) -> None:
    assert "migration.user" in refused(helm, tmp_path, **{**ON_POSTGRES, "migration": {}})
    assert "no entry of `secrets` has the name db" in refused(helm, tmp_path, **{**ON_POSTGRES, "secrets": []})
    config = {**LEAST["config"], "store": {"url": "sqlite:////tmp/x.db"}}
    assert "leave it out" in refused(helm, tmp_path, config=config)


def test_a_changed_configuration_rolls_the_pods_and_a_changed_policy_does_not(helm: Helm, tmp_path: Path) -> None:
    def checksum(**values: Any) -> str:
        template = one(with_values(helm, tmp_path, **values), "StatefulSet")["spec"]["template"]
        return str(template["metadata"]["annotations"]["checksum/config"])

    policy = {"version": 1, "rules": [{"namespaces": ["shop"], "steps": {"rollout_undo": "ask"}}]}
    assert checksum(policy=policy) == checksum()
    assert checksum(config={**LEAST["config"], "poll_seconds": 5}) != checksum()
    assert checksum(hands={"enabled": False}) != checksum()


@pytest.mark.parametrize("said", [True, False])
def test_hands_that_are_off_are_off_whatever_the_configuration_says(helm: Helm, tmp_path: Path, said: bool) -> None:
    config = {
        **LEAST["config"],
        "kubernetes": {"hands_enabled": said},
        "cluster": {"name": "c", "accept_unlabelled": said},
    }
    intake = {"http": {"tokens": [{"file": "/etc/handrail/secrets/s/t"}], "most_bytes": 4194304}}
    values = {"config": {**config, "intake": intake}, "secrets": [{"name": "s", "secretName": "s"}]}
    objects = with_values(helm, tmp_path, **values, hands={"enabled": not said})
    path = tmp_path / "handrail.yaml"
    path.write_text(one(objects, "ConfigMap")["data"]["handrail.yaml"])
    loaded = load_config(path)
    assert loaded.kubernetes.hands_enabled is not said
    assert loaded.cluster.accept_unlabelled is said
    assert loaded.intake.http.most_bytes == 4194304


@pytest.mark.parametrize("key", ["store", "intake", "http"])
def test_what_is_left_empty_in_the_configuration_counts_as_left_out(helm: Helm, tmp_path: Path, key: str) -> None:
    loaded = []
    for config in ({**LEAST["config"], key: {}}, LEAST["config"]):
        path = tmp_path / "handrail.yaml"
        path.write_text(one(with_values(helm, tmp_path, config=config), "ConfigMap")["data"]["handrail.yaml"])
        loaded.append(load_config(path))
    assert loaded[0] == loaded[1]


def test_alerts_by_http_come_in_at_a_port_and_a_service_of_their_own(helm: Helm, tmp_path: Path) -> None:
    intake = {"http": {"tokens": [{"file": "/etc/handrail/secrets/s/t"}]}}
    values = {"config": {**LEAST["config"], "intake": intake}, "secrets": [{"name": "s", "secretName": "s"}]}
    objects = with_values(helm, tmp_path, **values)
    assert one(objects, "Service", "handrail-intake")["spec"]["ports"][0]["port"] == 8081
    ports = one(objects, "StatefulSet")["spec"]["template"]["spec"]["containers"][0]["ports"]
    assert {port["name"]: port["containerPort"] for port in ports} == {"http": 8080, "intake": 8081}
    assert "handrail-intake" not in {o["metadata"]["name"] for o in with_values(helm, tmp_path)}


def test_a_network_policy_that_names_nobody_lets_nobody_in(helm: Helm, tmp_path: Path) -> None:
    spec = one(with_values(helm, tmp_path, networkPolicy={"enabled": True}), "NetworkPolicy")["spec"]
    assert (spec["policyTypes"], spec["ingress"]) == (["Ingress"], [])
    out = [{"ports": [{"port": 53, "protocol": "UDP"}]}]
    spec = one(with_values(helm, tmp_path, networkPolicy={"enabled": True, "egress": out}), "NetworkPolicy")["spec"]
    assert (spec["policyTypes"], spec["egress"]) == (["Ingress", "Egress"], out)


def chart_rules() -> list[Raw]:
    groups = yaml.safe_load((CHART / "files" / "alerts.yaml").read_text())["groups"]
    return [rule for group in groups for rule in group["rules"]]


def test_the_alerts_of_the_chart_are_those_of_the_page_and_stand_in_its_rule(helm: Helm) -> None:
    (block,) = re.findall(r"```yaml\n(groups:.*?)```", (ROOT / "docs" / "operations.md").read_text(), re.S)
    documented = yaml.safe_load(block)["groups"][0]["rules"]
    ours = [{k: v for k, v in rule.items() if k in ("alert", "expr", "for")} for rule in chart_rules()]
    assert ours == documented, "helm/handrail/files/alerts.yaml and docs/operations.md name different alerts"
    assert all(rule["annotations"]["summary"] for rule in chart_rules())
    rule = one(rendered(helm, ROOT / "helm" / "examples" / "postgres.yaml"), "PrometheusRule")
    assert [each["alert"] for each in rule["spec"]["groups"][0]["rules"]] == [each["alert"] for each in documented]


async def test_every_metric_that_an_alert_uses_is_on_the_page(tmp_path: Path) -> None:
    store = await Store.open(f"sqlite:///{tmp_path / 'handrail.db'}", cluster="c")
    gauges = Gauges(store, Pulse(last_poll=90.0), lambda: 100.0, tally=Tally())
    topic = EventTopic(KafkaConfig(bootstrap=("unused:1",), topics=(TopicConfig(name="a"),), events_topic="events"))
    gauges.publisher = Publisher("c", store.outbox("events"), topic, contained, lambda: 100.0)
    page = (await gauges.text()).decode()
    await store.close()
    used = {name for rule in chart_rules() for name in re.findall(r"handrail_\w+", rule["expr"])}
    assert len(used) >= 9
    assert used <= set(re.findall(r"^# TYPE (\w+)", page, re.M))


def test_the_monitor_finds_the_service_of_metrics_and_not_that_of_senders(helm: Helm) -> None:
    objects = rendered(helm, ROOT / "helm" / "examples" / "postgres.yaml")
    wanted = one(objects, "ServiceMonitor")["spec"]["selector"]["matchLabels"]
    found = [o for o in objects if o["kind"] == "Service" and wanted.items() <= o["metadata"]["labels"].items()]
    assert [o["metadata"]["name"] for o in found] == ["handrail"]
    assert found[0]["spec"]["ports"][0]["name"] == one(objects, "ServiceMonitor")["spec"]["endpoints"][0]["port"]


def test_the_notes_say_what_is_next_with_commands_that_exist(helm: Helm, tmp_path: Path) -> None:
    done = helm("install", "rail", str(CHART), "-n", "ops", "--dry-run=client", "-f", str(EXAMPLES[-1]))
    assert done.returncode == 0, done.stderr
    notes = done.stdout.rpartition("NOTES:")[2]
    assert "exec deployment/rail-handrail -- handrail check" in notes
    assert "shop: rollout_restart, rollout_undo" in notes
    assert "--name rail-handrail" in notes
    commands = set(re.findall(r"(?:^ +|-- )(handrail (?!-)[a-z-]+(?: [a-z]+)?)", notes, re.M))
    for command in commands:
        assert CliRunner().invoke(cli, [*command.split()[1:], "--help"]).exit_code == 0, command
    assert {"handrail check", "handrail incidents list", "handrail stop"} <= {c.strip() for c in commands}
