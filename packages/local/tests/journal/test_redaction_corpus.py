"""Secrets of every kind in every place where one has been seen: none of them is stored.

The corpus is each kind of secret, written in each of the places. It does not ask how a secret is found.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

import msgspec

from dragoman_local.journal.redaction import REDACTED, redact, redact_all
from tests.every import every

KEYS = (
    "sk-ant-api03-" + "a1B2" * 10,
    "sk-proj-" + "a1B2_-" * 8,
    "sk-" + "Z9" * 12,
    "sk_live_" + "a1B2" * 6,
    "rk_live_" + "a1B2" * 6,
    *(f"gh{kind}_" + "a1B2" * 9 for kind in "pousr"),
    "github_pat_" + "a1B2_" * 9,
    "glpat-" + "a1B2" * 5,
    *(f"xox{kind}-123456789012-" + "a1B2" * 5 for kind in "abeprs"),
    "AKIA" + "A1B2" * 4,
    "ASIA" + "A1B2" * 4,
    "AIza" + "a1B2-" * 7,
    "ya29." + "a1B2_" * 6,
    "hf_" + "a1B2" * 8,
    "npm_" + "a1B2" * 9,
    "pypi-" + "AgEI" * 9,
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0." + "a1B2" * 8,
    "-----BEGIN PRIVATE KEY-----\nMIIEowA1B2\n-----END PRIVATE KEY-----",
    "-----BEGIN RSA PRIVATE KEY-----\nMIIEowA1B2",
)
"""What is known by its shape, wherever it stands."""

SAID = (
    ("Authorization: Bearer {}", "qwertz/12+34=="),
    ("authorization: basic {}", "dXNlcjpwYXNz+/12=="),
    ("AUTHORIZATION: BASIC {}", "dXNlcjpwYXNz+/12=="),
    ("curl -H 'BEARER   {}' x", "qwertz.12~34"),
    ("git clone https://me:{}@host/x", "hunter2-heron"),
    ("postgres://app:{}@db:5432/x", "hunter2-heron"),
    ("GET /x?a=1&token={}&b=2", "hunter2heron"),
    ("GET /x?API_KEY={}", "hunter2heron"),
    ("https://x/?access_token={}#top", "hunter2heron"),
    ("export OPENAI_API_KEY={}; run", "hunter2heron"),
    ("DB_PASSWORD='{}' run", "hunter2heron"),
    ('SECRET_KEY_BASE="{}" run', "hunter2heron"),
    ("A_TOKEN_2={}", "hunter2heron"),
    ("API_SECRET_WORD={}", "hunter2heron"),
    ("API_SECRET={}", "hunter2heron"),
    ("DB_PASSWD={}", "hunter2heron"),
    ("wget x?a=b&TOKEN={}", "hunter2heron"),
    ("tool --api-key={} --x", "hunter2heron"),
    ("tool --auth-token {} --x", "hunter2heron"),
    ("tool --db-password {}", "hunter2heron"),
    ('{{"db": {{"password": "{}"}}}}', "hunter2heron"),
    ('see {{"Api-Key":"{}"}}', "hunter2heron"),
    ('{{"user": "me",\n\t"token":\t"{}"}}', "hunter2heron"),
    ('{{"user"   : "me",\n"token"  : "{}"}}', "hunter2heron"),
)
"""What is known by the words before it."""

NAMES = (
    *(
        "password",
        "apiKey",
        "api_key",
        "X-Api-Key",
        "Authorization",
        "access_token",
        "clientSecret",
        "cookie",
    ),
    *(
        "refresh-token",
        "PRIVATE KEY",
        "set-cookie",
        "credentials",
        "Passphrase",
        "secret_access_key",
    ),
)

WORDS = "Here is the key idea: count each token, pass the result on, and keep a cookie's header. "


def texts() -> Iterator[tuple[str, str]]:
    """Texts with a secret in them, and the part of it that must not be stored."""
    for key in KEYS:
        secret = key.split("\n")[1] if "\n" in key else key
        for shown in (key, f"use {key} for it", f'"{key}"', f"({key})\n", f"é: {key}\\", WORDS * 9 + key):
            yield shown, secret
    for said, secret in SAID:
        for shown in (said, f"{WORDS}{said}", f"first\n{said}\nlast", f"“{said}”", WORDS * 9 + said):
            yield shown.replace("{}", secret), secret


def update(text: str) -> object:
    content = {"type": "text", "text": text}
    return {"sessionId": "s", "update": {"sessionUpdate": "agent_message_chunk", "content": content}}


def frame(params: object) -> object:
    return {"jsonrpc": "2.0", "method": "session/update", "params": params}


PLACES: tuple[Callable[[str], object], ...] = (
    lambda text: frame(update(text)),
    lambda text: frame({"update": {"rawInput": {"command": ["sh", "-c", text]}, "toolCallId": "t"}}),
    lambda text: {"id": 1, "result": {"output": text, "truncated": False}},
    lambda text: {"id": 1, "error": {"code": -32603, "message": "no", "data": {"why": [[text]]}}},
    lambda text: {"id": 1, "params": {text: 1}},
    lambda text: {"event": "stderr", "text": text},
)

WRITERS: tuple[Callable[[object], bytes], ...] = (
    msgspec.json.encode,
    lambda value: json.dumps(value).encode(),
    lambda value: json.dumps(value, separators=(" ,", " : ")).encode(),
    lambda value: json.dumps(value).replace("/", "\\/").encode(),
)


def corpus() -> list[tuple[bytes, bytes]]:
    found = []
    for number, (text, secret) in enumerate(texts()):
        for at in (number, number + 1):  # every text in two of the places, and every place with every kind
            message = PLACES[at % len(PLACES)](text)
            written = WRITERS[number // len(PLACES) % len(WRITERS)](message)
            found.append((written, secret.encode()))
    for name in NAMES:
        for holder in (
            {name: "heron-4711"},
            {"a": [{"b": {name: "heron-4711"}}]},
            {"x": 1, name: "heron-4711"},
        ):
            found += [(write(frame(holder)), b"4711") for write in WRITERS]
        escaped = "".join(f"\\u{ord(letter):04x}" for letter in name)
        found.append((b'{"params":{"%s":"heron-4711"}}' % escaped.encode(), b"4711"))
    return found


CORPUS = corpus()
ORDINARY = [msgspec.json.encode(frame(update(f"{WORDS}{number}"))) for number in range(20)]


def test_the_corpus_is_large_and_each_of_its_frames_holds_its_secret() -> None:
    assert len({written for written, _ in CORPUS}) >= 300
    for written, secret in CORPUS:
        assert secret in written or secret.replace(b"/", b"\\/") in written


def test_no_secret_of_the_corpus_is_stored() -> None:
    for _ in range(2):  # a beginning that comes again is looked at in another way
        leaks = [written for written, secret in CORPUS if has_secret(redact(written), secret)]
        assert leaks == []


def test_a_secret_behind_a_marker_of_the_hub_is_not_stored() -> None:
    marker = b'{"hub":"heard","n":17}'
    assert redact(marker) is marker
    assert b"hunter2" not in redact(b'{"hub":"heard","n":17,"token":"hunter2-heron"}')
    assert b"hunter2" not in redact(marker + b'{"token":"x"} --token hunter2-heron')


def test_no_secret_is_stored_among_ordinary_frames() -> None:
    for first in range(0, len(CORPUS), 7):
        some = CORPUS[first : first + 7]
        frames = [*ORDINARY[:9], *(written for written, _ in some), *ORDINARY[9:]]
        kept = redact_all(frames)
        assert kept[:9] == ORDINARY[:9]
        assert kept[9 + len(some) :] == ORDINARY[9:]
        assert [
            written
            for (_, secret), written in zip(some, kept[9:], strict=False)
            if has_secret(written, secret)
        ] == []


def test_what_is_left_of_each_frame_is_json_with_a_mark() -> None:
    for written, _ in CORPUS:
        kept = redact(written)
        json.loads(kept)
        assert REDACTED.encode() in kept


def has_secret(written: bytes, secret: bytes) -> bool:
    return secret in written or secret.replace(b"/", b"\\/") in written


@every(
    "text", ["API_KEY=", "API_KEY=\n", "export TOKEN=\\", '"-----BEGIN PRIVATE KEY-----\nabc"', "A_TOKEN='"]
)
def test_a_chunk_that_ends_before_its_secret_stays_json(text: str) -> None:
    for place in PLACES:
        for write in WRITERS:
            json.loads(redact(write(place(text))))


def test_an_option_at_the_end_of_a_value_does_not_hide_the_next_name() -> None:
    written = b'{"option":"--token","name":"x"}'
    assert redact(written) is written
