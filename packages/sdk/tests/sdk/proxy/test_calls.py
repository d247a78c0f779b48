"""The calls that a proxy makes itself."""

from __future__ import annotations

import asyncio

import pytest

from dragoman import Proxy
from dragoman.errors import CallFailed, CallTimeout, LinkClosed
from dragoman.schema.v1 import (
    PromptRequest,
    PromptResponse,
    ReadTextFileRequest,
    ReadTextFileResponse,
)
from tests.sdk.proxy.ends import (
    Ends,
    answer,
    heard_before_the_mark,
    note,
    prompt,
    request,
)


async def test_a_proxy_calls_either_side_between_the_calls_of_others() -> None:
    proxy = Proxy()

    @proxy.on("session/prompt")
    async def look_first(request: PromptRequest) -> PromptResponse:
        read = ReadTextFileRequest(session_id=request.session_id, path="/rules")
        rules = await proxy.to_client.call("fs/read_text_file", read)
        assert isinstance(rules, ReadTextFileResponse)
        return PromptResponse(stop_reason="refusal" if rules.content == "no" else "end_turn")

    async with Ends(proxy) as ends:
        ends.client.say(prompt(1, "a"))
        asked = await ends.client.hear_json()
        assert asked["method"] == "fs/read_text_file"
        assert isinstance(asked["id"], str)
        ends.client.say(answer(asked["id"], {"content": "no"}))
        assert await ends.client.hear_json() == answer(1, {"stopReason": "refusal"})
        assert await heard_before_the_mark(ends.client, ends.agent) == []


async def test_errors_deadlines_and_the_end_come_back_to_who_called() -> None:
    proxy = Proxy()
    async with Ends(proxy) as ends:
        calls = [asyncio.create_task(proxy.to_agent.call("_x", {"n": n})) for n in range(2)]
        ids = [(await ends.agent.hear_json())["id"] for _ in range(2)]
        failed = {"jsonrpc": "2.0", "id": ids[0], "error": {"code": 5, "message": "no", "data": 1}}
        ends.agent.say(failed, answer(ids[1], {"ok": True}))
        with pytest.raises(CallFailed, match="no"):
            await calls[0]
        assert await calls[1] == {"ok": True}
        with pytest.raises(CallTimeout):
            await proxy.to_agent.call("_slow", deadline=0.01)
        late = (await ends.agent.hear_json())["id"]
        assert await ends.agent.hear_json() == note("$/cancel_request", requestId=late)
        hanging = asyncio.create_task(proxy.to_agent.call("_hang"))
        await ends.agent.hear()
        await ends.agent.transport.aclose()
        await ends.side.relay.wait_ended()
        await ends.side.relay.aclose()
        with pytest.raises(LinkClosed):
            await hanging
        with pytest.raises(LinkClosed):
            await proxy.to_agent.call("_again")


async def test_a_side_cannot_take_over_the_ids_of_our_calls_to_the_other() -> None:
    proxy = Proxy()
    async with Ends(proxy) as ends:
        call = asyncio.create_task(proxy.to_agent.call("_x"))
        ours = (await ends.agent.hear_json())["id"]
        # The agent has learnt an id of ours, and asks the client something under it.
        ends.agent.say(request(ours, "fs/read_text_file", sessionId="s", path="/a"))
        await ends.client.hear()
        ends.client.say(answer(ours, {"content": "for the agent"}))
        assert await ends.agent.hear_json() == answer(ours, {"content": "for the agent"})
        ends.agent.say(answer(ours, "for the proxy"))
        assert await call == "for the proxy"
