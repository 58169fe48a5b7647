"""A Write as the request that the API server gets, and its answer as the hands' answer. Pure.

Dry-run is no branch: the same request with dryRun=All. Every request names the UID and the resourceVersion that it
expects, and leaves its key on the object's own metadata. `test` operations are not used: their failure can't be told
from a bad patch (cluster-behaviour, "Preconditions on writes").
"""

from __future__ import annotations

import re
from typing import Any

from handrail.adapters.kubernetes.paths import collection, path_of
from handrail.adapters.kubernetes.wire import Reply, Request
from handrail.core.admission import STOP_ANNOTATION
from handrail.core.redact import redact
from handrail.model.errors import Bug, OutcomeUnknown
from handrail.model.hands import Answer, Held, Sent
from handrail.model.reason import Reason
from handrail.model.switch import Reach, Scope
from handrail.model.value import Raw
from handrail.model.write import KEY_ANNOTATION, Verb, Write

OWNER = "handrail"
"""The field manager."""

_STOP = re.compile(
    r"""[a-z0-9./-]+ "[^"]*" is forbidden: """
    r"ValidatingAdmissionPolicy '[^']*-stop' with binding '[^']*' denied request: "
    + re.escape(STOP_ANNOTATION)
    + r" on namespace (?P<namespace>[a-z0-9-]+):(?: (?P<why>.*))?",
    re.DOTALL,
)
"""The server's own frame comes first and no name in it holds a quote: nothing that another policy says, and nothing
that stands in an annotation, can pass for it. The server takes blanks off the end."""


def carries_key(live: Raw, key: str) -> bool:
    """Whether the object bears the mark of this very write. False for an empty key."""
    annotations = live["metadata"].get("annotations") or {}
    return bool(key) and annotations.get(KEY_ANNOTATION) == key


def is_gone(write: Write, live: Raw | None) -> bool:
    """What a delete or an eviction wants: that very UID is not there any more, or is on its way."""
    if live is None or live["metadata"].get("uid") != write.object.uid:
        return True
    return "deletionTimestamp" in live["metadata"]


def request_of(write: Write, live: Raw | None, resource_version: str, *, dry: bool) -> Request:
    """`live` is the object as just read (None for create): it tells whether it has annotations at all."""
    if not write.key:
        raise Bug(f"a write without a key: {write.summary}")
    if write.verb is Verb.CREATE:
        return _posting(collection(write.object.kind, write.object.namespace), _create(write), dry)
    if live is None or not write.object.uid:
        raise Bug(f"{write.verb} of something that was not read: {write.summary}")
    match write.verb:
        case Verb.PATCH:
            return Request(
                "PATCH", path_of(write.object), _options(dry), _patch(write, live, resource_version), writes=not dry
            )
        case Verb.EVICT:
            return _posting(path_of(write.object, "eviction"), _eviction(write, dry), dry)
        case Verb.DELETE:
            body = _delete_options({"uid": write.object.uid, "resourceVersion": resource_version}, dry)
            query = (("dryRun", "All"),) if dry else ()
            return Request("DELETE", path_of(write.object), query, body, writes=not dry)


def answer_of(write: Write, reply: Reply, *, moved: bool) -> Sent:
    """`moved`: the object was not at the version that the request names, so a patch that fails is a conflict.

    Raises OutcomeUnknown for a 2xx answer to a patch or create that holds no object.
    """
    if reply.ok:
        return Sent(answer=Answer.DONE, object=_object(write, reply))
    if write.verb in (Verb.DELETE, Verb.EVICT) and reply.is_missing(write.object.name):
        return Sent(answer=Answer.DONE, detail="it was gone already")
    if reply.status == 409 or (reply.status == 422 and moved and not wrong_uid(reply)):
        return Sent(answer=Answer.CONFLICT, detail=reply.sentence)
    held = held_by(write, reply)
    if held is not None:
        return Sent(answer=Answer.REFUSED, reason=held.reason, detail=held.detail, held=held)
    return Sent(answer=Answer.REFUSED, reason=_reason(write, reply), detail=reply.sentence)


