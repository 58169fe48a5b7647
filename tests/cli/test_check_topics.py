"""What `handrail check` says of a topic: one line each, which names the right that is missing and what to do."""

from __future__ import annotations

import pytest

from handrail.check.probes import _topic

DEAD = "alerts.dead"


@pytest.mark.parametrize(
    ("name", "partitions", "rights", "fine", "said"),
    [
        ("alerts", 3, {}, True, "3 partitions, can be read"),
        (DEAD, 1, {}, True, "1 partitions, can be written to"),
        (DEAD, 1, None, True, "brokers before 2.3 don't say"),
        ("alerts", 3, {"alerts": "READ"}, False, "lacks READ on it (no alert could be taken in); grant READ"),
        (DEAD, 1, {DEAD: "WRITE"}, False, "intake would stand still); grant WRITE"),
        (DEAD, 0, {}, False, "does not exist"),
    ],
)
def test_a_topic_is_judged_by_what_the_brokers_say(
    name: str, partitions: int, rights: dict[str, str] | None, fine: bool, said: str
) -> None:
    line = _topic(name, partitions, rights, (DEAD,))
    assert (line.ok, said in line.text) == (fine, True), line
    assert line.subject == f"topic {name}"
