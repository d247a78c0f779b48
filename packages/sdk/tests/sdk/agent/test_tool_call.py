"""A tool call always reaches a final status, and runs only on a yes that was offered."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from dragoman import Agent, Client, Turn, connect
from dragoman.errors import ErrorAnswer, InvalidValue
from dragoman.schema.v1 import (
    PermissionOption,
    RequestPermissionRequest,
    RequestPermissionResponse,
    SelectedPermissionOutcome,
    ToolCallLocation,
    ToolCallUpdate,
)
from dragoman.sdk.sync.turn import SyncTurn as BlockingTurn
from tests.runtime.clock import virtually
from tests.runtime.raw import result
from tests.sdk.ends import RawClient, cancel, prompt, raw_client


def statuses(client: RawClient, session: str, call_id: str = "t") -> list[Any]:
    said = [update for update in client.updates(session) if update.get("toolCallId") == call_id]
    return [update["status"] for update in said if "status" in update]


def agent_of(body: Any) -> Agent:
    agent = Agent("tools")

    @agent.prompt
    async def reply(turn: Turn) -> Any:
        return await body(turn)

    return agent


async def played(body: Any) -> tuple[RawClient, str]:
    """The frames of one turn, and its session."""
    async with raw_client(agent_of(body)) as client:
        session = await client.open()
        client.prompt(1, session)
        await client.answer_to(1)
        return client, session


async def test_a_call_is_in_progress_while_its_block_runs() -> None:
    during: list[list[Any]] = []

    async def body(turn: Turn) -> None:
        async with turn.tool("Run", tool_call_id="t"):
            await reached.wait()

    reached = asyncio.Event()
    async with raw_client(agent_of(body)) as client:
        session = await client.open()
        client.prompt(1, session)
        await client.asks("session/update")
        during.append(statuses(client, session))
        reached.set()
        await client.answer_to(1)
    assert during == [["in_progress"]]
    assert statuses(client, session) == ["in_progress", "completed"]


def test_a_call_of_a_plain_function_is_in_progress_while_its_block_runs() -> None:
    agent = Agent("threads")

    @agent.prompt
    def reply(turn: BlockingTurn) -> None:
        with turn.tool("Run", tool_call_id="t"):
            pass
        with turn.tool("Ask", tool_call_id="u", status="pending"):
            pass

    async def play() -> None:
        async with raw_client(agent) as client:
            session = await client.open()
            client.prompt(1, session)
            await client.answer_to(1)
            assert statuses(client, session) == ["in_progress", "completed"]
            assert statuses(client, session, "u") == ["pending", "completed"]

    asyncio.run(play())


async def test_leaving_the_block_completes_the_call() -> None:
    async def body(turn: Turn) -> None:
        async with turn.tool("Read", tool_call_id="t"):
            pass

    assert statuses(*await played(body)) == ["in_progress", "completed"]


async def test_an_exception_fails_the_call_and_does_not_say_why() -> None:
    async def body(turn: Turn) -> None:
        async with turn.tool("Read", tool_call_id="t"):
            raise RuntimeError("password")

    client, session = await played(body)
    assert statuses(client, session) == ["in_progress", "failed"]
    assert "password" not in str(client.seen)


async def test_an_end_that_was_said_is_not_said_again() -> None:
    async def body(turn: Turn) -> None:
        async with turn.tool("Read", tool_call_id="t") as call:
            await call.progress(status="in_progress")
            await call.fail("no such file", raw_output={"errno": 2})

    client, session = await played(body)
    assert statuses(client, session) == ["in_progress", "in_progress", "failed"]
    last = client.updates(session)[-1]
    assert last["rawOutput"] == {"errno": 2}
    assert last["content"] == [{"type": "content", "content": {"type": "text", "text": "no such file"}}]


async def test_what_is_known_about_a_call_is_announced() -> None:
    async def body(turn: Turn) -> None:
        where = [ToolCallLocation(path="/x", line=3), "/y"]
        async with turn.tool(
            "Read", kind="read", name="read_file", raw_input={"p": 1}, locations=where, tool_call_id="t"
        ):
            pass

    client, session = await played(body)
    first = client.updates(session)[0]
    assert first["sessionUpdate"] == "tool_call"
    assert (first["title"], first["kind"], first["rawInput"]) == ("Read", "read", {"p": 1})
    assert first["locations"] == [{"path": "/x", "line": 3}, {"path": "/y"}]


async def test_a_place_is_an_absolute_path() -> None:
    async def body(turn: Turn) -> None:
        with pytest.raises(InvalidValue, match="must be an absolute path"):
            turn.tool("Read", locations=["x"])

    await played(body)


async def test_calls_have_ids_of_their_own() -> None:
    async def body(turn: Turn) -> None:
        for _ in range(10):
            async with turn.tool("Read"):
                pass

    client, session = await played(body)
    assert len({update["toolCallId"] for update in client.updates(session)}) == 10


async def test_a_cancelled_call_has_failed() -> None:
    async def body(turn: Turn) -> None:
        async with turn.tool("Run", tool_call_id="t"):
            await asyncio.Event().wait()

    async with raw_client(agent_of(body)) as client:
        session = await client.open()
        client.prompt(1, session)
        await client.asks("session/update")
        client.send(cancel(session))
        assert (await client.answer_to(1))["result"] == {"stopReason": "cancelled"}
        assert statuses(client, session) == ["in_progress", "failed"]


def test_a_call_of_a_handler_that_was_left_behind_has_failed() -> None:
    async def stubborn(turn: Turn) -> None:
        async with turn.tool("Run", tool_call_id="t"):
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                await asyncio.sleep(60)

    async def play() -> None:
        async with raw_client(agent_of(stubborn)) as client:
            session = await client.open()
            client.send(prompt(1, session), cancel(session))
            await client.answer_to(1)
            assert statuses(client, session) == ["in_progress", "failed"]
            assert client.seen[-1]["id"] == 1  # before the turn was answered
            await asyncio.sleep(100)
            assert client.seen[-1]["id"] == 1

    virtually(play())


async def test_a_call_of_a_task_that_was_forgotten_has_failed() -> None:
    tasks: list[asyncio.Task[None]] = []

    async def body(turn: Turn) -> None:
        async def work() -> None:
            async with turn.tool("Run", tool_call_id="t"):
                await asyncio.Event().wait()

        tasks.append(asyncio.create_task(work()))
        await asyncio.sleep(0)

    client, session = await played(body)
    assert statuses(client, session) == ["in_progress", "failed"]
    tasks[0].cancel()
    await asyncio.wait(tasks)


async def test_a_call_that_was_announced_by_hand_and_forgotten_has_failed() -> None:
    async def body(turn: Turn) -> None:
        await turn.tool("Run", tool_call_id="t").announce("in_progress")
        await turn.tool("Done", tool_call_id="u").announce("completed")
        turn.tool("Never announced", tool_call_id="v")

    client, session = await played(body)
    assert statuses(client, session) == ["in_progress", "failed"]
    assert statuses(client, session, "u") == ["completed"]
    assert statuses(client, session, "v") == []


# Permission.

OPTIONS = (
    PermissionOption(option_id="always", name="Always", kind="allow_always"),
    PermissionOption(option_id="once", name="Once", kind="allow_once"),
    PermissionOption(option_id="no", name="No", kind="reject_once"),
    PermissionOption(option_id="never", name="Never", kind="reject_always"),
)


def selected(option_id: Any) -> Any:
    return {"outcome": {"outcome": "selected", "optionId": option_id}}


@pytest.mark.parametrize(
    ("answer", "allowed"),
    [
        (selected("always"), True),
        (selected("once"), True),
        (selected("no"), False),
        (selected("never"), False),
        (selected("allow_once"), False),
        (selected("not offered"), False),
        (selected(""), False),
        (selected(None), False),
        ({"outcome": {"outcome": "cancelled"}}, False),
        ({"outcome": {"outcome": "allowed"}}, False),
        ({"outcome": {"outcome": "cancelled", "optionId": "once"}}, False),
        ({"outcome": "selected", "optionId": "once"}, False),
        ({"outcome": {"optionId": "once"}}, False),
        ({"outcome": None}, False),
        ({}, False),
        ([], False),
        (True, False),
        ("once", False),
        ({"outcome": {"outcome": "cancelled"}, "_meta": {"optionId": "once", "allowed": True}}, False),
    ],
)
async def test_only_an_offered_option_that_allows_is_a_yes(answer: Any, allowed: bool) -> None:
    decided: list[bool] = []

    async def body(turn: Turn) -> None:
        async with turn.tool("Delete", tool_call_id="t", status="pending") as call:
            decided.append(bool(await call.ask(OPTIONS)))

    async with raw_client(agent_of(body)) as client:
        session = await client.open()
        client.prompt(1, session)
        asked = await client.asks("session/request_permission")
        client.send(result(asked["id"], answer))
        await client.answer_to(1)
    assert decided == [allowed]
    expected = ["pending", "in_progress", "completed"] if allowed else ["pending", "failed"]
    assert statuses(client, session) == expected


async def test_an_error_is_a_no() -> None:
    decided: list[Any] = []

    async def body(turn: Turn) -> None:
        async with turn.tool("Delete", tool_call_id="t") as call:
            decided.append(await call.ask())

    async with raw_client(agent_of(body)) as client:
        session = await client.open()
        client.prompt(1, session)
        asked = await client.asks("session/request_permission")
        client.send({"jsonrpc": "2.0", "id": asked["id"], "error": {"code": -32603, "message": "x"}})
        await client.answer_to(1)
    assert not decided[0]
    assert decided[0].option is None


async def test_two_options_with_one_id_cannot_be_told_apart_and_allow_nothing() -> None:
    decided: list[bool] = []
    twins = (
        PermissionOption(option_id="x", name="Yes", kind="allow_once"),
        PermissionOption(option_id="x", name="No", kind="reject_once"),
    )

    async def body(turn: Turn) -> None:
        decided.append(bool(await turn.ask(ToolCallUpdate(tool_call_id="t"), twins)))

    async with raw_client(agent_of(body)) as client:
        session = await client.open()
        client.prompt(1, session)
        asked = await client.asks("session/request_permission")
        client.send(result(asked["id"], selected("x")))
        await client.answer_to(1)
    assert decided == [False]


async def test_the_question_says_what_it_is_about() -> None:
    async def body(turn: Turn) -> None:
        async with turn.tool("Delete", kind="delete", raw_input={"path": "/x"}, tool_call_id="t") as call:
            await call.ask(OPTIONS[:2])

    async with raw_client(agent_of(body)) as client:
        session = await client.open()
        client.prompt(1, session)
        asked = await client.asks("session/request_permission")
        client.send(result(asked["id"], selected("once")))
        await client.answer_to(1)
    call = asked["params"]["toolCall"]
    assert asked["params"]["sessionId"] == session
    assert "sessionUpdate" not in call
    assert (call["toolCallId"], call["title"], call["kind"]) == ("t", "Delete", "delete")
    assert [option["optionId"] for option in asked["params"]["options"]] == ["always", "once"]


@pytest.mark.parametrize("chosen", ["not offered", "raise", "refuse", "nothing"])
async def test_a_client_handler_that_makes_no_sense_allows_nothing(chosen: str) -> None:
    decided: list[bool] = []
    client = Client()

    @client.request_permission
    async def decide(question: RequestPermissionRequest) -> RequestPermissionResponse:
        if chosen == "raise":
            raise RuntimeError
        if chosen == "refuse":
            raise ErrorAnswer(-32000, "no")
        if chosen == "nothing":
            return None  # type: ignore[return-value]
        return RequestPermissionResponse(outcome=SelectedPermissionOutcome(option_id=chosen))

    async def body(turn: Turn) -> None:
        async with turn.tool("Delete") as call:
            decided.append(bool(await call.ask()))

    async with connect(agent_of(body), client=client) as handle:
        await (await handle.new_session(cwd="/tmp")).prompt("go")
    assert decided == [False]
