"""Parameters of the wrong shape, `_meta` that wants to be one, and failing handlers."""

from __future__ import annotations

from typing import Any

import pytest

from tests.faults.cases import cases, fault
from tests.faults.talk import (
    CANCELLED,
    INTERNAL,
    INVALID,
    PARAMS,
    Talk,
    code,
    opening,
    prompt,
    request,
)
from tests.faults.trial_agents import Command, forked

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.bound(30)]

GOOD_NEW: dict[str, Any] = {"cwd": "/tmp", "mcpServers": []}
METHODS = ("initialize", "session/new", "session/prompt", "session/set_mode", "session/close")
STDIO = {"name": "x", "command": "/bin/true", "args": [], "env": []}


@cases({"ENV-16": [[], [1], ["/tmp", []]], "ENV-X22": [7, "cwd", True, 1.5, [[]]]})
async def test_params_that_are_no_object_are_refused(shared: Talk, case: list[Any]) -> None:
    for method in METHODS[1:]:
        for params in case:
            (reply,) = await shared.replies(request(1, method, params))
            assert (reply["id"], code(reply)) in ((1, PARAMS), (None, INVALID)), (method, params)


@cases({"ENV-17": {}, "ENV-X23": {"params": None}})
async def test_missing_params_are_refused(shared: Talk, case: dict[str, Any]) -> None:
    for method in METHODS[1:]:
        (reply,) = await shared.replies({**request(1, method), **case})
        assert (reply["id"], code(reply)) == (1, PARAMS), method


@cases(
    {
        "ENV-19": [{"type": "hologram", "data": "x"}, {"type": None}, {"text": "no type"}, "text", 7, None],
        "ENV-X24": [
            {"type": "text"},
            {"type": "text", "text": 7},
            {"type": "image", "data": 7},
            {"type": "resource"},
        ],
    }
)
async def test_a_content_block_that_makes_no_sense_is_refused(shared: Talk, case: list[Any]) -> None:
    for block in case:
        params = {"sessionId": shared.session, "prompt": [{"type": "text", "text": "a"}, block]}
        since = len(shared.heard)
        answer = await shared.ask("session/prompt", params)
        assert code(answer) in (PARAMS, None), block
        assert len(shared.heard) > since
    await shared.echoes()


@fault("ENV-X25")
async def test_members_of_the_wrong_type_are_refused(shared: Talk) -> None:
    prompts: list[dict[str, Any]] = [
        {"sessionId": shared.session},
        {"sessionId": shared.session, "prompt": None},
        {"sessionId": shared.session, "prompt": "text"},
        {"sessionId": shared.session, "prompt": {}},
        {"sessionId": 7, "prompt": []},
        {"sessionId": None, "prompt": []},
        {"prompt": []},
    ]
    news: list[dict[str, Any]] = [
        {"mcpServers": []},
        {"cwd": "/tmp", "mcpServers": {}},
        {"cwd": 7, "mcpServers": []},
        {"cwd": None, "mcpServers": []},
        {"cwd": ["/tmp"], "mcpServers": []},
    ]
    asked = [("session/prompt", params) for params in prompts] + [("session/new", params) for params in news]
    for method, params in asked:
        (reply,) = await shared.replies(request(1, method, params))
        assert (reply["id"], code(reply)) == (1, PARAMS), params


@fault("ENV-X26")
async def test_an_unknown_kind_of_mcp_server_never_becomes_a_command(shared: Talk) -> None:
    for kind in ("ws", "http", "sse", "acp", "STDIO", "", None, 7):
        answer = await shared.ask("session/new", {**GOOD_NEW, "mcpServers": [{**STDIO, "type": kind}]})
        assert code(answer) == PARAMS or kind is None, kind
    await shared.replies()


@fault("ENV-26")
async def test_meta_is_never_a_parameter(shared: Talk) -> None:
    other = await shared.new_session()
    meta = {"sessionId": other, "session_id": other, "prompt": [], "cwd": "/", "method": "x", "_meta": {}}
    since = len(shared.heard)
    frame = prompt("meta", shared.session, "mine")
    frame["params"]["_meta"] = meta
    await shared.peer.send(frame)
    assert code(await shared.answer_to("meta", since=since)) is None
    assert shared.words(since=since) == "You said: mine"
    assert shared.words(other, since=since) == ""


@fault("ENV-X27")
async def test_meta_does_not_stand_in_for_a_missing_parameter(shared: Talk) -> None:
    for method, params in (
        ("session/new", {"_meta": GOOD_NEW}),
        ("session/prompt", {"prompt": [], "_meta": {"sessionId": shared.session}}),
    ):
        (reply,) = await shared.replies(request(1, method, params))
        assert (reply["id"], code(reply)) == (1, PARAMS)


@fault("ENV-X28")
async def test_meta_of_a_wrong_type_does_no_harm(shared: Talk) -> None:
    odd: tuple[Any, ...] = (7, "x", [], None, True)
    for meta in odd:
        answer = await shared.ask("session/new", {**GOOD_NEW, "_meta": meta})
        assert code(answer) in (None, PARAMS), meta
    await shared.replies()


@fault("ENV-28")
async def test_why_a_handler_failed_is_nobodys_business(shared: Talk) -> None:
    answer, _ = await shared.turn("/fail")
    assert answer["error"]["code"] == INTERNAL
    for leak in ("sk-", "key", "Traceback", ".py", "RuntimeError", "refused"):
        assert leak not in str(answer["error"])
    await shared.echoes()


@fault("ENV-X29", stage="failing")
async def test_every_kind_of_failure_is_one_internal_error(agent: Command) -> None:
    async with opening(forked(agent)) as talk:
        for kind in ("value", "exit", "base", "recursion", "memory", "group", "unicode", "nonsense"):
            answer, _ = await talk.turn(kind)
            assert code(answer) == INTERNAL, kind
            assert "sk-" not in str(answer)
            assert ".py" not in str(answer)
        answer, _ = await talk.turn("cancel")  # its own, not the client's
        assert code(answer) in (INTERNAL, CANCELLED)
        answer, said = await talk.turn("fine")
        assert (code(answer), said) == (None, "fine")
