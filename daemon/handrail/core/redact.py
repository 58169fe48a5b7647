"""Takes secrets and invisible characters out of text of the world before anything else sees it. Pure.

Decides what looks like a secret; prefers to hide too much. Never decides what is true: redacted text stays hostile.
The text may be made to be slow to match, so names are found in one pass and each is looked at once.
"""

from __future__ import annotations

import re
import unicodedata
from itertools import pairwise
from typing import Any

MARK = "[redacted]"
MOST_CHARS = 262_144
"""What is looked at at all; callers bound their sources well below."""
MOST_PASSES = 4
"""What one pass hides may show another what to hide; text without secrets is looked at once."""

_ANSI = re.compile(r"\x1b\[[0-9;:?]{0,40}[ -/]{0,4}[@-~]")
_BREAKS = {"\r\n": "\n", "\r": "\n", "\u2028": "\n", "\u2029": "\n", "\u0085": "\n"}
_BLANKS = frozenset("\u115f\u1160\u3164\uffa0\u034f\u17b4\u17b5")
"""Letters and marks that show as nothing; words with one inside would escape the patterns."""

_KEY_FILE = r"[A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
_SHAPES = (
    re.compile(rf"-----BEGIN {_KEY_FILE}.*?(?:-----END {_KEY_FILE}|\Z)", re.DOTALL),
    re.compile(rf"\A[A-Za-z0-9+/=\s]*+-----END {_KEY_FILE}"),
    re.compile(r"\beyJ[\w-]{6,8192}+\.[\w-]{6,8192}+(?:\.[\w-]{0,8192}+)?"),
    re.compile(r"\b(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{12,32}+"),
    re.compile(r"\bxox[a-z]{1,2}-[\w-]{6,512}+|\bxapp-[\w-]{6,512}+"),
    re.compile(r"hooks\.slack\.com/[\w/-]{6,256}+"),
    re.compile(r"\bgh[a-z]_\w{16,512}+|\bgithub_pat_\w{16,512}+|\bglpat-[\w-]{12,512}+"),
    re.compile(r"\b(?:sk|rk|pk)[-_][\w-]{16,512}+|\bAIza[\w-]{30,64}+|\bnpm_\w{30,64}+|\bhvs\.[\w-]{16,512}+"),
)
"""Private keys (also those that begin before or end after the cut), JWTs, and tokens that say whose they are."""

_USERINFO = (
    re.compile(r"(\b[A-Za-z][A-Za-z0-9+.-]{1,20}+://)[^\s/?#\"'<>]{1,512}@"),
    re.compile(
        r"(\b[A-Za-z][A-Za-z0-9+.-]{1,20}+://)[^\s/:@\"'<>]{0,128}+:(?!\d{1,5}(?:[/?#\s]|$))[^\s@\"'<>]{1,512}+@"
    ),
)
_SCHEME = re.compile(r"\b(bearer|basic|digest|negotiate)(\s{1,4})[\w+/.~=-]{6,8192}+", re.IGNORECASE)

_NAME = re.compile(r"[\w.-]++")
_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_GLUED = re.compile(r"password|passwd|passphrase|passcode|secret|token|credential|apikey|accesskey|privatekey")
_ALONE = frozenset(("pass", "pwd", "auth", "authorization", "cookie", "cookies", "dsn", "creds", "jwt", "pat"))
_KEYED = frozenset(
    ("api", "access", "private", "signing", "encryption", "account", "client", "shared", "master", "session")
)
_ONLY_ABOUT = frozenset(
    ("name", "names", "ref", "reference", "file", "path", "mount", "service", "services", "server", "type", "kind")
) | frozenset(("version", "count", "ttl", "expiry", "expires", "expiration", "seconds", "provider", "exists", "length"))
"""`secretName` and `token-service` are about a secret and hold none, and are often the evidence itself."""
_PASSWORDS = re.compile(r"pass(?:word|wd|phrase|code)?$|pwd$|(?:api|access|private)[_.-]?key$", re.IGNORECASE)
_NOTHING = frozenset(("null", "nil", "<nil>", "none", "true", "false", "undefined"))

_QUOTED = r"\"(?:[^\"\\\n]|\\.){0,4096}+\"?|'(?:[^'\\\n]|\\.){0,4096}+'?|\\+\"[^\"\\\n]{0,4096}+(?:\\+\")?"
_EQUALS = re.compile(
    rf"((?:\[[\w\"']{{0,32}}\])?(?:\\*[\"'])?\]?\s{{0,4}}(?:=>|:=|==|=|%3[Dd])\s{{0,4}}|\\*[\"']\s{{0,4}}:\s{{0,4}})({_QUOTED}|[^\s\"']\S{{0,8192}}+)"
)
_COLON = re.compile(rf"([ \t]{{0,2}}:[ \t]{{0,8}})({_QUOTED}|(?!//)[^\s\"'|>&]\S{{0,8192}}+)([ \t]*+$)?", re.MULTILINE)
_AFTER_FLAG = re.compile(r"([ \t]{1,4})([^\s-]\S{0,8192}+)")
_ELEMENT = re.compile(r"(>)([^<\n]{1,4096}+)")
_NEAR = re.compile(
    r"([^\w\n]{1,5}(?:\w{1,12}[^\w\n]{1,5}){0,2}?)((?=[A-Za-z+/=_]{0,512}+[0-9])[A-Za-z0-9+/=_]{16,8192}+)"
)


