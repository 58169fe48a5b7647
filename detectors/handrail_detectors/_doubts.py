"""What speaks against blaming a revision, in one word each; what is found where nothing does. Shared by detectors."""

from __future__ import annotations

from handrail.model.finding import Cause
from handrail_detectors._symptoms import Kind

BAD = {Kind.CRASH: Cause.BAD_REVISION_CRASHES, Kind.IMAGE: Cause.BAD_REVISION_IMAGE}
UNEXPLAINED = {Kind.CRASH: Cause.CRASH_LOOP, Kind.IMAGE: Cause.IMAGE_PULL}
"""By symptom: where the revision is to blame, and where it is not known what is."""

DOUBTS = {
    "all_revisions": "other revisions show the same",
    "config_is_gone": "the healthy revision needs the same ConfigMaps and Secrets",
    "image_was_pulled_before": "its image was pulled before",
    "no_healthy_older_revision": "no older revision is ready",
    "no_pods": "it has no pods",
    "no_controller": "no controller makes it, so there is no revision",
    "no_room": "the healthy revision asks the scheduler for the same",
    "not_the_newest_revision": "it is not the newest revision that is ill",
    "one_node": "only pods on one node are ill",
    "paused": "it is paused, so a person owns it",
    "pods_are_refused": "the API server refuses its pods",
    "revision_has_run_well": "another pod of it has run well for long",
    "same_image": "the healthy revision pulls the same image",
    "same_pod_spec": "the healthy revision has the same pod spec",
}
"""A word for machines and one sentence's end for people."""