def held_by(write: Write, reply: Reply) -> Held | None:
    """The stop that the write's namespace bears, if that is why it was refused; the words are core/admission.py's."""
    found = _STOP.match(reply.said) if reply.status == 403 else None
    if found is None or not write.object.namespace or found["namespace"] != write.object.namespace:
        return None
    reach = Reach(scope=Scope.NAMESPACE, name=write.object.namespace)
    return Held(reach=reach, detail=redact(found["why"] or "").strip() or "no reason given")


def wrong_uid(reply: Reply) -> bool:
    """The patch named another UID than the live object's: the server calls the field immutable (422, not 409)."""
    return reply.status == 422 and any(cause.get("field") == "metadata.uid" for cause in reply.causes)


def _reason(write: Write, reply: Reply) -> Reason:
    if reply.budget:
        return Reason.DISRUPTION_BUDGET
    if wrong_uid(reply) or reply.is_missing(write.object.name):
        return Reason.DRIFTED
    return Reason.DENIED if reply.status == 403 else Reason.REFUSED_BY_SERVER


def _object(write: Write, reply: Reply) -> Raw | None:
    if write.verb in (Verb.DELETE, Verb.EVICT):
        return None
    if not isinstance(reply.body.get("metadata"), dict) or "uid" not in reply.body["metadata"]:
        raise OutcomeUnknown(f"{write.summary}: status {reply.status}, but the answer holds no object")
    return reply.body


def _options(dry: bool) -> tuple[tuple[str, str], ...]:
    options = (("fieldManager", OWNER), ("fieldValidation", "Strict"))
    return (*options, ("dryRun", "All")) if dry else options


def _posting(path: str, body: Raw, dry: bool) -> Request:
    return Request("POST", path, _options(dry), body, writes=not dry)


def _patch(write: Write, live: Raw, resource_version: str) -> list[dict[str, Any]]:
    """The key comes last, so that an operation which sets the whole map of annotations can't lose it."""
    operations: list[dict[str, Any]] = [
        {"op": "replace", "path": "/metadata/uid", "value": write.object.uid},
        {"op": "replace", "path": "/metadata/resourceVersion", "value": resource_version},
    ]
    if live["metadata"].get("annotations") is None:
        operations.append({"op": "add", "path": "/metadata/annotations", "value": {}})
    pointer = KEY_ANNOTATION.replace("~", "~0").replace("/", "~1")
    key = {"op": "add", "path": f"/metadata/annotations/{pointer}", "value": write.key}
    return [*operations, *(dict(op) for op in write.ops), key]


def _create(write: Write) -> Raw:
    body = write.body
    if body is None:
        raise Bug(f"a create without a body: {write.summary}")
    meta = body.get("metadata") or {}
    wanted = (write.object.api_version, write.object.kind, write.object.namespace, write.object.name)
    if (body.get("apiVersion"), body.get("kind"), meta.get("namespace", ""), meta.get("name")) != wanted:
        raise Bug(f"the body to create is another object than {write.object}: {write.summary}")
    annotations = {**(meta.get("annotations") or {}), KEY_ANNOTATION: write.key}
    return {**body, "metadata": {**meta, "annotations": annotations}}


def _eviction(write: Write, dry: bool) -> Raw:
    """By UID alone: the budget guards the rest, and a sick pod's version moves with its status."""
    meta = {"name": write.object.name, "namespace": write.object.namespace}
    options = _delete_options({"uid": write.object.uid}, dry)
    return {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": meta, "deleteOptions": options}


def _delete_options(preconditions: dict[str, str], dry: bool) -> Raw:
    body: Raw = {"preconditions": preconditions, "propagationPolicy": "Background"}
    return {**body, "dryRun": ["All"]} if dry else body
