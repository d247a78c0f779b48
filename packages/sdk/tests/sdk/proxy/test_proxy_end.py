"""How a conversation through a proxy ends."""

from __future__ import annotations

import asyncio
import json

from dragoman import Proxy
from tests.sdk.proxy.ends import (
    Ends,
    Slow,
    answer,
    chunk,
    prompt,
    request,
    unchanged_later,
)


async def test_when_the_agent_ends_everybody_who_waits_gets_an_error_and_then_the_end() -> None:
    proxy, slow = Proxy(), Slow()
    proxy.on("session/set_mode")(slow)
    async with Ends(proxy) as ends:
        ends.client.say(prompt(1, "a"), request(2, "session/set_mode", sessionId="t", modeId="m"))
        await ends.agent.hear()
        await slow.entered.wait()
        ends.agent.say(chunk("last words"))
        await ends.agent.transport.aclose()
        await ends.side.relay.wait_ended()
        await ends.side.relay.aclose()
        heard = [json.loads(frame) for frame in await ends.client.hear_the_end()]
    assert heard[0] == chunk("last words")
    assert {found["id"]: found["error"]["code"] for found in heard[1:]} == {1: -32603, 2: -32603}


async def test_what_an_agent_said_last_is_still_judged_before_the_end() -> None:
    proxy = Proxy()
    proxy.on("session/update")(unchanged_later)
    async with Ends(proxy) as ends:
        ends.client.say(prompt(1, "a"))
        await ends.agent.hear()
        ends.agent.say(chunk("one"), chunk("two"), answer(1, {"stopReason": "end_turn"}))
        await ends.agent.transport.aclose()
        await ends.side.relay.wait_ended()
        await ends.side.relay.aclose()
        heard = [json.loads(frame) for frame in await ends.client.hear_the_end()]
    assert heard == [chunk("one"), chunk("two"), answer(1, {"stopReason": "end_turn"})]


async def test_a_client_that_only_stops_talking_still_hears_what_hooks_hold_back() -> None:
    proxy, slow = Proxy(), Slow()
    proxy.on("session/update")(slow)
    async with Ends(proxy) as ends:
        ends.client.say(prompt(1, "a"))
        await ends.agent.hear()
        ends.agent.say(request(5, "fs/read_text_file", sessionId="s", path="/a"))
        await ends.client.hear()
        ends.agent.say(chunk("one"), answer(1, {"stopReason": "end_turn"}))
        await slow.entered.wait()
        ends.side.relay.to_agent.on_end(None)  # memory has no half-close: its input ends, its output stays
        closing = asyncio.create_task(ends.side.relay.aclose())
        assert (await ends.agent.hear_json())["error"]["code"] == -32603  # nobody is there to answer it
        slow.go.set()
        assert await ends.client.hear_json() == chunk("one")
        assert await ends.client.hear_json() == answer(1, {"stopReason": "end_turn"})
        await closing


async def test_an_agent_in_this_process_may_answer_after_the_end_of_its_input() -> None:
    async with Ends(Proxy()) as ends:
        ends.client.say(prompt(1, "a"))
        await ends.agent.hear()
        ends.side.relay.to_agent.on_end(None)
        closing = asyncio.create_task(ends.side.relay.aclose())
        await asyncio.sleep(0)
        ends.agent.say(answer(1, {"stopReason": "end_turn"}))
        assert await ends.client.hear_json() == answer(1, {"stopReason": "end_turn"})
        await closing
