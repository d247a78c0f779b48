"""A turn at the client: updates in order, then the result, and a cancel for whoever leaves early."""

from __future__ import annotations

import asyncio
import gc

import pytest

from dragoman import Agent, AgentHandle, Client, Limits, Session, Turn, connect
from dragoman.errors import BadAnswer, CallFailed, LinkClosed, LocalMistake, SilenceTimeout
from dragoman.schema.v1 import RequestPermissionRequest, RequestPermissionResponse, SessionNotification
from tests.runtime.clock import virtually
from tests.runtime.raw import cancel_request, notification, request, result, until
from tests.sdk.ends import RawAgent, chunk, raw_agent, text_of

END = {"stopReason": "end_turn"}


async def opened(handle: AgentHandle) -> Session:
    return await handle.new_session(cwd="/tmp")


async def read_into(seen: list[str], session: Session) -> None:
    turn = session.prompt("go")
    async for update in turn:
        text = text_of(update)
        seen.append(text)


async def test_updates_come_in_order_and_the_result_after_the_last() -> None:
    agent = Agent("counter")

    @agent.prompt
    async def count(turn: Turn) -> None:
        for n in range(1000):
            await turn.say(f"{n} ")
            if n % 97 == 0:
                await asyncio.sleep(0)

    async with connect(agent) as handle:
        turn = (await opened(handle)).prompt("go")
        heard = [text_of(update) async for update in turn]
        assert heard == [f"{n} " for n in range(1000)]
        assert turn.result.stop_reason == "end_turn"
        assert turn.result.text == "".join(heard)


async def test_the_result_exists_only_after_the_last_update_was_handled() -> None:
    async with raw_agent() as (handle, agent):
        turn = (await opened(handle)).prompt("go")
        with pytest.raises(LocalMistake):
            _ = turn.result
        seen: list[str] = []

        async def read() -> None:
            async for update in turn:
                seen.append(text_of(update))
                with pytest.raises(LocalMistake):
                    _ = turn.result

        reading = asyncio.create_task(read())
        asked = await agent.asks("session/prompt")
        agent.send(chunk("s1", "a"), chunk("s1", "b"), result(asked["id"], END))
        await reading
        assert seen == ["a", "b"]
        assert turn.result.text == "ab"


async def test_a_turn_that_keeps_no_text_still_hands_over_every_update() -> None:
    async with raw_agent() as (handle, agent):
        turn = (await opened(handle)).prompt("go", keep_text=False)

        async def read() -> list[str]:
            return [text_of(update) async for update in turn]

        reading = asyncio.create_task(read())
        asked = (await agent.asks("session/prompt"))["id"]
        agent.send(chunk("s1", "a"), chunk("s1", "b"), result(asked, END))
        assert (await reading, turn.result.text, turn.result.stop_reason) == (["a", "b"], "", "end_turn")


async def test_awaiting_gives_the_result_at_once() -> None:
    async with raw_agent() as (handle, agent):
        session = await opened(handle)
        asking = asyncio.ensure_future(session.prompt("go"))
        asked = await agent.asks("session/prompt")
        assert asked["params"]["prompt"] == [{"type": "text", "text": "go"}]
        agent.send(chunk("s1", "a"))
        agent.send(chunk("s1", "b"), result(asked["id"], {"stopReason": "refusal", "_meta": {"x": 1}}))
        ended = await asking
        assert (ended.text, ended.stop_reason, ended.response.meta) == ("ab", "refusal", {"x": 1})
        assert session.turn is None


async def test_nothing_is_sent_before_somebody_reads() -> None:
    async with raw_agent() as (handle, agent):
        session = await opened(handle)
        session.prompt("never read")
        await asyncio.sleep(0)
        assert [frame["method"] for frame in agent.seen] == ["initialize", "session/new"]


async def test_a_turn_is_read_once_and_one_at_a_time() -> None:
    async with raw_agent() as (handle, agent):
        agent.answers_to["session/prompt"] = END
        session = await opened(handle)
        turn = session.prompt("go")
        assert await turn is await turn is turn.result
        with pytest.raises(LocalMistake, match="only once"):
            [update async for update in turn]
        del agent.answers_to["session/prompt"]
        running = asyncio.ensure_future(session.prompt("one"))
        await agent.asks("session/prompt")
        asked = await agent.asks("session/prompt")
        with pytest.raises(LocalMistake, match="already running"):
            await session.prompt("two")
        agent.send(result(asked["id"], END))
        await running


async def test_an_error_answer_and_a_senseless_one_are_raised_after_the_updates() -> None:
    async with raw_agent() as (handle, agent):
        session = await opened(handle)
        for answer, expected in (
            ({"error": {"code": -32000, "message": "log in"}}, CallFailed),
            ({"result": {"stopReason": 7}}, BadAnswer),
            ({"result": []}, BadAnswer),
        ):
            seen: list[str] = []
            reading = asyncio.create_task(read_into(seen, session))
            asked = await agent.asks("session/prompt")
            agent.send(chunk("s1", "a"), {"jsonrpc": "2.0", "id": asked["id"], **answer})
            with pytest.raises(expected):
                await reading
            assert seen == ["a"]
            assert session.turn is None


