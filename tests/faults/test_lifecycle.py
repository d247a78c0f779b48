"""The order of things: initialize first, sessions that exist, versions that are spoken."""

from __future__ import annotations

from typing import Any

import pytest

from tests.faults.cases import cases, fault
from tests.faults.talk import (
    INTERNAL,
    INVALID,
    NOT_FOUND,
    PARAMS,
    UNKNOWN,
    cancel,
    cancel_request,
    code,
    line,
    notification,
    opening,
    prompt,
    request,
    starting,
)
from tests.faults.trial_agents import Command, forked

pytestmark = pytest.mark.bound(30)

NEW: dict[str, Any] = {"cwd": "/tmp", "mcpServers": []}
INITIALIZE: dict[str, Any] = {"protocolVersion": 1, "clientCapabilities": {}}


@cases(
    {
        "LIF-01": ("session/new", NEW),
        "LIF-X1": ("session/prompt", {"sessionId": "zz", "prompt": []}),
        "LIF-X2": ("_vendor/thing", {}),
    }
)
async def test_nothing_is_done_before_initialize(agent: Command, case: tuple[str, Any]) -> None:
    async with starting(forked(agent)) as talk:
        assert code(await talk.ask(*case)) is not None
        assert (await talk.initialize())["result"]["protocolVersion"] == 1
        talk.session = await talk.new_session()
        await talk.echoes()


@fault("LIF-X3")
async def test_notifications_before_initialize_are_ignored(agent: Command) -> None:
    async with starting(forked(agent)) as talk:
        await talk.peer.send(
            cancel("zz"), notification("_note"), notification("$/cancel_request", {"requestId": 1})
        )
        await talk.initialize()
        assert len(talk.heard) == 1


@fault("LIF-X4")
async def test_a_client_may_send_everything_in_one_go(agent: Command) -> None:
    async with starting(forked(agent)) as talk:
        block = [
            request(1, "initialize", INITIALIZE),
            *(request(n, "session/new", NEW) for n in range(2, 50)),
        ]
        await talk.peer.send(b"".join(map(line, block)))
        sessions = {(await talk.answer_to(n))["result"]["sessionId"] for n in range(2, 50)}
        assert len(sessions) == 48
        assert talk.heard[0]["id"] == 1


@fault("LIF-04")
async def test_a_version_that_is_not_spoken_is_answered_with_one_that_is(agent: Command) -> None:
    for version in (0, 2, 999, 65535):
        async with starting(forked(agent)) as talk:
            answer = await talk.initialize(protocolVersion=version)
            assert answer["result"]["protocolVersion"] == 1


@cases(
    {
        "LIF-05": [-1, "1", "", None],
        "LIF-X5": [True, 1.5, [], {}, [1], {"version": 1}, "2025-06-18", 10**30],
    }
)
async def test_a_version_that_is_none_is_refused_and_can_be_corrected(
    agent: Command, case: list[Any]
) -> None:
    async with starting(forked(agent)) as talk:
        for version in case:
            assert code(await talk.initialize(protocolVersion=version)) == PARAMS, version
        assert code(await talk.ask("initialize", {"clientCapabilities": {}})) == PARAMS
        assert code(await talk.ask("initialize")) == PARAMS
        assert code(await talk.ask("session/new", NEW)) == INVALID
        assert (await talk.initialize())["result"]["protocolVersion"] == 1


@fault("LIF-X6")
async def test_a_client_may_say_what_nobody_knows_when_it_introduces_itself(agent: Command) -> None:
    async with starting(forked(agent)) as talk:
        capabilities = {
            "fs": {"readTextFile": True, "teleport": 7},
            "holograms": {"depth": 3},
            "terminal": "yes",
        }
        answer = await talk.initialize(clientCapabilities=capabilities, clientInfo={"name": 7}, mood="good")
        assert answer["result"]["protocolVersion"] == 1


@fault("LIF-X7")
async def test_initialize_may_be_repeated_but_not_in_mid_conversation(agent: Command) -> None:
    async with starting(forked(agent)) as talk:
        for _ in range(2):
            assert code(await talk.initialize()) is None
        talk.session = await talk.new_session()
        assert code(await talk.initialize()) == INVALID
        await talk.echoes()


@fault("LIF-10")
async def test_loading_where_nothing_can_be_loaded_says_so(agent: Command) -> None:
    async with opening(forked(agent)) as talk:
        assert code(await talk.ask("session/load", {"sessionId": "nope", **NEW})) == UNKNOWN


@fault("LIF-10", stage="shelf")
async def test_loading_what_was_never_stored_finds_nothing(agent: Command) -> None:
    unknown = {"sessionId": "nope", **NEW}
    async with opening(forked(agent)) as talk:
        assert code(await talk.ask("session/load", unknown)) == NOT_FOUND
        assert code(await talk.ask("session/load", {**unknown, "sessionId": "stored-session"})) is None
        await talk.echoes(session="stored-session")


@fault("LIF-X8", stage="shelf")
async def test_a_session_that_could_not_be_loaded_is_not_there(agent: Command) -> None:
    async with opening(forked(agent)) as talk:
        for name in ("nope", "", "../../etc/passwd", "/etc/passwd", "a\u0000b", "x" * 100_000):
            assert code(await talk.ask("session/load", {"sessionId": name, **NEW})) == NOT_FOUND
            assert code((await talk.turn("hello", session=name))[0]) == NOT_FOUND
        await talk.echoes()


@fault("LIF-X9", stage="shelf")
async def test_a_session_that_could_not_be_made_is_not_there(agent: Command) -> None:
    async with opening(forked(agent)) as talk:
        answer = await talk.ask("session/new", {**NEW, "cwd": "/fail"})
        assert code(answer) == INTERNAL
        assert "sk-" not in str(answer)
        await talk.echoes()


@fault("LIF-X10", stage="shelf")
async def test_content_that_was_not_offered_is_refused(agent: Command) -> None:
    blocks: list[dict[str, Any]] = [
        {"type": "image", "mimeType": "image/png", "data": "AAAA"},
        {"type": "audio", "mimeType": "audio/wav", "data": "AAAA"},
        {"type": "resource", "resource": {"uri": "file:///x", "text": "x"}},
    ]
    async with opening(forked(agent)) as talk:
        for block in blocks:
            answer = await talk.ask("session/prompt", {"sessionId": talk.session, "prompt": [block]})
            assert code(answer) == PARAMS
        await talk.echoes()


@fault("LIF-X11")
async def test_what_was_not_advertised_is_an_unknown_method(agent: Command) -> None:
    methods = ("authenticate", "logout", "session/list", "session/fork", "session/resume", "session/delete")
    async with opening(forked(agent)) as talk:
        for method in methods:
            answer = await talk.ask(method, {"sessionId": talk.session, "methodId": "x", **NEW})
            assert code(answer) == UNKNOWN, method


@fault("LIF-X12")
async def test_a_request_held_for_initialize_may_be_taken_back(agent: Command) -> None:
    async with starting(forked(agent)) as talk:
        block = [
            prompt("early", "zz", "too early"),
            request("i", "initialize", INITIALIZE),
            request("n", "session/new", NEW),
            cancel_request("n"),
            request("m", "session/new", NEW),
        ]
        await talk.peer.send(b"".join(map(line, block)))
        assert code(await talk.answer_to("early")) == INVALID
        assert code(await talk.answer_to("i")) is None
        assert code(await talk.answer_to("m")) is None
        await talk.answer_to("n")
