"""Requests about who may do what, and about what the server says of itself."""

from __future__ import annotations

from typing import Any

from tests.sim import normal
from tests.sim.asks import Ask
from tests.sim.requests.bodies import NS

_AUTHORIZATION = "/apis/authorization.k8s.io/v1"


def _may(verb: str, resource: str, group: str = "", **more: str) -> dict[str, Any]:
    attributes = {"namespace": NS, "verb": verb, "resource": resource, "group": group, **more}
    return {"spec": {"resourceAttributes": attributes}}


ASKS = [
    Ask("may I patch deployments", "POST", f"{_AUTHORIZATION}/selfsubjectaccessreviews",
        _may("patch", "deployments", "apps"), status=201, shows=normal.part("status", "allowed")),
    Ask("may I evict pods", "POST", f"{_AUTHORIZATION}/selfsubjectaccessreviews",
        _may("create", "pods", subresource="eviction"), status=201, shows=normal.part("status", "allowed")),
    Ask("may somebody unknown patch deployments", "POST", f"{_AUTHORIZATION}/subjectaccessreviews",
        {"spec": _may("patch", "deployments", "apps")["spec"] | {"user": "nobody"}}, status=201,
        shows=normal.part("status", "allowed")),
    Ask("whose token is this", "POST", "/apis/authentication.k8s.io/v1/tokenreviews",
        lambda s: {"spec": {"token": s.token}}, status=201,
        shows=normal.parts("status.authenticated", "status.user.username", "status.user.groups")),
    Ask("whose is a wrong token", "POST", "/apis/authentication.k8s.io/v1/tokenreviews",
        {"spec": {"token": "wrong"}}, status=201, shows=normal.part("status", "authenticated")),
    Ask("a review can't be read", "GET", f"{_AUTHORIZATION}/selfsubjectaccessreviews", status=405),
    Ask("is it healthy", "GET", "/healthz"),
    Ask("what version is it", "GET", "/version", shows=normal.part("major")),
    Ask("what versions of the core are there", "GET", "/api", shows=normal.part("versions")),
]  # fmt: skip