async def test_breaking_out_of_the_loop_cancels_the_turn() -> None:
    async with raw_agent() as (handle, agent):
        session = await opened(handle)

        async def read_one() -> None:
            async for _ in session.prompt("go"):
                break

        reading = asyncio.create_task(read_one())
        asked = await agent.asks("session/prompt")
        agent.send(chunk("s1", "a"), chunk("s1", "b"))
        await reading
        gc.collect()
        assert await agent.asks("session/cancel") == notification("session/cancel", {"sessionId": "s1"})
        agent.send(chunk("s1", "c"), result(asked["id"], {"stopReason": "cancelled"}))
        await answered(handle)
        assert session.turn is None


async def answered(handle: AgentHandle) -> None:
    """No turn is open any more."""
    await until(lambda: not handle.link.connection.calls)
    await asyncio.sleep(0)


async def test_leaving_a_turn_that_was_answered_already_cancels_nothing() -> None:
    async with raw_agent() as (handle, agent):
        session = await opened(handle)
        updates = aiter(session.prompt("go"))
        reading = asyncio.ensure_future(anext(updates))
        asked = await agent.asks("session/prompt")
        agent.send(chunk("s1", "a"), chunk("s1", "b"), result(asked["id"], END))
        await reading
        await updates.aclose()
        agent.answers_to["session/prompt"] = END
        assert (await session.prompt("next")).stop_reason == "end_turn"
        assert "session/cancel" not in [frame.get("method") for frame in agent.seen]


async def test_an_exception_in_the_loop_cancels_the_turn() -> None:
    async with raw_agent() as (handle, agent):
        session = await opened(handle)

        async def fail() -> None:
            async for _ in session.prompt("go"):
                raise RuntimeError

        reading = asyncio.create_task(fail())
        asked = await agent.asks("session/prompt")
        agent.send(chunk("s1", "a"))
        with pytest.raises(RuntimeError):
            await reading
        gc.collect()
        await agent.asks("session/cancel")
        agent.send(result(asked["id"], {"stopReason": "cancelled"}))
        await answered(handle)


@pytest.mark.parametrize("awaited", [True, False])
async def test_cancelling_the_reader_cancels_the_turn(awaited: bool) -> None:
    async with raw_agent() as (handle, agent):
        session = await opened(handle)

        async def read() -> None:
            if awaited:
                await session.prompt("go")
            else:
                async for _ in session.prompt("go"):
                    pass

        reading = asyncio.create_task(read())
        asked = await agent.asks("session/prompt")
        reading.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reading
        await agent.asks("session/cancel")
        agent.send(result(asked["id"], {"stopReason": "cancelled"}))
        await answered(handle)


async def abandon_one(session: Session, agent: RawAgent) -> int:
    """A turn whose reader has left while the agent still works on it; the id of its prompt."""
    reading = asyncio.ensure_future(session.prompt("first"))
    asked = await agent.asks("session/prompt")
    reading.cancel()
    await asyncio.wait((reading,))
    await agent.asks("session/cancel")
    call_id: int = asked["id"]
    return call_id


async def test_updates_of_an_abandoned_turn_are_not_the_next_turns() -> None:
    async with raw_agent() as (handle, agent):
        session = await opened(handle)
        first = await abandon_one(session, agent)
        following = asyncio.ensure_future(session.prompt("second"))
        await asyncio.sleep(0)
        agent.send(chunk("s1", "of the first"))
        agent.send(result(first, {"stopReason": "cancelled"}))
        asked = await agent.asks("session/prompt")
        agent.send(chunk("s1", "of the second"), result(asked["id"], END))
        assert (await following).text == "of the second"
        assert [text_of(update) for update in session.late] == ["of the first"]


async def test_a_permission_that_an_abandoned_turn_asks_for_is_not_given() -> None:
    asked_user: list[object] = []
    client = Client()

    @client.request_permission
    async def decide(question: RequestPermissionRequest) -> RequestPermissionResponse:
        asked_user.append(question)
        raise AssertionError

    async with raw_agent(client) as (handle, agent):
        session = await opened(handle)
        first = await abandon_one(session, agent)
        params = {
            "sessionId": "s1",
            "toolCall": {"toolCallId": "t"},
            "options": [{"optionId": "y", "name": "y", "kind": "allow_once"}],
        }
        agent.send(request("p", "session/request_permission", params))
        assert (await agent.answer_to("p"))["result"] == {"outcome": {"outcome": "cancelled"}}
        agent.send(result(first, {"stopReason": "cancelled"}))
        await answered(handle)
    assert asked_user == []


