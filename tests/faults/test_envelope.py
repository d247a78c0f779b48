"""The shell around a message: versions, ids, methods and members, wrong in every way."""

from __future__ import annotations

from typing import Any

import pytest

from tests.faults.cases import cases, fault
from tests.faults.talk import (
    INVALID,
    PARAMS,
    UNKNOWN,
    Message,
    Talk,
    code,
    line,
    notification,
    prompt,
    request,
    same_id,
)

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.bound(30)]

NOTE = {"jsonrpc": "2.0", "method": "_note"}
ODD: list[Any] = [None, [], 7, "x", True, {}, {"sessionId": 7}, {"sessionId": None}, {"a": [1]}]


def ones(member: str, *values: Any) -> list[Message]:
    """Requests that are good but for one member."""
    return [{**request(1, "_one"), member: value} for value in values]


@cases(
    {
        "ENV-01": [{"id": 1, "method": "_one"}, {"method": "_note"}],
        "ENV-02": ones("jsonrpc", "1.0"),
        "ENV-04": ones("id", {}, {"id": 1}),
        "ENV-05": ones("id", [], [1]),
        "ENV-07": ones("method", None),
        "ENV-08": ones("method", {}, {"name": "_one"}),
        "ENV-X1": ones("jsonrpc", 2.0, 2, "2", "2.0 ", "2.1", None, True, [], {}),
        "ENV-X2": ones("id", True, False, 1.5, 1.0),
        "ENV-X3": ones("method", 7, True, [], ["_one"]),
        "ENV-X4": [{**NOTE, "jsonrpc": "1.0"}, {**NOTE, "method": None}, {**NOTE, "method": 1}],
    }
)
async def test_a_message_with_a_wrong_shell_is_refused(shared: Talk, case: list[Message]) -> None:
    for message in case:
        (reply,) = await shared.replies(message)
        assert code(reply) == INVALID, message
        assert reply["id"] is None or same_id(reply["id"], message.get("id")), message


@fault("ENV-10")
async def test_a_number_and_a_text_are_two_ids(shared: Talk) -> None:
    other = await shared.new_session()
    since = len(shared.heard)
    await shared.peer.send(prompt(1, shared.session, "/wait 0.2"), prompt("1", other, "/wait 0.2"))
    for request_id in (1, "1"):
        assert code(await shared.answer_to(request_id, since=since)) is None
    answers = [message["id"] for message in shared.heard[since:] if "method" not in message]
    assert sorted(answers, key=str) in ([1, "1"], ["1", 1])


@fault("ENV-11")
async def test_an_id_that_is_in_use_is_refused_and_both_are_answered(shared: Talk) -> None:
    since = len(shared.heard)
    await shared.peer.send(prompt(7, shared.session, "/wait 0.2"), prompt(7, shared.session, "second"))
    first = await shared.answer_to(7, since=since)
    second = await shared.answer_to(7, since=shared.heard.index(first) + 1)
    assert {code(first), code(second)} <= {None, INVALID}
    assert None in (code(first), code(second))
    await shared.echoes()


@fault("ENV-X5")
async def test_an_id_may_be_used_again_once_it_was_answered(shared: Talk) -> None:
    for _ in range(3):
        assert [same_id(reply["id"], 5) for reply in await shared.replies(request(5, "_again"))] == [True]


@fault("ENV-X6")
async def test_every_id_comes_back_as_it_was(shared: Talk) -> None:
    numbers = [0, -1, 2**31, 2**53, 2**53 + 1, 2**63 - 1, -(2**63)]
    for request_id in [*numbers, "", " ", "é😀", "null", "\u0000", '"', "x" * 100_000]:
        (reply,) = await shared.replies(request(request_id, "_echo"))
        assert same_id(reply["id"], request_id)
        assert code(reply) == UNKNOWN


@fault("ENV-X7")
async def test_an_id_beyond_sixty_four_bits_is_echoed_or_refused(shared: Talk) -> None:
    for number in (2**63, 2**64, -(2**64), 10**400):
        (reply,) = await shared.replies(request(number, "_echo"))
        assert same_id(reply["id"], number) or (reply["id"], code(reply)) == (None, INVALID)


@fault("ENV-X31")
async def test_an_id_that_is_no_whole_number_is_refused_however_it_is_written(shared: Talk) -> None:
    for token in (b"1e400", b"1E2", b"-1e2", b"1e-400", b"0.0", b"9" * 5000, b"1.00000000000000000001"):
        (reply,) = await shared.replies(b'{"jsonrpc":"2.0","id":%b,"method":"_x"}\n' % token)
        assert (reply["id"], code(reply)) == (None, INVALID), token[:20]


@fault("ENV-X8")
async def test_the_id_null_has_its_answer(shared: Talk) -> None:
    (reply,) = await shared.replies(request(None, "_null"))
    assert reply["id"] is None
    assert code(reply) in (UNKNOWN, INVALID)


