"""Known secrets do not get into the journal; everything else does, byte for byte."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import permutations, product
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman_local.journal import redaction
from dragoman_local.journal.redaction import TOGETHER, redact, redact_all, suspect_numbers
from dragoman_local.secrets import search
from dragoman_local.secrets.names import REDACTED
from tests.every import every
from tests.journal.plain_redaction import redact_plainly


def frame(value: Any) -> bytes:
    return json.dumps(value).encode()


def redacted(value: Any) -> Any:
    return json.loads(redact(frame(value)))


def test_the_environment_and_headers_of_mcp_servers_keep_their_names_only() -> None:
    servers = [
        {"name": "a", "command": "x", "args": [], "env": [{"name": "GREETING", "value": "hello"}]},
        {"type": "http", "name": "b", "url": "u", "headers": [{"name": "X-Plain", "value": "hello"}]},
    ]
    request = {"id": 1, "method": "session/new", "params": {"cwd": "/tmp", "mcpServers": servers}}
    kept = redacted(request)["params"]["mcpServers"]
    assert kept[0]["env"] == [{"name": "GREETING", "value": REDACTED}]
    assert kept[1]["headers"] == [{"name": "X-Plain", "value": REDACTED}]
    assert kept[0]["command"] == "x"


def test_the_environment_of_a_terminal_is_hidden_as_a_table_too() -> None:
    assert redacted({"env": {"A": "one", "B": 2}}) == {"env": {"A": REDACTED, "B": 2}}
    assert redacted({"env": ["odd", {"name": "A"}]}) == {"env": ["odd", {"name": "A"}]}
    assert redacted({"env": None, "headers": "x"}) == {"env": None, "headers": "x"}


@every(
    "name", ["password", "apiKey", "api_key", "X-Api-Key", "Authorization", "access_token", "clientSecret"]
)
def test_a_value_with_the_name_of_a_secret_is_hidden_at_any_depth(name: str) -> None:
    assert redacted({"a": [{"b": {name: "plain words"}}]}) == {"a": [{"b": {name: REDACTED}}]}


def test_numbers_and_empty_values_with_such_names_stay() -> None:
    for harmless in ({"token": 5}, {"password": ""}, {"inputTokens": 12}, {"secret": None}):
        given = frame(harmless)
        assert redact(given) is given


@every(
    "secret",
    [
        "sk-ant-api03-" + "a1B2" * 10,
        "sk-proj-" + "a1B2_-" * 8,
        "sk_live_" + "a1B2" * 6,
        "ghp_" + "a1B2" * 9,
        "github_pat_" + "a1B2_" * 9,
        "glpat-" + "a1B2" * 5,
        "xoxb-123456789012-" + "a1B2" * 5,
        "AKIA" + "A1B2" * 4,
        "AIza" + "a1B2-" * 7,
        "ya29." + "a1B2_" * 6,
        "hf_" + "a1B2" * 8,
        "npm_" + "a1B2" * 9,
        "pypi-" + "AgEI" * 9,
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0." + "a1B2" * 8,
        "-----BEGIN RSA PRIVATE KEY-----\nMIIEow\nIBAAK\n-----END RSA PRIVATE KEY-----",
        "-----BEGIN PRIVATE KEY-----\nMIIEow",
    ],
)
def test_what_looks_like_a_key_is_hidden_wherever_it_stands(secret: str) -> None:
    given = {"update": {"content": {"type": "text", "text": f"use {secret} for it"}}}
    kept = redact(frame(given))
    text = json.loads(kept)["update"]["content"]["text"]
    assert secret.split("\n")[-1] not in text
    assert text.startswith(f"use {REDACTED}")


@every(
    ("text", "kept"),
    [
        ("Authorization: Bearer abcdefgh12", f"Authorization: Bearer {REDACTED}"),
        ("authorization: basic dXNlcjpwYXNz", f"authorization: basic {REDACTED}"),
        ("git clone https://me:hunter2@host/x", f"git clone https://me:{REDACTED}@host/x"),
        ("GET /x?a=1&token=abc&b=2", f"GET /x?a=1&token={REDACTED}&b=2"),
        ("export OPENAI_API_KEY=abc; run", f"export OPENAI_API_KEY={REDACTED}; run"),
        ("DB_PASSWORD='abc' run", f"DB_PASSWORD='{REDACTED}' run"),
        ("tool --api-key=abc --x", f"tool --api-key={REDACTED} --x"),
        ("tool --auth-token abc --x", f"tool --auth-token {REDACTED} --x"),
    ],
)
def test_a_secret_in_a_command_or_an_address_goes_and_its_name_stays(text: str, kept: str) -> None:
    assert redacted({"text": text}) == {"text": kept}


@every("secret", ["hunter2", 'a"b', "a1\\", 'a\\"b', "é\n\t/x", '1a\\"', "{}[],:"])
@every("depth", [1, 2, 3])
@every("indent", [None, 2])
def test_a_secret_in_json_that_a_text_quotes_is_hidden(secret: str, depth: int, indent: int | None) -> None:
    def quoted(value: str) -> str:
        text = json.dumps({"user": "me", "api-Key": value, "next": "b"}, indent=indent)
        for _ in range(depth - 1):
            text = json.dumps({"inner": text, "more": 1})
        return f"The file has {text}, as you see."

    assert redacted({"text": quoted(secret)}) == {"text": quoted(REDACTED)}


def test_a_secret_in_quoted_json_is_hidden_also_where_the_colons_stand_in_a_column() -> None:
    text = '{\n  "user"     : "me",\n  "password" : "heron",\n  "token"    : "hunter2"\n}'
    kept = text.replace("heron", REDACTED).replace("hunter2", REDACTED)
    assert redacted({"text": text}) == {"text": kept}


@every("text", ['{"token": 5}', '{"password": ""}', '"the token": "x"', 'a "token" : of', '{"tokens": "a"}'])
def test_other_json_that_a_text_quotes_stays(text: str) -> None:
    assert redact(frame({"text": text})) == frame({"text": text})


def test_a_secret_in_the_next_argument_is_hidden() -> None:
    assert redacted({"args": ["--token", "abc", "run"]}) == {"args": ["--token", REDACTED, "run"]}


@every(
    "text",
    [
        "my keyboard's tokens and passwords",
        "max_tokens=4096",
        "MAX_TOKENS=4096",
        "https://host:8080/path@v2",
        "ask-the-other-question-tomorrow",
        "through the right bearer of news",
        "mail me@example.org",
        "a secretary's cookie",
    ],
)
def test_what_is_no_secret_stays(text: str) -> None:
    given = frame({"text": text})
    assert redact(given) == given


def test_what_is_no_json_is_searched_for_shapes_alone() -> None:
    key = b"ghp_" + b"a1B2" * 9
    assert redact(b'{"env": ' + key) == b'{"env": [redacted]'
    assert redact(b"\xff\xfe token") == b"\xff\xfe token"


@given(st.binary(max_size=300))
def test_any_bytes_are_taken(given_bytes: bytes) -> None:
    assert redact(redact(given_bytes)) == redact(given_bytes)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text() | st.sampled_from(["env", "token"]), inner),
        max_leaves=20,
    )
)
def test_a_redacted_frame_is_still_one_line_of_json(value: Any) -> None:
    kept = redact(frame(value))
    json.loads(kept)
    assert b"\n" not in kept


PIECES = st.sampled_from(
    [
        *("hello ", "\n", "é", '"', "'", "\\", "/", ":", ",", "{", "}", "=", "-", "@", "?", "&", "_"),
        *("pass", "word=1", "abc", "0123456789", "key", "token", "_2", "sk-", "a" * 20, "sk-" + "a" * 20),
        *(
            "API_KEY=",
            "API_KEY='",
            'API_KEY="',
            "SECRET_KEY_BASE=x",
            "_WORD=",
            "_KEY",
            "?token=",
            "&Api_Key=",
            "MAX_TOKENS=5",
        ),
        *("Bearer ", "Bearer abcdefgh12", "authorization: ", "basic dXNlcjpwYXNz", "https://", "me:pw@host"),
        *("--token ", "--api-key=", "-----BEGIN PRIVATE KEY-----", "eyJ" + "b" * 9 + "." + "c" * 9 + "."),
        *('"token": "', '\\"password\\":\\"', '"', '\\"', '"api_key" :"x', '": "'),
        *("ghp_", "B2" * 10, "xoxb-", "AKIA", "AIza", "ya29.", "\\u0074", "env", "data", "authenticate"),
    ]
)
TEXTS = st.lists(PIECES, max_size=6).map("".join)
NAMES = st.sampled_from(
    ["env", "token", "to-ken", "to\u212aen", "apiKey", "headers", "data", "method", "a", "é", ":token", "x:"]
)
VALUES = st.recursive(
    st.none() | st.integers(0, 9) | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(NAMES | TEXTS, inner, max_size=4),
    max_leaves=8,
)


@st.composite
def frames_of_a_stream(draw: st.DrawFn) -> list[bytes]:
    """Frames that mostly begin alike, some of them written in ways that are unusual, some of them no JSON."""
    found = []
    name = draw(NAMES)
    for value in draw(st.lists(TEXTS | VALUES, max_size=8)):
        message = {"jsonrpc": "2.0", "method": draw(st.sampled_from(["a", "authenticate"])), "params": value}
        written = draw(
            st.sampled_from(
                [
                    lambda message: msgspec.json.encode(message),
                    lambda message: json.dumps(message).encode(),
                    lambda message: json.dumps(message, separators=(" , ", " : ")).encode(),
                    lambda message: json.dumps({name: message["params"]}).encode(),
                    lambda message: json.dumps(message).replace("t", "\\u0074").encode(),
                    lambda message: json.dumps(message).replace("/", "\\/").encode(),
                    lambda message: str(message["params"]).encode(),
                ]
            )
        )
        found.append(written(message))
    return found * draw(st.integers(1, 4))


@given(frames_of_a_stream())
def test_the_quick_search_hides_what_a_plain_walk_hides(frames: list[bytes]) -> None:
    expected = [redact_plainly(frame) for frame in frames]
    assert [redact(frame) for frame in frames] == expected
    assert list(redact_all(frames)) == expected


QUOTED_NAMES = (
    *("password", "api-Key", "t.o k-e_n", "P-r-o-x-y_A-u-t-h-o-r-i-z-a-t-i-o-n", "cookie", "env", "tokens"),
    *("user", "é", "", "a" * 70 + "token", "to\\ken", 'to"ken', "token ", "-token"),
)
COLONS = (":", ": ", " : ", "   :", "        : ", ":\t", ": \t ", ":         ", "\t: ", " is : ", ":\n")


@st.composite
def quoted_json(draw: st.DrawFn) -> str:
    """A text that quotes JSON, which may have a text that quotes JSON."""
    text = draw(TEXTS)
    for _ in range(draw(st.integers(1, 3))):
        name, colon = draw(st.sampled_from(QUOTED_NAMES)), draw(st.sampled_from(COLONS))
        text = f'{draw(TEXTS)}{{"{name}"{colon}{json.dumps(text)}, "x": {json.dumps(draw(TEXTS))}}}'
    return text


@given(st.lists(quoted_json(), min_size=1, max_size=4))
def test_names_in_quoted_json_are_found_as_a_plain_walk_finds_them(texts: list[str]) -> None:
    frames = [frame({"params": {"text": text}}) for text in (*texts, *texts, *texts, *texts)]
    expected = [redact_plainly(frame) for frame in frames]
    assert [redact(frame) for frame in frames] == expected
    assert list(redact_all(frames)) == expected


HEADS = (
    '{"params":{"text":"',
    '{"method":"authenticate","x":{"text":"',
    '{"env":{"a":"',
    '{"x:"',
    '{"AKIA:"',
)
TAILS = (
    *('"}}', '","data":"a"}}', '","a":{"token":"b"}}', '":"b"}}', '","basic dXNlcjpwYXNz"]}', '"'),
    *('","x":"sk-aaaaaaaaaaaaaaaaaaaa"}}', '", "abc"]}}'),
)
ENDS = (
    "AKIA" + "A1B2" * 4,
    "and so on",
    "tool --token",
    "run it",
    "authorization: ",
    "A_KEY=",
    "\\",
    '"',
    "=x",
)


@every(("head", "tail"), list(product(HEADS, TAILS)))
def test_frames_of_one_shape_are_redacted_as_each_alone(head: str, tail: str) -> None:
    for text, other in permutations(ENDS, 2):
        texts = (text, other, "x", "y")
        frames = [f"{head}{json.dumps(text)[1:-1]}{tail}".encode() for text in texts]
        assert list(redact_all(frames)) == [redact_plainly(frame) for frame in frames]


@given(st.lists(TEXTS, min_size=2, max_size=6), st.sampled_from(HEADS), st.sampled_from(TAILS))
def test_frames_of_one_shape_are_redacted_as_each_alone_with_any_texts(
    texts: list[str], head: str, tail: str
) -> None:
    frames = [f"{head}{json.dumps(text)[1:-1]}{tail}".encode() for text in (*texts, *texts)]
    assert list(redact_all(frames)) == [redact_plainly(frame) for frame in frames]


@given(VALUES)
def test_a_frame_is_json_also_when_secrets_were_cut_out_of_its_texts(value: Any) -> None:
    for written in (msgspec.json.encode(value), json.dumps(value).encode()):
        assert json.loads(redact(written)) is not Ellipsis


def test_another_way_to_redact_is_asked_for_every_frame() -> None:
    assert list(redact_all([b"a", b"b"], bytes.upper)) == [b"A", b"B"]


@pytest.mark.parametrize(
    "params",
    [
        {"methodId": "pin", "data": {"pin": "4711-heron"}},
        {"methodId": "pin", "data": "4711-heron"},
        {"methodId": "pin", "_meta": {"dragoman/credentials": {"pin": "4711-heron"}}},
    ],
)
def test_credentials_of_a_login_are_hidden_whatever_they_are_called(params: dict[str, object]) -> None:
    frame = {"jsonrpc": "2.0", "id": 1, "method": "authenticate", "params": params}
    assert b"4711" not in redact(json.dumps(frame).encode())


def chunk_of(session: str, text: str) -> bytes:
    update = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}}
    params = {"sessionId": session, "update": update}
    return json.dumps({"jsonrpc": "2.0", "method": "session/update", "params": params}).encode()


def test_what_frames_of_a_stream_shared_before_hides_no_secret_of_the_next() -> None:
    key = "sk-ant-api03-" + "a1B2" * 20
    ordinary = [chunk_of("s", f"word {number}") for number in range(8)]
    assert redact_all(ordinary) == ordinary
    login = b'{"jsonrpc":"2.0","method":"authenticate","params":{"data":{"x":"secret words"}}}'
    frames = [*ordinary[:3], chunk_of("s", key), *ordinary[3:], login, chunk_of("other", key), ordinary[0]]
    redacted_frames = redact_all(frames)
    assert redacted_frames == [redact(frame) for frame in frames]
    assert redacted_frames[0] == ordinary[0]
    assert not any(key.encode() in frame or b"secret words" in frame for frame in redacted_frames)


def test_large_frames_among_small_ones_are_looked_at_as_each_alone() -> None:
    key = "sk-ant-api03-" + "a1B2" * 20
    large = chunk_of("s", "long " * 2_000)
    small = [chunk_of("s", f"word {number}") for number in range(TOGETHER + 3)]
    secret = chunk_of("s", f"{'long ' * 2_000} {key}")
    frames = [*small, large, *small, secret, large, chunk_of("s", key), *small]
    redacted_frames = redact_all(frames)
    assert redacted_frames == [redact(frame) for frame in frames]
    assert not any(key.encode() in frame for frame in redacted_frames)


def test_frames_of_one_shape_are_searched_together_however_many_they_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    searches: list[int] = []

    def counted(parts: Sequence[bytes]) -> set[int]:
        searches.append(len(parts))
        return suspect_numbers(parts)

    monkeypatch.setattr(redaction, "suspect_numbers", counted)
    head, tail = b'{"method":"session/update","params":{"text":"', b'"}}'
    frames = [b"%bword %d%b" % (head, number, tail) for number in range(4 * TOGETHER)]
    redact_all(frames)
    assert searches == [len(frames)]
    searches.clear()
    odd = b'{"jsonrpc":"2.0","method":"other"}'
    key = "sk-ant-api03-" + "a1B2" * 20
    mixed = [*frames, odd, head + key.encode() + tail, *frames]
    redacted_frames = redact_all(mixed)
    assert sum(searches) == len(mixed)
    assert max(searches) <= TOGETHER, "one odd frame costs few others"
    assert redacted_frames == [redact(frame) for frame in mixed]
    assert not any(key.encode() in frame for frame in redacted_frames)


def test_a_few_frames_of_one_append_are_searched_together(monkeypatch: pytest.MonkeyPatch) -> None:
    searches: list[int] = []

    def counted(parts: Sequence[bytes]) -> set[int]:
        searches.append(len(parts))
        return suspect_numbers(parts)

    ask = b'{"method":"session/prompt","params":{"prompt":[{"type":"text","text":"%b"}]}}'
    notes = [b'{"hub":"taken","key":"1"}', b'{"hub":"turn_ended","key":"1","result":{}}']
    key = b"sk-ant-api03-" + b"a1B2" * 20
    frames = [*notes, ask % b"go", ask % key]
    plain = redact_all([*notes, ask % b"go"])
    monkeypatch.setattr(redaction, "suspect_numbers", counted)
    redacted_frames = redact_all(frames)
    assert len(searches) <= 2, "whole frames, and texts behind heads that came before"
    assert redacted_frames[:3] == plain == frames[:3]
    assert redacted_frames == [redact(frame) for frame in frames]
    assert key not in redacted_frames[3]


@pytest.mark.parametrize("count", [1, 3, 10, 100])
@pytest.mark.parametrize("size", [1, 30, 300])
def test_a_word_behind_a_telling_name_goes_wherever_the_frames_are_cut(count: int, size: int) -> None:
    texts = [f"hello world number {'abcdefghij'[n % 10] * 3} " * size for n in range(count)]
    params = [{"text": text, "token": "hunter" if n % 4 else "zebra"} for n, text in enumerate(texts)]
    frames = [msgspec.json.encode({"method": "session/update", "params": each}) for each in params]
    for _ in range(3):  # the heads are known now
        hidden = b"".join((*redact_all(frames), *map(redact, frames)))
        assert (b"hunter" in hidden, b"zebra" in hidden) == (False, False)


PROSE = "Words that say nothing but what they say, and go on to say it. " * 6


def test_one_frame_of_prose_is_judged_without_its_json(monkeypatch: pytest.MonkeyPatch) -> None:
    prose = msgspec.json.encode({"method": "say", "text": PROSE})
    assert redact(prose) is redact(prose)  # from the second one on, its beginning is known
    monkeypatch.delattr(search, "_word_parts")
    assert redact(prose) is prose


@every(
    "rest",
    [
        b'","token":"hunter"}',
        b' \\\\","token":"hunter"}',
        b' \\"","token":"hunter"}',
        b'","env":{"A":"hunter"}}',
        b'","args":["--token","hunter"]}',
        b' password: hunter22"}',
        b' --token","args":["hunter"]}',
        b'" : "hunter"}',
    ],
)
def test_what_stands_behind_the_text_of_one_frame_is_judged_as_json(rest: bytes) -> None:
    head = b'{"method":"say","text":"' + PROSE.encode()
    assert redact(head + b'"}') == redact(head + b'"}')  # from the second one on, its beginning is known
    assert redact(head + rest) == redact_plainly(head + rest)