async def test_the_turn_after_an_abandoned_one_can_be_given_up_while_it_waits() -> None:
    async with raw_agent() as (handle, agent):
        session = await opened(handle)
        first = await abandon_one(session, agent)
        following = asyncio.ensure_future(session.prompt("second"))
        await asyncio.sleep(0)
        following.cancel()
        await asyncio.wait((following,))
        agent.send(result(first, {"stopReason": "cancelled"}))
        await answered(handle)
        agent.answers_to["session/prompt"] = END
        assert (await session.prompt("third")).stop_reason == "end_turn"
        texts = [f["params"]["prompt"][0]["text"] for f in agent.seen if f.get("method") == "session/prompt"]
        assert texts == ["first", "third"]


async def test_two_sessions_are_read_at_the_same_time_each_with_its_own() -> None:
    agent = Agent("twin")

    @agent.prompt
    async def reply(turn: Turn) -> None:
        for n in range(100):
            await turn.say(f"{turn.text}{n} ")
            await asyncio.sleep(0)

    async with connect(agent) as handle:
        sessions = [await opened(handle) for _ in range(3)]
        results = await asyncio.gather(*(run(session, str(n)) for n, session in enumerate(sessions)))
    assert results == ["".join(f"{name}{n} " for n in range(100)) for name in "012"]


async def run(session: Session, text: str) -> str:
    return (await session.prompt(text)).text


async def test_updates_after_the_answer_are_late_and_not_the_turns() -> None:
    async with raw_agent() as (handle, agent):
        session = await opened(handle)
        asking = asyncio.ensure_future(session.prompt("go"))
        asked = await agent.asks("session/prompt")
        agent.send(chunk("s1", "in"), result(asked["id"], END))
        agent.send(chunk("s1", "late"))
        assert (await asking).text == "in"
        await asyncio.sleep(0)
        assert [text_of(update) for update in session.late] == ["late"]


async def test_an_update_behind_the_answer_in_the_same_block_is_late_too() -> None:
    async with raw_agent() as (handle, agent):
        session = await opened(handle)
        asking = asyncio.ensure_future(session.prompt("go"))
        asked = await agent.asks("session/prompt")
        agent.send(chunk("s1", "in"), result(asked["id"], END), chunk("s1", "late"))
        assert (await asking).text == "in"
        assert [text_of(update) for update in session.late] == ["late"]


async def test_the_result_waits_for_an_update_handler_that_waits() -> None:
    gate = asyncio.Event()
    handled: list[str] = []
    client = Client()

    @client.update
    async def take(note: SessionNotification) -> None:
        await gate.wait()
        handled.append(text_of(note.update))

    async with raw_agent(client) as (handle, agent):
        session = await opened(handle)
        asking = asyncio.ensure_future(session.prompt("go"))
        asked = await agent.asks("session/prompt")
        agent.send(chunk("s1", "a"), chunk("s1", "b"), result(asked["id"], END))
        for _ in range(10):
            await asyncio.sleep(0)
        assert not asking.done()
        gate.set()
        assert (await asking).text == "ab"
        assert handled == ["a", "b"]


async def test_the_death_of_the_agent_ends_the_turn_with_what_was_said_before() -> None:
    async with raw_agent() as (handle, agent):
        session = await opened(handle)
        seen: list[str] = []
        reading = asyncio.create_task(read_into(seen, session))
        await agent.asks("session/prompt")
        agent.send(chunk("s1", "last words"))
        await agent.aclose()
        with pytest.raises(LinkClosed):
            await reading
        assert seen == ["last words"]
        assert session.turn is None
        with pytest.raises(LinkClosed):
            await session.prompt("anybody there?")


def test_a_silent_agent_is_given_up_and_told_so() -> None:
    async def body() -> None:
        async with raw_agent(limits=Limits(silence_seconds=60)) as (handle, agent):
            session = await opened(handle)
            start = asyncio.get_running_loop().time()
            with pytest.raises(SilenceTimeout):
                await session.prompt("go")
            assert 60 <= asyncio.get_running_loop().time() - start < 62
            asked = await agent.asks("session/prompt")
            assert await agent.next() == cancel_request(asked["id"])
            with pytest.raises(SilenceTimeout):
                await session.prompt("go", silence=5)
            assert asyncio.get_running_loop().time() - start < 68

    virtually(body())


async def test_tool_calls_are_put_together_from_all_that_was_said_about_them() -> None:
    agent = Agent("tools")

    @agent.prompt
    async def reply(turn: Turn) -> None:
        async with turn.tool("Read", kind="read", tool_call_id="one", raw_input={"path": "/x"}) as call:
            await call.progress(status="in_progress", title="Read x")
            await call.complete("done", raw_output=[1])
        async with turn.tool("Write", tool_call_id="two"):
            pass

    async with connect(agent) as handle:
        ended = await (await opened(handle)).prompt("go")
    one, two = ended.tool_calls["one"], ended.tool_calls["two"]
    assert list(ended.tool_calls) == ["one", "two"]
    assert (one.title, one.kind, one.status, one.raw_input) == ("Read x", "read", "completed", {"path": "/x"})
    assert (one.raw_output, len(one.content)) == ([1], 1)
    assert (two.title, two.status) == ("Write", "completed")
