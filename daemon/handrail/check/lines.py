"""What a proof says: one line, for a person and for a script."""

from __future__ import annotations

from handrail.model.value import Value


class Line(Value):
    """One proof. `text` says what was found, or what is wrong and what to do."""

    subject: str
    ok: bool
    text: str

    def __str__(self) -> str:
        return f"{'ok  ' if self.ok else 'FAIL'} {self.subject}: {self.text}"


def ok(subject: str, text: str) -> Line:
    return Line(subject=subject, ok=True, text=text)


def fail(subject: str, text: str) -> Line:
    return Line(subject=subject, ok=False, text=" ".join(text.split()))
