"""Secrets and invisible characters never get past the redaction, and what is no secret stays readable."""

from __future__ import annotations

import string
import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from handrail.core.redact import MARK, bounded, neutral, redact, secret_name

HIDDEN = [
    "DB_PASSWORD={}",
    "db.password = {} and more",
    '{{"password":"{}","user":"bob"}}',
    "{{'client_secret': '{}'}}",
    '{{\\"password\\":\\"{}\\",\\"x\\":1}}',
    "password: {}",
    "  - apiKey: {}",
    "level=info msg=starting token={} port=80",
    "--db-password {} --port 80",
    "--token={}",
    "https://bob:{}@shop.example/x",
    "postgres://app:{}@db:5432/orders?sslmode=require",
    "redis://:{}@cache:6379",
    "<password>{}</password>",
    'env["DB_PASSWORD"] = "{}"',
    "a?access_token={}",
    "a?password%3D{}",
    "mysqlPwd={}",
    "spring.datasource.password={}",
]


@pytest.mark.parametrize("around", HIDDEN)
@given(secret=st.text(string.ascii_letters + string.digits + "!+/_.~-", min_size=6, max_size=40).filter(str.isalnum))
def test_a_value_that_a_name_announces_is_hidden(around: str, secret: str) -> None:
    text = around.format(secret)
    if text.count(secret) == 1 and secret not in around and secret.lower() not in ("undefined",):
        assert secret not in redact(text)
        assert MARK in redact(text)


@pytest.mark.parametrize(
    "secret",
    [
        "AKIAIOSFODNN7EXAMPLE",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N",
        "xoxb-1234567890-abcdefghij",
        "xapp-1-A0123-456-abcdef",
        "ghp_16C7e42F292c6912E7710c838347Ae178B4a",
        "glpat-abcdefghij0123456789",
        "sk-ant-api03-abcdefghijklmnop",
        "AIzaSyD-abcdefghijklmnopqrstuvwxyz01234",
    ],
)
def test_a_secret_that_says_whose_it_is_is_hidden_wherever_it_stands(secret: str) -> None:
    for text in (secret, f"got {secret} here", f'"{secret}"', f"({secret})"):
        assert secret not in redact(text)


def test_a_private_key_is_hidden_whole_also_when_a_cut_took_its_beginning_or_its_end() -> None:
    key = "-----BEGIN RSA PRIVATE KEY-----\nMIIEabc\nZZZZdef\n-----END RSA PRIVATE KEY-----"
    assert redact(f"before\n{key}\nafter") == f"before\n{MARK}\nafter"
    assert "ZZZZ" not in redact(f"before\n{key.removesuffix('-----END RSA PRIVATE KEY-----')}")
    assert "ZZZZ" not in redact(key.removeprefix("-----BEGIN RSA PRIVATE KEY-----\n"))


def test_bearer_and_basic_credentials_are_hidden() -> None:
    assert redact("Authorization: Bearer abc.def-123456") == f"Authorization: Bearer {MARK}"
    assert redact("proxy said basic dXNlcjpwYXNz") == f"proxy said basic {MARK}"


def test_a_long_code_after_a_telling_word_is_hidden() -> None:
    assert "9f86d081884c7d65" not in redact("using token 9f86d081884c7d659a2feaa0c55ad015")
    assert "9f86d081884c7d65" not in redact("key is 9f86d081884c7d659a2feaa0c55ad015")


@pytest.mark.parametrize(
    "text",
    [
        'MountVolume.SetUp failed for volume "tls" : secret "checkout-tls" not found',
        "couldn't find key DB_PASSWORD in Secret shop/checkout",
        "error: failed to get secret: not found",
        "Back-off restarting failed container=checkout pod=checkout-7d9",
        "secretName: checkout-tls",
        "password authentication failed for user bob",
        "author: bob",
        "compass=north",
        "passed: 12 failed: 3",
        "http://token-service:8080/health refused",
        "token=null",
        "readiness probe failed: HTTP probe failed with statuscode: 503",
    ],
)
def test_what_is_evidence_and_no_secret_stays(text: str) -> None:
    assert redact(text) == text


@pytest.mark.parametrize("name", ["DB_PASSWORD", "apiKey", "AWS_SECRET_ACCESS_KEY", "dbpwd", "authToken", "PGPASS_PWD"])
def test_names_of_secrets_are_known(name: str) -> None:
    assert secret_name(name)


@pytest.mark.parametrize(
    "name", ["PORT", "AUTHOR", "secretName", "TOKEN_SERVICE", "PATH", "COMPASS", "PASSWORD_FILE", ""]
)
def test_names_that_are_only_about_secrets_are_not(name: str) -> None:
    assert not secret_name(name)


ANY = st.text(st.characters(), max_size=400)
CRAFTED = st.lists(
    st.sampled_from(
        ["password", "=", ":", " ", '"', "'", "\\", "\n", "token", "x1", "@", "://", "--", "[redacted]", "eyJ"]
    ),
    max_size=60,
).map("".join)


@given(text=ANY | CRAFTED, most=st.integers(0, 500))
def test_redaction_is_bounded_whatever_the_text(text: str, most: int) -> None:
    assert len(redact(text, most)) <= most


@example(text=":TOKEN:PASSWD::")
@example(text='ab://password:"x y"@')
@given(text=ANY | CRAFTED)
def test_what_was_redacted_once_is_not_changed_by_a_second_time(text: str) -> None:
    assert redact(redact(text)) == redact(text)


@given(text=ANY)
def test_no_invisible_or_steering_character_is_left(text: str) -> None:
    for sign in neutral(text):
        assert sign in "\n\t" or unicodedata.category(sign) not in ("Cc", "Cf", "Cs", "Co", "Zl", "Zp")


def test_a_zero_width_character_does_not_hide_a_secret_from_the_patterns() -> None:
    assert "hunter2" not in redact("pass\u200bword=hunter2")
    assert "hunter2" not in redact("pass\U000e0041word=hunter2")


def test_colour_codes_go_and_words_stay() -> None:
    assert neutral("\x1b[31mERROR\x1b[0m boom\x07") == "ERROR boom\ufffd"
    assert neutral("abc\u202edef\r\nnext") == "abcdef\nnext"


@given(text=ANY, most=st.integers(0, 300), keep_end=st.booleans())
def test_a_cut_is_never_longer_than_its_bound_in_bytes(text: str, most: int, keep_end: bool) -> None:
    assert len(bounded(text, most, keep_end=keep_end).encode(errors="replace")) <= most


def test_a_cut_keeps_whole_lines_and_says_so() -> None:
    text = "\n".join(f"line {number}" for number in range(100))
    assert bounded(text, 100, keep_end=True).endswith("line 98\nline 99")
    assert bounded(text, 100).startswith("line 0\nline 1\n")
    assert "cut" in bounded(text, 100)


@pytest.mark.parametrize(
    "unit",
    [
        "pass",
        "a",
        "x://",
        "password:",
        "-----BEGIN PRIVATE KEY-----",
        "eyJ",
        "token a b ",
        '"',
        "auth.",
        "A=",
        "\\",
        'pwd\\"',
    ],
)
def test_text_that_is_made_to_be_slow_comes_to_an_end(unit: str) -> None:
    """Patterns that look at each position twice take minutes on these: the run would hang here."""
    text = unit * (100_000 // len(unit))
    assert len(redact(text, 1000)) <= 1000
