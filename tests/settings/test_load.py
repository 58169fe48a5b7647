"""The operator's files: what is wrong is said with its path and what to do, and no secret is ever repeated."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

import handrail_remediations
from handrail.adapters.settings import STARTER, load_config, load_policy
from handrail.core.allow import unknown_steps
from handrail.model.config import Config, PlannerMode
from handrail.model.errors import BadConfig
from handrail.model.policy import Mode

POLICIES = Path(__file__).parents[2] / "policies"
SHIPPED = sorted(POLICIES.glob("**/*.yaml"))

LEAST: dict[str, Any] = {
    "cluster": {"name": "prod"},
    "kafka": {"bootstrap": ["kafka:9092"], "topics": [{"name": "alerts"}]},
    "policy": "policy.yaml",
}
SLACK = {"channel": "C1", "bot_token": {"file": "/b"}, "app_token": {"env": "APP"}}


def written(folder: Path, content: Any) -> Path:
    path = folder / "file.yaml"
    path.write_text(content if isinstance(content, str) else yaml.safe_dump(content))
    return path


def config_with(**more: Any) -> dict[str, Any]:
    return {**LEAST, **more}


def refused(folder: Path, content: Any) -> str:
    with pytest.raises(BadConfig) as wrong:
        load_config(written(folder, content))
    return str(wrong.value).replace(f"{folder / 'file.yaml'}: ", "")


def test_the_least_configuration_loads_with_safe_defaults(tmp_path: Path) -> None:
    config = load_config(written(tmp_path, LEAST))
    assert config.planner.mode is PlannerMode.RUNBOOK
    assert (config.http.listen, config.http.socket) == ("127.0.0.1:8080", "")
    assert config.slack is None


@pytest.mark.parametrize("cluster", ["my-cluster", "123", "yes", "a: b", "x#y", "{z}"])
def test_the_starter_loads_and_keeps_the_name_as_text(tmp_path: Path, cluster: str) -> None:
    config = load_config(written(tmp_path, STARTER.format(cluster=cluster)))
    assert config.cluster.name == cluster


def test_what_the_starter_only_shows_loads_too_once_it_is_uncommented(tmp_path: Path) -> None:
    lines = [line.replace("# ", "", 1) if line.lstrip().startswith("# ") else line for line in _shown()]
    config = load_config(written(tmp_path, "\n".join(lines)))
    assert config.slack is not None
    assert config.webhook is not None
    assert config.prometheus is not None
    assert config.kafka.security.sasl is not None
    assert config.planner.model.key is not None
    assert config.alerts.mapping.resolved == ("CLOSED",)


def _shown() -> list[str]:
    """The starter with its prose dropped and SASL switched on: every commented line left is configuration."""
    words = (
        "ca_file sasl mechanism username password kubeconfig model key name max_calls max_input_tokens slack channel"
    )
    words += " bot_token app_token webhook url prometheus alertmanager mapping status firing resolved"
    words += " namespace kind object"
    keys = tuple(f"{word}:" for word in words.split())
    text = STARTER.format(cluster="c").replace("protocol: PLAINTEXT", "protocol: SASL_SSL")
    return [
        line for line in text.splitlines() if not line.lstrip().startswith("#") or line.lstrip("# ").startswith(keys)
    ]


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.name)
def test_every_shipped_policy_loads_and_names_known_steps_only(path: Path) -> None:
    policy = load_policy(path)
    assert policy.rules
    assert unknown_steps(policy, handrail_remediations.catalogue()) == ()


FROZEN = {"name": "a", "reason": "b", "from": "2026-12-18T18:00:00Z", "until": "2027-01-04T06:00:00Z"}


@pytest.mark.parametrize("name", ["shop-*", "Shop", " shop", "shop/checkout", "", "s" * 64, "shop\n"])
@pytest.mark.parametrize(
    ("where", "given_"),
    [
        ("freezes.0.namespaces.0", lambda name: {"freezes": [{**FROZEN, "namespaces": [name]}]}),
        ("protected_namespaces.0", lambda name: {"protected_namespaces": [name]}),
        ("rules.0.namespaces.0", lambda name: {"rules": [{"namespaces": [name], "steps": {"cordon": "observe"}}]}),
    ],
)
def test_what_can_be_no_namespaces_name_is_refused_since_it_would_close_nothing(
    tmp_path: Path, name: str, where: str, given_: Callable[[str], dict[str, Any]]
) -> None:
    path = tmp_path / "policy.yaml"
    path.write_text(yaml.safe_dump({"version": 1, **given_(name)}))
    with pytest.raises(BadConfig, match="can be no namespace's name; names are exact") as refused:
        load_policy(path)
    assert str(refused.value).startswith(f"{path}: {where}: ")


def test_all_namespaces_are_written_as_a_star_but_nobody_protects_all(tmp_path: Path) -> None:
    path = tmp_path / "policy.yaml"
    path.write_text(yaml.safe_dump({"version": 1, "freezes": [{**FROZEN, "namespaces": ["*"]}]}))
    assert load_policy(path).freezes[0].namespaces == ("*",)
    path.write_text(yaml.safe_dump({"version": 1, "protected_namespaces": ["*"]}))
    with pytest.raises(BadConfig, match=r"protected_namespaces\.0: '\*' can be no namespace's name"):
        load_policy(path)


def test_the_default_policy_only_observes() -> None:
    modes = {mode for rule in load_policy(POLICIES / "observe.yaml").rules for mode in rule.steps.values()}
    assert modes == {Mode.OBSERVE}


def test_at_least_the_three_policies_of_the_docs_are_shipped() -> None:
    assert {"observe.yaml", "ask.yaml", "small-team.yaml"} <= {path.name for path in SHIPPED}


def test_an_unknown_key_is_named_with_its_path_and_the_nearest_known_one(tmp_path: Path) -> None:
    said = refused(tmp_path, config_with(kafka={**LEAST["kafka"], "dead_leter_topic": "x"}))
    assert said == "kafka.dead_leter_topic: unknown key; did you mean 'dead_letter_topic'?"


def test_an_unknown_key_that_is_near_nothing_lists_what_is_known(tmp_path: Path) -> None:
    assert refused(tmp_path, config_with(cluster={"name": "a", "zzz": 1})) == (
        "cluster.zzz: unknown key; known here: accept_unlabelled, name"
    )


def test_an_unknown_key_within_a_list_is_named_by_its_place(tmp_path: Path) -> None:
    topics = [{"name": "a"}, {"name": "b", "encodings": "auto"}]
    said = refused(tmp_path, config_with(kafka={"bootstrap": ["k:1"], "topics": topics}))
    assert said == "kafka.topics.1.encodings: unknown key; did you mean 'encoding'?"


def test_every_problem_is_said_at_once_one_a_line(tmp_path: Path) -> None:
    said = refused(tmp_path, {"cluster": {}, "kafka": {"bootstrap": [], "topics": "alerts"}, "polcy": "x"})
    assert said.splitlines() == [
        "cluster.name: is required; add it",
        "kafka.bootstrap: Tuple should have at least 1 item after validation, not 0 (got a list)",
        "kafka.topics: Input should be a valid tuple (got 'alerts')",
        "policy: is required; add it",
        "polcy: unknown key; did you mean 'policy'?",
    ]


@pytest.mark.parametrize(
    ("changed", "where"),
    [
        ({"poll_seconds": "soon"}, "poll_seconds: "),
        ({"poll_seconds": 0}, "poll_seconds: "),
        ({"planner": {"mode": "modle"}}, "planner.mode: "),
        ({"planner": {"model": {"max_calls": 11}}}, "planner.model.max_calls: "),
        ({"kubernetes": {"hands_enabled": "perhaps"}}, "kubernetes.hands_enabled: "),
        ({"cluster": "prod"}, "cluster: "),
        ({"http": []}, "http: "),
        ({"cluster": {"name": False}}, "cluster.name: "),
        ({"kafka": {**LEAST["kafka"], "security": {"protocol": "SASL_SSL"}}}, "kafka.security: `sasl` goes with"),
    ],
)
def test_a_wrong_type_or_range_is_named_by_its_path(tmp_path: Path, changed: dict[str, Any], where: str) -> None:
    assert refused(tmp_path, config_with(**changed)).startswith(where)


SECRET = "xoxb-1234-hunter2"


@pytest.mark.parametrize(
    "changed",
    [
        {"slack": {**SLACK, "bot_token": SECRET}},
        {"slack": {**SLACK, "bot_token": {"value": SECRET}}},
        {"slack": {**SLACK, "bot_token": {"file": "/b", "value": SECRET}}},
        {"slack": {**SLACK, "bot_token": [SECRET]}},
        {"slack": {**SLACK, "token": SECRET}},
        {"slack": SECRET},
        {"webhook": {"url": SECRET}},
        {"planner": {"model": {"key": SECRET}}},
        {"planner": {"model": {"api_key": SECRET}}},
        {"prometheus": {"url": "http://p", "token": SECRET}},
        {"kafka": {**LEAST["kafka"], "security": {"password": SECRET}}},
        {"kafka": {**LEAST["kafka"], "security": {"protocol": "SASL_SSL", "sasl": {"password": SECRET}}}},
    ],
    ids=str,
)
def test_a_secret_in_the_file_is_refused_with_the_hint_and_never_repeated(
    tmp_path: Path, changed: dict[str, Any]
) -> None:
    said = refused(tmp_path, config_with(**changed))
    assert SECRET not in said
    assert "never from the YAML" in said or said == "slack: Input should be a valid dictionary or instance of" + (
        " SlackConfig (got a str)"
    )


@pytest.mark.parametrize("ref", [{}, {"file": "/a", "env": "A"}])
def test_a_secret_is_in_exactly_one_place(tmp_path: Path, ref: dict[str, str]) -> None:
    said = refused(tmp_path, config_with(slack={**SLACK, "bot_token": ref}))
    assert said == "slack.bot_token: name exactly one of `file` and `env`"


def test_a_file_that_is_not_there_says_how_to_get_one(tmp_path: Path) -> None:
    with pytest.raises(BadConfig, match="no such file; `handrail config init` writes one"):
        load_config(tmp_path / "missing.yaml")


def test_a_folder_in_its_place_is_said(tmp_path: Path) -> None:
    with pytest.raises(BadConfig, match="can't be read"):
        load_config(tmp_path)


@pytest.mark.parametrize(("content", "kind"), [("", "NoneType"), ("- a", "list"), ("text", "str"), ("7", "int")])
def test_a_file_that_is_no_mapping_is_said(tmp_path: Path, content: str, kind: str) -> None:
    assert refused(tmp_path, content) == f"must be a mapping of keys; it holds {kind}"


def test_an_empty_policy_is_a_problem_and_no_empty_policy(tmp_path: Path) -> None:
    with pytest.raises(BadConfig):
        load_policy(written(tmp_path, ""))


def test_what_is_no_yaml_is_said_with_its_place(tmp_path: Path) -> None:
    assert "is not YAML" in refused(tmp_path, "a: [1, 2")
    assert "at line 2, column" in refused(tmp_path, "a: 1\nb: : 2")


@pytest.mark.parametrize("content", ["a: !!python/object:os.system {}", "? [a]\n: 1", "a: \x00", "[" * 5000])
def test_odd_yaml_is_one_line_and_no_traceback(tmp_path: Path, content: str) -> None:
    assert "\n" not in refused(tmp_path, content)


def test_a_key_that_stands_twice_is_refused(tmp_path: Path) -> None:
    """YAML's last one would win: the second `rules` of a policy would silently replace the first."""
    assert refused(tmp_path, "policy: a\ncluster: {}\npolicy: b\n") == (
        "is not YAML: the key 'policy' stands twice at line 3, column 1"
    )


def test_bytes_that_are_no_text_are_said(tmp_path: Path) -> None:
    path = tmp_path / "file.yaml"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(BadConfig, match="can't be read"):
        load_config(path)


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(), lambda x: st.dictionaries(st.text(), x)))
def test_any_yaml_at_all_is_a_configuration_or_a_line_of_reasons(
    tmp_path_factory: pytest.TempPathFactory, data: Any
) -> None:
    path = tmp_path_factory.getbasetemp() / "any.yaml"
    path.write_text(yaml.safe_dump(data))
    try:
        loaded: object = load_config(path)
    except BadConfig as wrong:
        loaded = str(wrong)
    assert isinstance(loaded, Config) or loaded


@pytest.mark.parametrize("key", ["[t", "[key]", ""])
def test_a_key_that_looks_like_a_mark_of_ours_is_an_unknown_key(tmp_path: Path, key: str) -> None:
    path = tmp_path / "handrail.yaml"
    path.write_text(yaml.safe_dump({key: 1}))
    with pytest.raises(BadConfig, match="unknown key"):
        load_config(path)
