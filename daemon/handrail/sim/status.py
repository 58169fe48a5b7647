"""Answers that are not objects: the bodies of kind Status, word for word as far as clients read them.

Everything that refuses a request raises `ApiError` with one of these; nothing else becomes an error answer.
"""

from dataclasses import dataclass
from http import HTTPStatus

from .kinds import Kind
from .objects import Obj


@dataclass(frozen=True)
class Cause:
    """One thing that is wrong with a field. `label` is the phrase that Kubernetes puts before the detail."""

    field: str
    reason: str
    label: str
    detail: str = ""

    @property
    def message(self) -> str:
        return f"{self.label}: {self.detail}" if self.detail else self.label

    def body(self) -> Obj:
        return {"reason": self.reason, "message": self.message, "field": self.field}


def required(field: str, detail: str = "") -> Cause:
    return Cause(field, "FieldValueRequired", "Required value", detail)


def wrong(field: str, value: object, detail: str) -> Cause:
    shown = f'"{value}"' if isinstance(value, str) else str(value)
    return Cause(field, "FieldValueInvalid", f"Invalid value: {shown}", detail)


def unsupported(field: str, value: object, known: tuple[str, ...]) -> Cause:
    detail = "supported values: " + ", ".join(f'"{k}"' for k in known)
    return Cause(field, "FieldValueNotSupported", f'Unsupported value: "{value}"', detail)


def forbidden_change(field: str, detail: str) -> Cause:
    return Cause(field, "FieldValueForbidden", "Forbidden", detail)


class ApiError(Exception):
    """A request that is refused, with the Status that says why."""

    def __init__(self, code: int, reason: str, message: str, details: Obj | None = None, *, text: bool = False) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.message = message
        self.details = details
        self.text = text  # answered as plain text: some 404 of a real server have no body of kind Status

    def body(self) -> Obj:
        found: Obj = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure"}
        found["message"] = self.message
        if self.reason:
            found["reason"] = self.reason
        if self.details is not None:
            found["details"] = self.details
        found["code"] = self.code
        return found


def _names(kind: Kind, name: str) -> Obj:
    return {key: value for key, value in (("name", name), ("group", kind.group), ("kind", kind.plural)) if value}


def not_found(kind: Kind, name: str) -> ApiError:
    return ApiError(404, "NotFound", f'{kind.qualified} "{name}" not found', _names(kind, name))


def no_such_path() -> ApiError:
    return ApiError(404, "", "404 page not found\n", text=True)


def no_such_resource() -> ApiError:
    return ApiError(404, "NotFound", "the server could not find the requested resource", {})


def already_exists(kind: Kind, name: str) -> ApiError:
    return ApiError(409, "AlreadyExists", f'{kind.qualified} "{name}" already exists', _names(kind, name))


def conflict(kind: Kind, name: str, why: str, part: str = "") -> ApiError:
    """A write that lost: by its version, or (a replacement) by its UID."""
    called = f"{kind.plural}/{part}" if part else kind.plural
    qualified = f"{called}.{kind.group}" if kind.group else called
    message = f'Operation cannot be fulfilled on {qualified} "{name}": {why}'
    return ApiError(409, "Conflict", message, _names(kind, name) | {"kind": called})


def stale(kind: Kind, name: str, part: str = "") -> ApiError:
    why = "the object has been modified; please apply your changes to the latest version and try again"
    return conflict(kind, name, why, part)


def other_uid(kind: Kind, name: str, wanted: str, found: str, part: str = "") -> ApiError:
    why = f"Precondition failed: UID in precondition: {wanted}, UID in object meta: {found}"
    return conflict(kind, name, why, part)


def not_deletable(kind: Kind, name: str, why: str) -> ApiError:
    """A delete whose preconditions do not hold. It names the Kind where other conflicts name the resource."""
    called = f"{kind.name}.{kind.group}" if kind.group else kind.name
    message = f'Operation cannot be fulfilled on {called} "{name}": {why}'
    return ApiError(409, "Conflict", message, _names(kind, name) | {"kind": kind.name})


def invalid(kind: Kind, name: str, causes: list[Cause]) -> ApiError:
    """A body that was understood and is refused. Details name the Kind here, not the resource."""
    said = [f"{cause.field}: {cause.message}" for cause in causes]
    listed = said[0] if len(said) == 1 else "[" + ", ".join(said) + "]"
    shown = f"{kind.name}.{kind.group}" if kind.group else kind.name
    details = _names(kind, name) | {"kind": kind.name, "causes": [cause.body() for cause in causes]}
    return ApiError(422, "Invalid", f'{shown} "{name}" is invalid: {listed}', details)


def bad_option(options: str, field: str, value: str, known: tuple[str, ...]) -> ApiError:
    """A parameter with an unknown value; `options` is the kind of options that the verb takes."""
    return invalid(Kind("meta.k8s.io", "v1", options, ""), "", [unsupported(field, value, known)])


def bad_patch(why: str) -> ApiError:
    """A patch whose result can't be read: refused without saying of which object."""
    cause = Cause("patch", "FieldValueInvalid", "Invalid value", why)
    message = f' "" is invalid: patch: {cause.message}'
    return ApiError(422, "Invalid", message, {"causes": [cause.body()]})


def unprocessable() -> ApiError:
    """A JSON patch that does not apply, a failed `test` included: the server tells no more than this."""
    message = "the server rejected our request due to an error in our request"
    return ApiError(422, "Invalid", message, {})


def bad_request(message: str) -> ApiError:
    return ApiError(400, "BadRequest", message)


def forbidden(kind: Kind | None, name: str, message: str) -> ApiError:
    return ApiError(403, "Forbidden", message, _names(kind, name) if kind else {})


def unauthorized() -> ApiError:
    return ApiError(401, "Unauthorized", "Unauthorized")


def expired(message: str) -> ApiError:
    return ApiError(410, "Expired", message)


def not_allowed() -> ApiError:
    message = "the server does not allow this method on the requested resource"
    return ApiError(405, "MethodNotAllowed", message, {})


def not_implemented(what: str) -> ApiError:
    return ApiError(HTTPStatus.NOT_IMPLEMENTED, "NotImplemented", f"the simulated cluster does not know {what}")


def success(kind: Kind, name: str, uid: str) -> Obj:
    """What a delete answers that has nothing left to show."""
    details = _names(kind, name) | {"uid": uid}
    return {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details}
