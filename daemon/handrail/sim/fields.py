"""Who wrote an object last, in the simple form of `metadata.managedFields`.

It records manager, operation, time, version and subresource of each writer, never the single fields (`fieldsV1` is
empty): the simulator knows no server-side apply, and nothing else needs them.
"""

from .objects import Obj, meta


def record(obj: Obj, manager: str, api_version: str, part: str, time: str) -> None:
    """Note in place that this manager has just written this part ("" or a subresource)."""
    entry: Obj = {
        "manager": manager,
        "operation": "Update",
        "apiVersion": api_version,
        "time": time,
        "fieldsType": "FieldsV1",
        "fieldsV1": {},
    }
    if part:
        entry["subresource"] = part
    others = [e for e in meta(obj).get("managedFields") or [] if not _same_writer(e, entry)]
    meta(obj)["managedFields"] = [*others, entry]


def _same_writer(one: Obj, other: Obj) -> bool:
    return all(one.get(key) == other.get(key) for key in ("manager", "operation", "apiVersion", "subresource"))


def manager_of(named: str, user_agent: str) -> str:
    """The manager that a request names, else the program in its User-Agent."""
    return named or user_agent.partition("/")[0][:128] or "unknown"
