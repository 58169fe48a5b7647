"""The one line of a piece of evidence that stands on a card: short, and the one that tells most."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handrail.core.headline import MOST, headline
from handrail.model.evidence import EvidenceItem, Trust
from tests.card import journals as j

DIFF = """--- before
+++ after
@@ -4,5 +4,5 @@
 spec:
   containers:
-  - image: registry.example/checkout:1.4.2
+  - image: registry.example/checkout:1.5.0
     name: checkout
"""
LOG = """INFO starting
ERROR config: key "payments.endpoint" is required
FATAL could not start: invalid configuration
"""
EVENTS = """2026-11-29T14:59:00Z Normal Created, Pod checkout-x: Created container
2026-11-29T14:58:00Z Warning BackOff (7 times), Pod checkout-x: Back-off restarting
"""
MESSAGES = "condition Available: has minimum availability.\npod checkout-x, container app waiting: back-off 40s\n"
ALERT = "KubePodCrashLooping, firing\nlabel pod: x\nannotation runbook_url: https://x\nannotation summary: It crashes\n"
METRICS = "one value a minute up to 12:00 UTC, oldest first\nready pods: 3 (20 times), 1 (10 times)\n"


def item(kind: str, excerpt: str) -> EvidenceItem:
    return j.item("e1", Trust.API, "title", excerpt).model_copy(update={"kind": kind})


@pytest.mark.parametrize(
    ("kind", "excerpt", "told"),
    [
        ("owner", "3 of 3 pods ready\nuid 5\n", "3 of 3 pods ready"),
        (
            "template_diff",
            DIFF,
            "changed: image: registry.example/checkout:1.4.2 -> registry.example/checkout:1.5.0",
        ),
        ("template_diff", "--- before\n+++ after\n@@ -1 +1 @@\n+      value: fast\n", "added: value: fast"),
        ("template_diff", "nothing in the pod template", "nothing in the pod template"),
        ("logs", LOG, "log: FATAL could not start: invalid configuration"),
        ("previous_logs", "a\nb\n", "log of the run before: b"),
        ("events", EVENTS, "event Warning BackOff (7 times), Pod checkout-x: Back-off restarting"),
        ("messages", MESSAGES, "pod checkout-x, container app waiting: back-off 40s"),
        ("alert", ALERT, "the alert says: It crashes"),
        ("metrics", METRICS, "ready pods: 3 (20 times), 1 (10 times)"),
        ("owner", "", "title"),
    ],
)
def test_the_line_that_tells_most_is_chosen(kind: str, excerpt: str, told: str) -> None:
    assert headline(item(kind, excerpt)) == told


KINDS = st.sampled_from(["owner", "template_diff", "logs", "previous_logs", "events", "messages", "alert", "metrics"])


@given(KINDS, st.text(max_size=600) | st.text("-+ :\nab", max_size=600))
def test_it_is_one_short_line_whatever_the_world_says(kind: str, excerpt: str) -> None:
    told = headline(item(kind, excerpt))
    assert len(told) <= MOST
    assert "\n" not in told
