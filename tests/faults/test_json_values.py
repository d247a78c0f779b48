"""JSON that is allowed and hard: deep, wide, long, doubled, and half a character."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.faults.cases import cases, fault
from tests.faults.talk import INVALID, PARAMS, PARSE, UNKNOWN, Talk, code, line, prompt

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.bound(30)]

ANY = b'{"jsonrpc":"2.0","id":1,"method":"_any","params":%b}\n'


def with_meta(talk: Talk, meta: bytes) -> bytes:
    """A good prompt with this for its `_meta`."""
    frame = prompt("meta", talk.session, "with meta")
    frame["params"]["_meta"] = "HERE"
    return line(frame).replace(b'"HERE"', meta)


async def turn_with_meta(talk: Talk, meta: bytes, *, seconds: float = 5.0) -> dict[str, Any]:
    """The answer to such a prompt; one that could not be read has no id."""
    since = len(talk.heard)
    await talk.peer.send(with_meta(talk, meta))
    return await talk.until(
        lambda m: "method" not in m and m["id"] in ("meta", None), since=since, seconds=seconds
    )


@cases(
    {
        "JSN-16": b"[" * 100_000 + b"]" * 100_000,
        "JSN-X12": b'{"a":' * 100_000 + b"1" + b"}" * 100_000,
        "JSN-X13": b'[{"a":' * 50_000 + b"1" + b"}]" * 50_000,
        "JSN-X14": b"[" * 1_000_000,
    }
)
async def test_nesting_without_end_is_refused(shared: Talk, case: bytes) -> None:
    for frame in (case + b"\n", ANY % case):
        (reply,) = await shared.replies(frame)
        assert code(reply) in (PARSE, INVALID, PARAMS, UNKNOWN)


@fault("JSN-17")
async def test_deep_objects_in_the_meta_of_a_prompt_are_answered_or_refused(shared: Talk) -> None:
    answer = await turn_with_meta(shared, b'{"a":' * 5000 + b"1" + b"}" * 5000)
    assert code(answer) in (None, PARSE, INVALID, PARAMS)
    await shared.echoes()


@fault("JSN-X15")
async def test_every_depth_is_either_read_or_refused(shared: Talk) -> None:
    for depth in (*range(60, 1100, 40), 2000, 3000, 10_000):
        answer = await turn_with_meta(shared, b'{"a":' * depth + b"1" + b"}" * depth)
        assert code(answer) in (None, PARSE, INVALID, PARAMS), depth
        assert depth > 60 or code(answer) is None
    await shared.echoes()


@fault("JSN-19")
async def test_numbers_beyond_every_machine_are_no_infinity(shared: Talk) -> None:
    for number in (b"9" * 5000, b"-" + b"9" * 5000, b"1e400", b"-1e400", b"1e-400", b"0." + b"1" * 5000):
        assert code(await turn_with_meta(shared, b'{"n":%b}' % number)) in (None, PARAMS, INVALID), number
        (reply,) = await shared.replies(ANY % b'{"n":%b}' % number)
        assert (reply["id"], code(reply)) in ((1, UNKNOWN), (1, PARAMS), (None, INVALID)), number


@fault("JSN-X16")
async def test_a_number_where_a_number_is_expected_may_be_too_large(shared: Talk) -> None:
    for number in (b"9" * 5000, b"1e400", b"18446744073709551616", b"-9223372036854775809", b"1e3"):
        frame = b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":%b}}\n' % number
        (reply,) = await shared.replies(frame)
        assert code(reply) in (PARAMS, INVALID, PARSE), number


@cases(
    {
        "JSN-20": [
            b'{"jsonrpc":"2.0","id":1,"id":2,"method":"_any"}',
            b'{"jsonrpc":"2.0","id":1,"method":"_any","method":"session/new"}',
            b'{"jsonrpc":"2.0","id":1,"method":"_any","params":{},"params":[]}',
        ],
        "JSN-X17": [
            rb'{"jsonrpc":"2.0","id":1,"\u0069d":2,"method":"_any"}',
            rb'{"jsonrpc":"2.0","id":1,"method":"_any","m\u0065thod":"_other"}',
        ],
    }
)
async def test_a_request_that_says_something_twice_is_refused(shared: Talk, case: list[bytes]) -> None:
    for text in case:
        (reply,) = await shared.replies(text + b"\n")
        assert code(reply) == INVALID, text


@fault("JSN-X18")
async def test_a_parameter_that_is_there_twice_has_one_answer(shared: Talk) -> None:
    text = line(prompt(1, shared.session, "twice")).replace(b'"sessionId"', b'"sessionId": "zz", "sessionId"')
    since = len(shared.heard)
    await shared.peer.send(text)
    answer = await shared.answer_to(1, since=since)
    assert code(answer) in (None, PARAMS, INVALID)
    assert [m for m in await shared.replies() if "method" not in m] == []


@fault("JSN-22")
async def test_half_a_character_in_an_id_is_neither_silence_nor_a_broken_line(shared: Talk) -> None:
    for half in (rb"\ud800", rb"x\udfff", rb"\ud800\ud800", rb"\udc00\ud800"):
        (reply,) = await shared.replies(b'{"jsonrpc":"2.0","id":"%b","method":"_any"}\n' % half)
        assert reply["id"] is None or reply["id"] == json.loads(b'"%b"' % half)


@fault("JSN-23")
async def test_half_a_character_in_a_method_name_is_an_unknown_method(shared: Talk) -> None:
    for half in (rb"_\ud800", rb"session/new\udfff", rb"\ud83d"):
        (reply,) = await shared.replies(b'{"jsonrpc":"2.0","id":1,"method":"%b"}\n' % half)
        assert (reply["id"], code(reply)) == (1, UNKNOWN)


@fault("JSN-X19")
async def test_half_a_character_in_a_prompt_does_not_break_the_turn(shared: Talk) -> None:
    since = len(shared.heard)
    await shared.peer.send(line(prompt(1, shared.session, "HERE")).replace(b"HERE", rb"a\ud800b\udc00c"))
    assert code(await shared.answer_to(1, since=since)) is None
    said = shared.words(since=since)
    assert said in ("You said: a\ud800b\udc00c", "You said: a\ufffdb\ufffdc")


@fault("JSN-25")
async def test_member_names_with_a_meaning_elsewhere_have_none_here(shared: Talk) -> None:
    names = ("__proto__", "constructor", "prototype", "__class__", "__init__", "__dict__", "toString", "self")
    poison = {name: {"method": "_poison", "sessionId": "zz", "polluted": True} for name in names}
    meta = line(poison)[:-1]
    assert code(await turn_with_meta(shared, meta)) is None
    (reply,) = await shared.replies(b'{"jsonrpc":"2.0","id":1,"method":"_any",%b\n' % meta[1:])
    assert (reply["id"], code(reply)) == (1, UNKNOWN)
    await shared.echoes()


@cases(
    {
        "JSN-26": b"{%b}" % b",".join(b'"member%d":%d' % (n, n) for n in range(100_000)),
        "JSN-X20": b'{"list":%b}' % str(list(range(1_000_000))).replace(" ", "").encode(),
        "JSN-X21": b'{"%b":1}' % (b"n" * 2_000_000),
        "JSN-X22": b"{%b}" % b",".join([b'"same":1'] * 100_000),
        "JSN-X23": b'{"text":"%b"}' % (rb"\u0041\ud83d\ude00" * 100_000),
    }
)
async def test_wide_and_long_values_are_read_in_time(shared: Talk, case: bytes) -> None:
    assert code(await turn_with_meta(shared, case, seconds=5.0)) is None
    await shared.echoes()


@cases(
    {
        "JSN-28": "😀👩‍👩‍👧 שלום مرحبا e\u0301 \u202eabc\u202c 漢字 \U0010ffff ẞß",
        "JSN-X24": "".join(map(chr, range(0x20))) + "\x7f\x80\x9f\ufeff\ufffe\uffff\ufdd0",
        "JSN-X25": '"\\/\b\f\n\r\t\\u0041 \\ud800 {"jsonrpc":"2.0"}\r\n',
        "JSN-X26": "NaN Infinity null 1e400 \u2028 </script> %s {0} ${x} $(x) `x`",
    }
)
async def test_text_comes_back_code_point_for_code_point(shared: Talk, case: str) -> None:
    await shared.echoes(case)
    since = len(shared.heard)
    escaped = json.dumps(prompt(1, shared.session, case), ensure_ascii=True).encode() + b"\n"
    await shared.peer.send(escaped)
    await shared.answer_to(1, since=since)
    assert shared.words(since=since) == f"You said: {case}"


@fault("JSN-X27")
async def test_escaped_member_names_are_the_same_names(shared: Talk) -> None:
    (reply,) = await shared.replies(rb'{"\u006asonrpc":"2.0","\u0069d":1,"m\u0065thod":"_a\u006ey"}' + b"\n")
    assert (reply["id"], code(reply)) == (1, UNKNOWN)
