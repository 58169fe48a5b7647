"""Who asks, and what they may: a table of tokens in place of RBAC.

It decides 401 and 403, and answers the access and token reviews. Nobody may ever read Secrets here, whatever their
rules say. A member of `system:masters` may do all else.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from .kinds import SECRET, by_resource
from .objects import Obj, at
from .status import ApiError, forbidden, unauthorized

MASTERS = "system:masters"
_AUTHENTICATED = "system:authenticated"
_OPEN_PATHS = ("/healthz", "/livez", "/readyz", "/version")


@dataclass(frozen=True)
class Rule:
    """Some verbs on some resources, as in RBAC; "*" stands for all, `pods/eviction` names a part."""

    verbs: tuple[str, ...]
    resources: tuple[str, ...]
    groups: tuple[str, ...] = ("*",)
    namespaces: tuple[str, ...] = ("*",)
    names: tuple[str, ...] = ()


READ = Rule(("get", "list", "watch"), ("*",))
EVERYTHING = Rule(("*",), ("*",))


@dataclass(frozen=True)
class User:
    name: str
    groups: tuple[str, ...] = ()
    rules: tuple[Rule, ...] = ()

    def body(self) -> Obj:
        return {"username": self.name, "groups": list(self.groups)}


ANONYMOUS = User("system:anonymous", ("system:unauthenticated",))


@dataclass(frozen=True)
class Asked:
    """What somebody wants to do. `path` is set for what is no resource."""

    verb: str
    group: str = ""
    resource: str = ""
    part: str = ""
    namespace: str = ""
    name: str = ""
    path: str = ""

    @property
    def full_resource(self) -> str:
        return f"{self.resource}/{self.part}" if self.part else self.resource


class Rights:
    def __init__(self) -> None:
        self._users: dict[str, User] = {}

    def add(self, token: str, username: str, groups: Iterable[str], can: Iterable[Rule]) -> None:
        """Make this token known, or change whose it is and what they may."""
        every = tuple(dict.fromkeys([*groups, _AUTHENTICATED]))
        self._users[token] = User(username, every, tuple(can))

    def who(self, authorization: str) -> User:
        """The user of an Authorization header; none at all is the anonymous one, a wrong one is 401."""
        if not authorization:
            return ANONYMOUS
        scheme, _, token = authorization.partition(" ")
        user = self._users.get(token.strip()) if scheme.lower() == "bearer" else None
        if user is None:
            raise unauthorized()
        return user

    def check(self, user: User, asked: Asked) -> None:
        """Raise the 403 unless this user may do that."""
        if not may(user, asked):
            raise _refusal(user, asked)

    def review(self, plural: str, user: User, body: Obj) -> Obj:
        """Answer a review with its status filled in."""
        if plural == "tokenreviews":
            found = self._users.get(str(at(body, "spec", "token", default="")))
            status: Obj = {"authenticated": True, "user": found.body()} if found else {
                "user": {}, "error": "[invalid bearer token, unknown token]"
            }  # fmt: skip
            return body | {"status": status}
        subject = user
        if plural == "subjectaccessreviews":
            subject = self._named(str(at(body, "spec", "user", default="")), at(body, "spec", "groups", default=[]))
        return body | {"status": {"allowed": may(subject, _asked(body))}}

    def _named(self, username: str, groups: list[str]) -> User:
        known = next((user for user in self._users.values() if user.name == username), None)
        return known or User(username, tuple(groups))


def may(user: User, asked: Asked) -> bool:
    if asked.path:
        return asked.path in _OPEN_PATHS or _AUTHENTICATED in user.groups
    if (asked.group, asked.resource) == (SECRET.group, SECRET.plural):
        return False
    return MASTERS in user.groups or any(_covers(rule, asked) for rule in user.rules)


def _covers(rule: Rule, asked: Asked) -> bool:
    resources = {asked.full_resource, "*/*"} | ({"*"} if not asked.part else {f"*/{asked.part}", "*"})
    return (
        bool({"*", asked.verb} & set(rule.verbs))
        and bool({"*", asked.group} & set(rule.groups))
        and bool(resources & set(rule.resources))
        and bool({"*", asked.namespace} & set(rule.namespaces))
        and (not rule.names or asked.name in rule.names)
    )


def _asked(body: Obj) -> Asked:
    if path := at(body, "spec", "nonResourceAttributes", "path"):
        return Asked(str(at(body, "spec", "nonResourceAttributes", "verb", default="get")), path=str(path))
    wanted = at(body, "spec", "resourceAttributes", default={})
    keys = ("verb", "group", "resource", "subresource", "namespace", "name")
    return Asked(*(str(wanted.get(key) or "") for key in keys))


def _refusal(user: User, asked: Asked) -> ApiError:
    if asked.path:
        message = f'forbidden: User "{user.name}" cannot {asked.verb} path "{asked.path}"'
        return forbidden(None, "", message)
    kind = by_resource(asked.group, asked.resource)
    what = f'{asked.resource}.{asked.group} "{asked.name}"' if asked.group else f'{asked.resource} "{asked.name}"'
    if not asked.name:
        what = what.rpartition(" ")[0]
    where = f'in the namespace "{asked.namespace}"' if asked.namespace else "at the cluster scope"
    message = (
        f'{what} is forbidden: User "{user.name}" cannot {asked.verb} resource "{asked.full_resource}" '
        f'in API group "{asked.group}" {where}'
    )
    return forbidden(kind, asked.name, message)
