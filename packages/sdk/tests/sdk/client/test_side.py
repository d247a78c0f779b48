"""A running client: every update reaches its handler in order, and nonsense costs nothing but itself."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import pytest

from dragoman import Agent, AgentHandle, Client, Session, Turn, blocking, connect
from dragoman.schema.v1 import (
    PermissionOption,
    RequestPermissionRequest,
    SessionNotification,
    ToolCallUpdate,
)
from tests.runtime.raw import cancel_request, notification, request, result
from tests.sdk.ends import chunk, permission, raw_agent, text_of

END = {"stopReason": "end_turn"}


def listening(heard: list[str], *, waits: bool) -> Client:
    client = Client()

    async def take_slowly(note: SessionNotification) -> None:
        await asyncio.sleep(0)
        heard.append(f"{note.session_id} {text_of(note.update)}")

    def take(note: SessionNotification) -> None:
        heard.append(f"{note.session_id} {text_of(note.update)}")

    client.update(take_slowly if waits else take)
    return client


@pytest.mark.parametrize("waits", [True, False], ids=["async def", "def"])
async def test_every_update_of_every_session_reaches_the_handler_in_order(waits: bool) -> None:
    heard: list[str] = []
    agent = Agent("counter")

    @agent.prompt
    async def count(turn: Turn) -> None:
        for n in range(300):
            await turn.say(str(n))
            if n % 50 == 0:
                await asyncio.sleep(0)

    async with connect(agent, client=listening(heard, waits=waits)) as handle:
        sessions = [await handle.new_session(cwd="/tmp") for _ in range(2)]
        await asyncio.gather(*(run(session) for session in sessions))
        # Not one of them is still to come: the results were seen after all handlers.
        for session in sessions:
            assert [text for text in heard if text.startswith(session.id)] == [
                f"{session.id} {n}" for n in range(300)
            ]


@pytest.mark.parametrize("client", [Client(), listening([], waits=False)], ids=["turns", "handler"])
async def test_a_last_line_of_spaces_is_no_update(client: Client) -> None:
    async with raw_agent(client) as (handle, agent):
        handle.link.feed(b"  ")  # as at the end of a stream, without a newline
        session = await handle.new_session(cwd="/tmp")
        running = asyncio.ensure_future(session.prompt("x"))
        asked = await agent.asks("session/prompt")
        agent.send(chunk(session.id, "a"), result(asked["id"], END))
        assert (await running).text == "a"


async def run(session: Session) -> None:
    await session.prompt("go")


async def test_a_slow_handler_of_one_session_does_not_delay_the_turn_of_another() -> None:
    gate = asyncio.Event()
    client = Client()

    @client.update
    async def take(note: SessionNotification) -> None:
        if note.session_id == "s1":
            await gate.wait()

    async with raw_agent(client) as (handle, agent):
        slow, quick = await handle.new_session(cwd="/tmp"), await handle.new_session(cwd="/tmp")
        waiting = asyncio.ensure_future(slow.prompt("x"))
        first = await agent.asks("session/prompt")
        running = asyncio.ensure_future(quick.prompt("x"))
        second = await agent.asks("session/prompt")
        agent.send(chunk("s1", "a"), result(first["id"], END), chunk("s2", "b"), result(second["id"], END))
        assert (await running).text == "b"
        assert not waiting.done()
        gate.set()
        assert (await waiting).text == "a"


@pytest.mark.parametrize("waits", [True, False], ids=["async def", "def"])
@pytest.mark.parametrize("alone", [True, False], ids=["a block of updates", "a mixed block"])
async def test_a_failing_update_handler_costs_only_its_own_update(
    alone: bool, waits: bool, caplog: pytest.LogCaptureFixture
) -> None:
    heard: list[str] = []
    client = Client()

    def take(note: SessionNotification) -> None:
        if text_of(note.update) == "bad":
            raise RuntimeError
        heard.append(text_of(note.update))

    async def take_later(note: SessionNotification) -> None:
        take(note)

    client.update(take_later if waits else take)

    async with raw_agent(client) as (handle, agent):
        session = await handle.new_session(cwd="/tmp")
        agent.answers_to["_ping"] = True
        extra = [] if alone else [notification("_other")]
        with caplog.at_level(logging.ERROR):
            agent.send(chunk("s1", "one"), chunk("s1", "bad"), chunk("s1", "two"), *extra)
            await handle.call("_ping")
        assert heard == ["one", "two"]
        assert [text_of(update) for update in session.late] == ["one", "bad", "two"]
    assert "handler failed" in caplog.text


async def test_a_block_of_several_sessions_reaches_an_async_handler_that_wants_the_agent() -> None:
    heard: list[tuple[str, str, object]] = []
    client = Client()

    @client.update
    async def take(note: SessionNotification, agent: AgentHandle) -> None:
        heard.append((note.session_id, text_of(note.update), agent))

    async with raw_agent(client) as (handle, agent):
        for _ in range(2):
            await handle.new_session(cwd="/tmp")
        agent.answers_to["_ping"] = True
        agent.send(
            chunk("s1", "a"), chunk("s1", "b"), chunk("s2", "c"), chunk("s9", "orphan"), chunk("s1", "d")
        )
        await handle.call("_ping")
        assert heard == [("s1", "a", handle), ("s1", "b", handle), ("s1", "d", handle), ("s2", "c", handle)]
        assert handle.link.lanes.size == 0


async def test_updates_that_make_no_sense_are_left_out_and_counted() -> None:
    async with raw_agent() as (handle, agent):
        session = await handle.new_session(cwd="/tmp")
        asking = asyncio.ensure_future(session.prompt("x"))
        asked = await agent.asks("session/prompt")
        agent.send(
            chunk("s1", "a"),
            notification("session/update", {"sessionId": "s1"}),
            notification(
                "session/update", {"sessionId": 7, "update": {"sessionUpdate": "plan", "entries": []}}
            ),
            notification("session/update"),
            notification("session/update", {"sessionId": "s1", "update": {"sessionUpdate": "plan"}}),
            chunk("s1", "b"),
            result(asked["id"], END),
        )
        assert (await asking).text == "ab"
        assert 3 <= handle.side.deviations <= 4


async def test_an_update_of_a_kind_that_nobody_knows_is_kept_as_it_is() -> None:
    async with raw_agent() as (handle, agent):
        session = await handle.new_session(cwd="/tmp")
        agent.answers_to["_ping"] = True
        strange = {"sessionUpdate": "from_the_future", "value": [1, 2]}
        agent.send(notification("session/update", {"sessionId": "s1", "update": strange}))
        await handle.call("_ping")
        assert len(session.late) == 1


async def test_a_permission_that_the_agent_takes_back_is_answered_and_its_handler_stopped() -> None:
    stopped: list[str] = []
    client = Client()

    @client.request_permission
    async def decide(question: Any) -> Any:
        try:
            await asyncio.Event().wait()
        finally:
            stopped.append("stopped")

    async with raw_agent(client) as (handle, agent):
        await handle.new_session(cwd="/tmp")
        agent.send(permission("a", "s1"), cancel_request("a"))
        agent.send(permission("b", "s1"))
        agent.send(cancel_request("b"))
        for name in "ab":
            assert (await agent.answer_to(name))["result"] == {"outcome": {"outcome": "cancelled"}}
        agent.answers_to["_ping"] = True
        await handle.call("_ping")
    assert stopped == ["stopped", "stopped"]


async def test_a_question_without_options_cannot_be_answered_yes() -> None:
    asked: list[Any] = []
    client = Client()

    @client.request_permission
    async def decide(question: Any) -> Any:
        asked.append(question)

    async with raw_agent(client) as (handle, agent):
        await handle.new_session(cwd="/tmp")
        params = {"sessionId": "s1", "toolCall": {"toolCallId": "t"}, "options": []}
        agent.send(request(1, "session/request_permission", params))
        assert (await agent.answer_to(1))["result"] == {"outcome": {"outcome": "cancelled"}}
    assert asked == []


async def test_words_are_read_in_order_whatever_comes_between_them() -> None:
    words = [str(n) for n in range(20)]
    blocks = [words, words, [*words, "x" * 2000], words, words, ["y" * 9000] * 9, words, words]
    async with raw_agent() as (handle, agent):
        for session in [await handle.new_session(cwd="/tmp") for _ in range(2)]:
            running = asyncio.ensure_future(session.prompt("x"))
            asked = await agent.asks("session/prompt")
            for texts in blocks:
                agent.send(*(chunk(session.id, text) for text in texts))
            agent.send(chunk("nobody", "lost"), *(chunk(session.id, word) for word in words))
            agent.send(result(asked["id"], END))
            assert (await running).text == "".join(text for texts in [*blocks, words] for text in texts)


ONCE = (("allow_always", "A"), ("allow_once", "a"), ("reject_always", "R"), ("reject_once", "r"))
LASTING = (("allow_always", "A"), ("reject_always", "R"))


@pytest.mark.parametrize(
    ("offered", "answer", "chosen"),
    [
        (ONCE, True, "a"),
        (ONCE, False, "r"),
        (ONCE, "A", "A"),
        (LASTING, True, None),
        (LASTING, False, None),
    ],
)
@pytest.mark.parametrize("face", ["async", "plain", "blocking"])
def test_a_handler_answers_yes_no_or_an_option(face: str, offered: Any, answer: Any, chosen: Any) -> None:
    """A bare yes is never for good: where nothing is offered for once, nothing is chosen."""
    client, agent = Client(), Agent("asker")
    options = [PermissionOption(option_id=id_, name=id_, kind=kind) for kind, id_ in offered]

    @agent.prompt
    async def reply(turn: Turn) -> None:
        permission = await turn.ask(ToolCallUpdate(tool_call_id="c"), options)
        await turn.say(permission.option.option_id if permission.option else "nothing")

    def decide(request: RequestPermissionRequest) -> Any:
        wanted = [option for option in request.options if option.option_id == answer]
        return wanted[0] if wanted else answer

    async def decide_later(request: RequestPermissionRequest) -> Any:
        return decide(request)

    async def talk() -> str:
        async with connect(agent, client=client) as handle:
            return (await (await handle.new_session(cwd="/")).prompt("go")).text

    client.request_permission(decide_later if face == "async" else decide)
    if face == "blocking":
        with blocking.connect(agent, client=client) as handle:
            said = handle.new_session(cwd="/").prompt("go").result.text
    else:
        said = asyncio.run(talk())
    assert said == (chosen or "nothing")