def redact(text: str, most: int = MOST_CHARS) -> str:
    """`text` without secrets and invisible characters, at most `most` characters of it."""
    text = neutral(text[:MOST_CHARS])
    for _ in range(MOST_PASSES):
        before, text = text, _once(text)
        if text == before:
            break
    return text[:most]


def _once(text: str) -> str:
    for shape in _SHAPES:
        text = shape.sub(MARK, text)
    for userinfo in _USERINFO:
        text = userinfo.sub(rf"\1{MARK}@", text)
    return _named(_SCHEME.sub(rf"\1\2{MARK}", text))


def neutral(text: str) -> str:
    """One visible character for each control character, none for what only steers or hides the display."""
    text = _ANSI.sub("", text)
    for mark, plain in _BREAKS.items():
        text = text.replace(mark, plain)
    if text.isascii() and text.replace("\n", "").replace("\t", "").isprintable():
        return text
    return "".join(_visible(sign) for sign in text)


def secret_name(name: str) -> bool:
    """Whether a variable, flag or key of that name holds a secret."""
    parts = [part.lower() for part in _PART.findall(name[-128:])]
    if not parts or parts[-1] in _ONLY_ABOUT:
        return False
    if _GLUED.search("".join(parts)) or any(part in _ALONE or part.endswith("pwd") for part in parts):
        return True
    return any(key in ("key", "keys", "id") and one in _KEYED for one, key in pairwise(parts))


def hidden(data: Any, name: str = "") -> Any:
    """Plain data without secrets; what a label or a parameter of a telling name holds is hidden whole."""
    match data:
        case str():
            return MARK if name and data and secret_name(name) else redact(data)
        case dict():
            return {redact(key): hidden(value, key) for key, value in data.items()}
        case list() | tuple():
            return [hidden(value, name) for value in data]
        case _:
            return data


def bounded(text: str, most: int, *, keep_end: bool = False) -> str:
    """At most `most` bytes of UTF-8, whole lines where there are any, and a line that says that more was there."""
    raw = text.encode(errors="replace")
    if len(raw) <= most:
        return text
    note = "… cut: the source said more"
    room = most - len(note.encode()) - 1
    if room <= 0:
        return raw[:most].decode(errors="ignore")
    kept = (raw[-room:] if keep_end else raw[:room]).decode(errors="ignore")
    if keep_end:
        return f"{note}\n{kept.split(chr(10), 1)[-1]}"
    return f"{kept.rsplit(chr(10), 1)[0]}\n{note}"


def _named(text: str) -> str:
    """Hides what follows each name that holds a secret; a value is never looked at as a name again."""
    kept: list[str] = []
    done = 0
    for name in _NAME.finditer(text):
        if name.start() < done:
            continue
        found = _value(text, name)
        if found:
            kept += (text[done : found[0]], MARK)
            done = found[1]
    return "".join((*kept, text[done:]))


def _value(text: str, name: re.Match[str]) -> tuple[int, int] | None:
    """Where the secret begins and ends that this name announces; None where there is none."""
    if not secret_name(name.group()):
        return _near(text, name) if name.group().lower() in ("key", "keys") else None
    equals = _EQUALS.match(text, name.end())
    if equals:
        return None if _holds_nothing(equals.group(2)) else equals.span(2)
    element = _ELEMENT.match(text, name.end()) if text.endswith("<", 0, name.start()) else None
    if element:
        return element.span(2)
    flag = _AFTER_FLAG.match(text, name.end()) if name.group().startswith("-") else None
    if flag:
        return flag.span(2)
    colon = _COLON.match(text, name.end())
    if colon and _told(text, name, colon) and not _holds_nothing(colon.group(2)):
        return colon.span(2)
    return _near(text, name)


def _near(text: str, name: re.Match[str]) -> tuple[int, int] | None:
    near = _NEAR.match(text, name.end())
    return near.span(2) if near else None


def _holds_nothing(value: str) -> bool:
    return value.startswith(MARK) or value.lower().strip("\"',;)}]") in _NOTHING


def _told(text: str, name: re.Match[str], colon: re.Match[str]) -> bool:
    """`secret: not found` is a sentence and `token: 3f9a77` a secret: the word, the value's look or its place tells."""
    value = colon.group(2)
    if _PASSWORDS.search(name.group()) or value[0] in "\"'\\" or len(value) >= 16 or any(c.isdigit() for c in value):
        return True
    alone = colon.group(3) is not None
    before = text[text.rfind("\n", 0, name.start()) + 1 : name.start()] if alone else "x"
    return alone and not before.strip(" \t-+>")


def _visible(sign: str) -> str:
    if sign in "\n\t" or " " <= sign <= "~":
        return sign
    if sign in _BLANKS or "\ufe00" <= sign <= "\ufe0f" or "\U000e0000" <= sign <= "\U000e0fff":
        return ""
    category = unicodedata.category(sign)
    if category == "Cf":
        return ""
    return "\ufffd" if category in ("Cc", "Cs", "Co", "Zl", "Zp") else sign
