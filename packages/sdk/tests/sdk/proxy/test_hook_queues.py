"""What waiting hooks hold back: their own session, in order, within bounds; and cancels overtake."""

from __future__ import annotations

import asyncio

from dragoman import Limits, Proxy
from dragoman.schema.v1 import (
    PromptRequest,
)
from tests.sdk.proxy.ends import (
    Ends,
    Slow,
    answer,
    chunk,
    heard_before_the_mark,
    line,
    note,
    prompt,
    request,
    unchanged_later,
)


async def test_a_waiting_hook_holds_back_its_own_session_only_and_in_order() -> None:
    proxy, slow = Proxy(), Slow()
    proxy.on("session/prompt")(slow)
    first, second = prompt(1, "a"), request(2, "session/set_mode", sessionId="s", modeId="m")
    other = request(3, "session/set_mode", sessionId="t", modeId="m")
    async with Ends(proxy) as ends:
        ends.client.say(first, second, other)
        assert await ends.agent.hear_json() == other
        ends.client.say(note("_of_no_session"))
        assert await ends.agent.hear_json() == note("_of_no_session")
        slow.go.set()
        assert [await ends.agent.hear_json() for _ in range(2)] == [first, second]


async def test_an_answer_waits_for_what_its_session_said_before() -> None:
    proxy, slow = Proxy(), Slow()
    proxy.on("session/update")(slow)
    async with Ends(proxy) as ends:
        ends.client.say(prompt(1, "a"), prompt(2, "b", session="t"))
        await ends.agent.hear()
        await ends.agent.hear()
        ends.agent.say(chunk("one"), answer(1, {"stopReason": "end_turn"}))
        ends.agent.say(answer(2, {"stopReason": "end_turn"}))
        assert (await ends.client.hear_json())["id"] == 2
        slow.go.set()
        assert await ends.client.hear_json() == chunk("one")
        assert (await ends.client.hear_json())["id"] == 1


async def test_updates_of_a_new_session_wait_for_the_answer_that_brings_it() -> None:
    proxy, slow = Proxy(), Slow()
    proxy.on_result("session/new")(slow)
    async with Ends(proxy) as ends:
        ends.client.say(request(1, "session/new", cwd="/", mcpServers=[]))
        await ends.agent.hear()
        ends.agent.say(answer(1, {"sessionId": "fresh"}), chunk("early", session="fresh"))
        await slow.entered.wait()
        assert await heard_before_the_mark(ends.agent, ends.client) == []
        slow.go.set()
        assert (await ends.client.hear_json())["id"] == 1
        assert await ends.client.hear_json() == chunk("early", session="fresh")


async def test_a_cancelled_turn_that_is_still_held_is_answered_here_and_never_begins() -> None:
    proxy, slow = Proxy(), Slow()
    proxy.on("session/prompt")(slow)
    cancel = note("session/cancel", sessionId="s")
    async with Ends(proxy) as ends:
        ends.client.say(prompt(1, "a"), prompt(2, "b"), prompt(3, "c", session="t"))
        await slow.entered.wait()
        ends.client.say(cancel)
        assert await ends.agent.hear_json() == cancel  # it overtakes
        answers = [await ends.client.hear_json() for _ in range(2)]
        assert sorted(found["id"] for found in answers) == [1, 2]
        assert all(found["result"] == {"stopReason": "cancelled"} for found in answers)
        slow.go.set()
        assert (await ends.agent.hear_json())["id"] == 3
        ends.client.say(prompt(4, "d"))
        assert (await ends.agent.hear_json())["id"] == 4
    assert slow.cancelled


async def test_a_cancel_overtakes_whatever_else_its_session_holds_back() -> None:
    proxy, slow = Proxy(), Slow()
    proxy.on("session/set_mode")(slow)
    proxy.on("session/cancel")(unchanged_later)
    mode = request(1, "session/set_mode", sessionId="s", modeId="m")
    cancel = note("session/cancel", sessionId="s")
    async with Ends(proxy) as ends:
        ends.client.say(mode)
        await slow.entered.wait()
        ends.client.say(cancel)
        assert await ends.agent.hear_json() == cancel
        slow.go.set()
        assert await ends.agent.hear_json() == mode


async def test_a_cancelled_request_that_is_still_held_is_answered_here() -> None:
    proxy, slow = Proxy(), Slow()
    proxy.on("fs/read_text_file")(slow)
    async with Ends(proxy) as ends:
        ends.agent.say(request("r", "fs/read_text_file", sessionId="s", path="/a"))
        await slow.entered.wait()
        ends.agent.say(note("$/cancel_request", requestId="r"))
        assert (await ends.agent.hear_json())["error"]["code"] == -32800
        assert await heard_before_the_mark(ends.agent, ends.client) == []
        # A request that has gone on is not ours to answer: its cancel follows it.
        slow.go.set()
        ends.agent.say(request("q", "fs/read_text_file", sessionId="s", path="/a"))
        await ends.client.hear()
        ends.agent.say(note("$/cancel_request", requestId="q"))
        assert await ends.client.hear_json() == note("$/cancel_request", requestId="q")


async def test_a_hook_that_ignores_its_cancellation_is_ignored() -> None:
    proxy = Proxy()
    entered = asyncio.Event()

    @proxy.on("session/prompt")
    async def stubborn(request: PromptRequest) -> PromptRequest:
        entered.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            pass
        return request

    async with Ends(proxy) as ends:
        ends.client.say(prompt(1, "a"), request(2, "session/set_mode", sessionId="s", modeId="m"))
        await entered.wait()
        ends.client.say(note("$/cancel_request", requestId=1))
        assert (await ends.client.hear_json())["error"]["code"] == -32800
        assert (await ends.agent.hear_json())["id"] == 2


async def test_what_hooks_hold_back_is_bounded() -> None:
    proxy, slow = Proxy(), Slow()
    proxy.on("session/update")(slow)
    block = line(chunk("x" * 1000)) * 20
    async with Ends(proxy, limits=Limits(backlog_bytes=50_000)) as ends:
        for _ in range(50):
            ends.agent.say(block)
        await slow.entered.wait()
        for _ in range(60):
            await asyncio.sleep(0)
        assert ends.agent.transport.pending > 0, "the agent never felt it"
        slow.go.set()
        for _ in range(50 * 20):
            await ends.client.hear()
        assert ends.client.stream == block * 50
