"""The table of what public failures forbid before and after acting, each row with the reason that says so and its test.

A row without a reason is no refusal but a way of working: a write that is looked for before it is sent again.
"""

from __future__ import annotations

import ast
from pathlib import Path
from typing import NamedTuple

import pytest

from handrail.model.reason import Reason as R

TESTS = Path(__file__).parents[1]


class Row(NamedTuple):
    """`tests` are "file::name" below tests/."""

    signal: str
    reasons: tuple[R, ...]
    tests: tuple[str, ...]


HERE, BREAKS = "remediations/test_guards.py::", "breaks/test_gone.py::"
HANDS, LIVE = "kubernetes/test_hands.py::", "kubernetes/test_real_api_server.py::"
LOST, RIGHTS = "kubernetes/test_lost_answers.py::", "kubernetes/test_rights_on_the_api_server.py::"
SUITE, FLAPS = "remediations/test_every_step.py::", "remediations/test_from_approval_to_repair_while_all_flaps.py::"

ROWS = (
    Row("no history to undo to", (R.NO_HISTORY,), (f"{HERE}test_undo_without_history",)),
    Row("the template is there already", (R.NO_CHANGE,), (f"{HERE}test_undo_to_the_template_that_is_there",)),
    Row(
        "the last change was a rollback",
        (R.LAST_CHANGE_WAS_OURS, R.LAST_CHANGE_WAS_UNDO),
        (f"{HERE}test_undo_after_our_own_undo", f"{HERE}test_undo_after_somebody_elses_undo"),
    ),
    Row(
        "the older revision never became healthy",
        (R.NO_HEALTHY_REVISION,),
        (f"{HERE}test_undo_to_a_revision_that_never_became_healthy",),
    ),
    Row(
        "only a ConfigMap or Secret changed",
        (R.CONFIG_ONLY, R.NO_HEALTHY_REVISION),
        (
            f"{HERE}test_undo_of_what_was_a_change_of_configuration_alone",
            f"{HERE}test_pods_that_all_fail_after_an_unrecorded_change_of_configuration",
        ),
    ),
    Row(
        "a schema was migrated between",
        (R.MIGRATION_BETWEEN,),
        (
            f"{HERE}test_undo_across_a_schema_migration",
            "remediations/test_migration_jobs.py::test_a_job_that_speaks_of_a_migration_of_this_release_refuses_the_undo",
        ),
    ),
    Row(
        "an autoscaler or KEDA sets the replicas",
        (R.AUTOSCALED, R.OPERATOR_MANAGED),
        (
            "remediations/test_scale_and_restart.py::test_what_an_autoscaler_sets_is_left_to_it_in_do_and_undo",
            "remediations/test_guards_of_nodes.py::test_an_autoscaler_that_keda_made",
        ),
    ),
    Row(
        "a GitOps tool puts it back",
        (R.GITOPS_MANAGED,),
        (
            f"{SUITE}test_what_others_hold_is_refused_in_check_next_and_undo",
            f"{BREAKS}test_what_a_tool_owns_is_not_written_and_its_owner_is_named",
        ),
    ),
    Row(
        "an operator owns it",
        (R.OPERATOR_MANAGED,),
        (f"{SUITE}test_what_others_hold_is_refused_in_check_next_and_undo",),
    ),
    Row(
        "somebody is rolling out right now",
        (R.SOMEONE_ELSE_ACTS, R.PAUSED, R.ROLLOUT_IN_PROGRESS),
        (
            f"{HERE}test_a_rollout_that_a_person_made_by_hand_minutes_ago",
            f"{HERE}test_undo_where_a_person_steps_the_rollout",
            "remediations/test_scale_and_restart.py::test_no_restart_during_a_rollout",
        ),
    ),
    Row(
        "the strategy takes every pod away",
        (R.FULL_OUTAGE,),
        (
            f"{HERE}test_undo_whose_strategy_takes_every_pod_away",
            f"{HERE}test_undo_of_a_daemon_set_that_takes_every_node_at_once",
        ),
    ),
    Row(
        "an immutable field",
        (R.REFUSED_BY_SERVER,),
        (f"{LIVE}test_a_patch_that_the_server_does_not_take_is_refused_before_and_when_sent",),
    ),
    Row(
        "it changed since the plan",
        (R.DRIFTED,),
        (
            "reconciler/test_path.py::test_a_change_to_the_spec_before_the_click_voids_and_asks_anew",
            f"{HANDS}test_a_dry_run_of_something_that_is_gone_or_another_object_is_refused",
            f"{FLAPS}test_it_acts_once_whatever_the_status_does_and_never_on_another_spec",
        ),
    ),
    Row(
        "the old image or Secret is gone",
        (R.NO_EFFECT, R.LAST_CHANGE_WAS_OURS),
        (
            "remediations/test_against_the_api_server.py::test_an_undo_to_a_revision_that_crashes_too_is_seen_as_no_success",
            f"{HERE}test_undo_after_our_own_undo",
        ),
    ),
    Row(
        "a majority would be lost",
        (R.QUORUM_AT_RISK, R.LAST_READY),
        (
            "remediations/test_scale_and_restart.py::test_a_stateful_set_keeps_its_majority",
            f"{HERE}test_a_member_without_which_the_majority_is_gone",
            f"{HERE}test_the_last_ready_pod",
        ),
    ),
    Row(
        "an older pod of the same name",
        (R.TARGET_GONE, R.DRIFTED),
        (
            f"{HERE}test_a_pod_of_an_older_incarnation_by_the_same_name",
            "remediations/test_pods_on_the_api_server.py::test_an_eviction_of_another_uid_is_never_sent_so_that_the_budget_is_not_spent",
        ),
    ),
    Row(
        "429 by a disruption budget",
        (R.DISRUPTION_BUDGET,),
        (
            f"{HERE}test_an_eviction_that_the_budget_forbids",
            f"{LIVE}test_an_eviction_that_a_budget_forbids_is_refused_with_the_budgets_words",
            "kubernetes/test_client.py::test_a_budget_that_forbids_an_eviction_is_an_answer_and_no_busy_server",
        ),
    ),
    Row(
        "404 or 409 of an eviction",
        (),
        (
            "remediations/test_the_contract_while_all_flaps.py::test_the_contract_is_kept",
            f"{HANDS}test_what_is_gone_is_not_written_to",
        ),
    ),
    Row(
        "static, bare and local data",
        (R.STATIC_POD, R.BARE_POD, R.LOCAL_DATA),
        (
            f"{HERE}test_a_static_pod",
            f"{HERE}test_a_pod_that_no_controller_makes_again",
            f"{HERE}test_a_pod_with_data_on_its_node",
        ),
    ),
    Row(
        "an admission webhook says no",
        (R.DENIED, R.REFUSED_BY_SERVER),
        (f"{HANDS}test_a_dry_run_that_the_server_refuses_says_why",),
    ),
    Row(
        "the right is missing",
        (R.DENIED,),
        (
            f"{RIGHTS}test_without_the_right_to_write_a_dry_run_and_a_write_are_denied_in_the_servers_words",
            f"{BREAKS}test_rights_taken_away_while_people_are_asked_end_with_a_person_who_is_told_which",
        ),
    ),
    Row(
        "409 of a write",
        (R.CONFLICTS_SPENT,),
        (
            f"{LIVE}test_a_version_that_somebody_has_moved_past_is_a_conflict",
            f"{FLAPS}test_it_acts_once_whatever_the_status_does_and_never_on_another_spec",
            "reconciler/test_restarts.py::test_an_object_that_moves_between_read_and_write_is_tried_again_with_its_new_version",
        ),
    ),
    Row(
        "429, 503 and time-outs of the server",
        (),
        (
            "kubernetes/test_client.py::test_a_busy_server_did_nothing_and_says_how_long_to_wait_within_reason",
            f"{LOST}test_a_write_whose_answer_is_lost_is_unknown_and_its_key_tells_that_it_was_applied",
        ),
    ),
    Row(
        "success is observed",
        (R.NO_EFFECT, R.WORSE),
        (
            "remediations/test_rollout_undo.py::test_healed_needs_every_pod_on_the_old_template_ready_and_settled",
            f"{FLAPS}test_it_acts_once_whatever_the_status_does_and_never_on_another_spec",
        ),
    ),
)


def test_no_row_is_left_out() -> None:
    assert len({row.signal for row in ROWS}) == len(ROWS) == 24


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.signal)
def test_each_row_has_its_tests_and_they_speak_of_its_reasons(row: Row) -> None:
    said = ""
    for place in row.tests:
        file, _, name = place.partition("::")
        text = (TESTS / file).read_text(encoding="utf-8")
        defined = {
            one.name for one in ast.walk(ast.parse(text)) if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef)
        }
        assert name in defined, place
        said += text
    unsaid = [reason for reason in row.reasons if f"Reason.{reason}" not in said and f'"{reason}"' not in said]
    assert not [reason for reason in unsaid if f"Verdict.{reason}" not in said]
