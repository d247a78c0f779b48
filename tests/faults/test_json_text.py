"""Text that is not JSON, and JSON that is no message: one agent takes all of it."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.faults.cases import cases, fault
from tests.faults.talk import INVALID, PARSE, UNKNOWN, Talk, code
from tests.faults.texts import ALLOWED, FORBIDDEN, SUITE

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.bound(30)]

NEW = b'{"jsonrpc":"2.0","id":1,"method":"session/new","params":%b}'
ONE = b'{"jsonrpc":"2.0","id":1,"method":"_one"}'


def with_params(*texts: bytes) -> list[bytes]:
    return [NEW % text for text in texts]


@cases(
    {
        "JSN-01": [*with_params(b'{"cwd":"/tmp",}', b"[1,]"), ONE[:-1] + b",}"],
        "JSN-02": [*with_params(b"{'cwd':'/tmp'}"), b"{'jsonrpc':'2.0','id':1,'method':'_one'}"],
        "JSN-04": [*with_params(b"[01]", b"[-01]", b"[+1]", b"[0x1F]"), ONE.replace(b"1", b"01")],
        "JSN-05": [ONE[:cut] for cut in range(1, len(ONE))],
        "JSN-14": [*with_params(b"[NaN]", b"[Infinity]", b"[-Infinity]"), ONE.replace(b"1", b"NaN"), b"NaN"],
        "JSN-X1": [*with_params(b"{cwd:1}", b"[1/*x*/]", b"[1]//x"), b"#" + ONE, b"// " + ONE],
        "JSN-X2": with_params(b'["a\tb"]', b'["a\x00b"]', b'["a\x1bb"]', b'["a\rb"]'),
        "JSN-X3": with_params(rb'["\x41"]', rb'["\u12"]', rb'["\q"]', rb'["\u{41}"]', b'["\\'),
        "JSN-X4": with_params(b"[True]", b"[None]", b"[undefined]", b"[nul]", b"[TRUE]"),
        "JSN-X5": with_params(b"[1e]", b"[1.]", b"[.1]", b"[-]", b"[1e+]", b"[1_0]", b"[0b1]"),
        "JSN-X6": [ONE + b"}", ONE + b"]", b"[" + ONE, ONE + b" x", b"{}" + ONE, b"null " + ONE],
    }
)
async def test_text_that_is_no_json_is_a_parse_error(shared: Talk, case: list[bytes]) -> None:
    for text in case:
        replies = await shared.replies(text + b"\n")
        assert [(reply["id"], code(reply)) for reply in replies] == [(None, PARSE)], text


@cases(
    {
        "JSN-07": [b"1", b"-1.5e3", b"0"],
        "JSN-08": [b'"session/new"', b'""'],
        "JSN-10": [b"true"],
        "JSN-11": [b"[]", b" [ ] "],
        "JSN-13": [b"[" + ONE + b"," + ONE.replace(b"1", b"2") + b"]"],
        "JSN-X7": [b"null", b"false"],
        "JSN-X8": [b"[" + ONE + b"]", b'[{"jsonrpc":"2.0","method":"_note"}]', b"[1,2]", b"[[]]", b"[null]"],
        "JSN-X9": [b"{}", b'{"a":1}', b'{"jsonrpc":"2.0"}', b'{"jsonrpc":"2.0","params":{}}'],
    }
)
async def test_json_that_is_no_message_is_an_invalid_request(shared: Talk, case: list[bytes]) -> None:
    for text in case:
        replies = await shared.replies(text + b"\n")
        assert [(reply["id"], code(reply)) for reply in replies] == [(None, INVALID)], text


@fault("JSN-29")
async def test_every_malformed_text_of_the_corpus_is_refused(shared: Talk) -> None:
    assert len(FORBIDDEN) >= 60
    replies = await shared.replies(b"".join(text + b"\n" for text in FORBIDDEN))
    assert [reply["id"] for reply in replies] == [None] * len(FORBIDDEN)
    assert {code(reply) for reply in replies} <= {PARSE, INVALID}


@fault("JSN-X10")
async def test_a_malformed_text_spoils_no_request_around_it(shared: Talk) -> None:
    for text in FORBIDDEN:
        replies = await shared.replies(ONE + b"\n" + NEW % text + b"\n" + ONE + b"\n")
        assert [reply["id"] for reply in replies] == [1, None, 1], text


@fault("JSN-31")
async def test_unusual_but_allowed_json_does_no_harm(shared: Talk) -> None:
    suite = Path(os.environ[SUITE]) if SUITE in os.environ else None
    files = sorted(suite.glob("[yi]_*.json")) if suite else []
    texts = [*ALLOWED, *(b" ".join(path.read_bytes().splitlines()) for path in files)]
    for text in texts:
        for frame in (text, NEW % text):
            replies = await shared.replies(frame + b"\n")
            assert len(replies) <= 1 + frame.count(b"\n"), text


@fault("JSN-X11")
async def test_allowed_json_in_the_place_of_params_is_read_as_json(shared: Talk) -> None:
    for text in ALLOWED:
        json.loads(text, parse_int=str)  # or it would not be allowed
        (reply,) = await shared.replies(b'{"jsonrpc":"2.0","id":1,"method":"_any","params":%b}\n' % text)
        assert (reply["id"], code(reply)) == (1, UNKNOWN), text