@cases(
    {
        "ENV-13": ["nope/nope", "session/nope", "Initialize", "session/new ", "sessionnew"],
        "ENV-X9": ["", " ", "/", "_", "__", "rpc.discover", "$/nope", "\n", "é"],
        "ENV-X10": [
            "__init__",
            "asked",
            "told",
            "agent.handlers",
            "session/__new__",
            "constructor",
            "../new",
        ],
        "ENV-X11": ["fs/read_text_file", "session/update", "terminal/create", "session/request_permission"],
        "ENV-X12": ["session/cancel", "$/cancel_request"],
        "ENV-X13": ["m" * 1_000_000],
    }
)
async def test_a_method_that_is_not_ours_to_answer_is_unknown(shared: Talk, case: list[str]) -> None:
    for method in case:
        (reply,) = await shared.replies(request(1, method, {"sessionId": shared.session}))
        assert (reply["id"], code(reply)) == (1, UNKNOWN), method[:100]
        assert len(line(reply)) < 2000


@fault("ENV-14")
async def test_an_unknown_extension_is_refused_as_a_request_and_ignored_as_a_notification(
    shared: Talk,
) -> None:
    frames = [request(1, "_vendor/do"), notification("_vendor/tell", {"x": 1})]
    assert [(reply["id"], code(reply)) for reply in await shared.replies(*frames)] == [(1, UNKNOWN)]


@cases(
    {
        "ENV-20": [{"jsonrpc": "2.0", "id": n, "result": {}} for n in (0, 1, 99, "x", None, -1)],
        "ENV-22": [
            {"jsonrpc": "2.0", "id": 1, "result": {}, "error": {"code": 1, "message": "x"}},
            {"jsonrpc": "2.0", "id": 1},
        ],
        "ENV-25": [notification("session/prompt", {"sessionId": "zz", "prompt": []})],
        "ENV-X14": [
            notification(method) for method in ("session/new", "initialize", "session/set_mode", "x")
        ],
        "ENV-X15": [
            {"jsonrpc": "2.0", "id": None, "error": {"code": -32700, "message": "Parse error"}},
            {"jsonrpc": "2.0", "error": {"code": -32700, "message": "Parse error"}},
            {"jsonrpc": "2.0", "result": {}},
            {"jsonrpc": "2.0", "id": 1, "error": "text"},
            {"jsonrpc": "2.0", "id": 1, "error": None},
            {"jsonrpc": "2.0", "id": [1], "result": {}},
            {"jsonrpc": "2.0", "id": 1.5, "error": {}},
            {"id": 1, "result": {}},
        ],
        "ENV-X16": [notification("session/cancel", params) for params in ODD],
        "ENV-X17": [notification("_note", params) for params in ODD],
    }
)
async def test_what_nobody_waits_for_is_never_answered(shared: Talk, case: list[Message]) -> None:
    assert await shared.replies(*case) == []


@fault("ENV-X18")
async def test_a_prompt_without_an_id_is_no_turn(shared: Talk) -> None:
    frame = prompt(None, shared.session, "nobody waits")
    del frame["id"]
    assert await shared.replies(frame) == []
    await shared.echoes()


@fault("ENV-23")
async def test_members_that_nobody_knows_are_ignored(shared: Talk) -> None:
    extra = {
        "trace": "x",
        "meta": {},
        "_meta": {"a": 1},
        "Method": "_two",
        "METHOD": 1,
        "id ": 2,
        "session": 3,
    }
    (reply,) = await shared.replies({**extra, **request(1, "_one", {})})
    assert (reply["id"], code(reply)) == (1, UNKNOWN)
    answer = await shared.ask("session/new", {"cwd": "/tmp", "mcpServers": [], **extra})
    assert answer["result"]["sessionId"]
    await shared.replies()


@fault("ENV-X19")
async def test_a_message_that_is_request_and_answer_at_once_is_answered_once(shared: Talk) -> None:
    both = {**request(1, "_one"), "result": {}, "error": {"code": 1, "message": "x"}}
    (reply,) = await shared.replies(both)
    assert code(reply) in (UNKNOWN, INVALID)


@fault("ENV-X20")
async def test_a_thousand_bad_messages_have_a_thousand_refusals(shared: Talk) -> None:
    block = line({"jsonrpc": "1.0", "id": 1, "method": "_bad"}) * 1000
    replies = await shared.replies(block)
    assert [code(reply) for reply in replies] == [INVALID] * 1000


@fault("ENV-X21")
async def test_a_refusal_does_not_quote_what_was_sent(shared: Talk) -> None:
    secret = "sk-0123456789"
    for frame in (
        request(1, "session/new", {"cwd": secret, "mcpServers": [secret]}),
        request(1, "session/prompt", {"sessionId": shared.session, "prompt": secret}),
        request(1, "session/prompt", {"sessionId": {"key": secret}, "prompt": []}),
    ):
        (reply,) = await shared.replies(frame)
        assert code(reply) == PARAMS
        assert secret not in str(reply)
