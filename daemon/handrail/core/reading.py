"""May this person read incidents, reports and the audit by the API? Pure. They hold log lines, redacted as they are.

Never decides who may act: that is core/answer.py. Whoever may decide or stop may read too, since nobody can answer for
what he can't see; so may the owner of the process (its socket): the database is his anyway. Nobody else by default.
"""

from __future__ import annotations

from handrail.core.answer import is_one_of
from handrail.model.approval import Approvers, Person
from handrail.model.policy import Policy
from handrail.model.reason import Reason, Refusal


def may_read(policy: Policy, person: Person) -> Refusal | None:
    """None where the person may; else who he is to the API server, and where his name has to stand."""
    readers = Approvers(users=policy.readers.users, groups=policy.readers.groups)
    lists = (readers, policy.approvers, policy.operators)
    if person.via == "local" or any(is_one_of(some, person) for some in lists):
        return None
    detail = f"{person} may not read this; name that user, or a group of his, under `readers` in the policy"
    return Refusal(reason=Reason.NOT_A_READER, detail=detail)
