"""What a hook may say, and what becomes of its message then."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from dragoman import Proxy
from dragoman.errors import ErrorAnswer
from dragoman.schema.v1 import (
    NewSessionResponse,
    PromptRequest,
    ReadTextFileRequest,
    ReadTextFileResponse,
    SessionNotification,
    WriteTextFileRequest,
)
from tests.sdk.proxy.ends import (
    Ends,
    answer,
    chunk,
    heard_before_the_mark,
    line,
    note,
    prompt,
    request,
    unchanged,
)


async def test_a_refused_request_is_answered_and_never_arrives() -> None:
    proxy = Proxy()

    @proxy.on("fs/write_text_file")
    def no_writes(request: WriteTextFileRequest) -> None:
        if request.path == "/etc/passwd":
            raise ErrorAnswer(-32000, "Not there", {"path": "secret"})

    async with Ends(proxy) as ends:
        ends.agent.say(request(7, "fs/write_text_file", sessionId="s", path="/etc/passwd", content=""))
        error = (await ends.agent.hear_json())["error"]
        assert error == {"code": -32000, "message": "Not there", "data": {"path": "secret"}}
        ends.agent.say(request(8, "fs/write_text_file", sessionId="s", path="/tmp/x", content=""))
        assert await ends.agent.hear_json() == {
            "jsonrpc": "2.0",
            "id": 8,
            "error": {"code": -32600, "message": "Refused by a proxy"},
        }
        assert await heard_before_the_mark(ends.agent, ends.client) == []


async def test_a_hook_may_answer_in_place_of_the_other_side() -> None:
    proxy = Proxy()

    @proxy.on("fs/read_text_file")
    def from_memory(request: ReadTextFileRequest) -> ReadTextFileResponse:
        return ReadTextFileResponse(content=f"of {request.path}")

    async with Ends(proxy) as ends:
        ends.agent.say(request("r", "fs/read_text_file", sessionId="s", path="/a"))
        assert await ends.agent.hear_json() == answer("r", {"content": "of /a"})
        assert await heard_before_the_mark(ends.agent, ends.client) == []


async def test_a_hook_that_fails_lets_nothing_through_and_tells_no_secret(
    caplog: pytest.LogCaptureFixture,
) -> None:
    proxy = Proxy()

    @proxy.on("session/prompt")
    def broken(request: PromptRequest) -> PromptRequest:
        raise RuntimeError("the key is 123")

    @proxy.on("session/update")
    async def broken_too(update: SessionNotification) -> str:
        return "not a message"

    async with Ends(proxy) as ends:
        ends.client.say(prompt(1, "hi"))
        assert (await ends.client.hear_json())["error"] == {"code": -32603, "message": "Internal error"}
        assert await heard_before_the_mark(ends.client, ends.agent) == []
        ends.agent.say(chunk("x"))
        await ends.side.relay.owner.finish(1)
        assert await heard_before_the_mark(ends.agent, ends.client) == []
    assert "the key is 123" in caplog.text
    assert "returned str" in caplog.text


async def test_params_that_cannot_be_read_are_refused_where_there_is_a_hook() -> None:
    proxy = unchanged(Proxy(), "session/prompt", "session/update")
    async with Ends(proxy) as ends:
        ends.client.say(request(1, "session/prompt", sessionId=5))
        assert (await ends.client.hear_json())["error"]["code"] == -32602
        ends.agent.say(note("session/update", sessionId=5))
        assert await heard_before_the_mark(ends.agent, ends.client) == []


async def test_results_are_seen_on_their_way_back() -> None:
    proxy = Proxy()

    @proxy.on_result("session/new")
    def rename(result: NewSessionResponse) -> NewSessionResponse:
        return replace(result, session_id=f"p-{result.session_id}")

    @proxy.on_result("fs/read_text_file")
    async def redact(result: ReadTextFileResponse) -> ReadTextFileResponse:
        if "private" in result.content:
            raise ErrorAnswer(-32001, "Kept back")
        return replace(result, content=result.content.replace("hunter2", "…"))

    async with Ends(proxy) as ends:
        ends.client.say(request(1, "session/new", cwd="/", mcpServers=[]))
        await ends.agent.hear()
        ends.agent.say({**answer(1, {"sessionId": "a", "new": 1}), "more": 2})
        renamed = {**answer(1, {"sessionId": "p-a", "new": 1}), "more": 2}
        assert await ends.client.hear_json() == renamed
        for content, expected in (("hunter2!", "…!"), ("private", None)):
            ends.agent.say(request(content, "fs/read_text_file", sessionId="s", path="/a"))
            await ends.client.hear()
            ends.client.say(answer(content, {"content": content}))
            heard = await ends.agent.hear_json()
            assert heard.get("result") == ({"content": expected} if expected else None)


async def test_an_error_on_its_way_back_is_not_shown_to_the_hook_of_the_result() -> None:
    proxy = Proxy()
    proxy.on_result("session/new")(lambda result: 1 / 0)
    failed = {"jsonrpc": "2.0", "id": 1, "error": {"code": -32000, "message": "login", "odd": 1}}
    async with Ends(proxy) as ends:
        ends.client.say(request(1, "session/new", cwd="/", mcpServers=[]))
        await ends.agent.hear()
        ends.agent.say(failed)
        assert await ends.client.hear_json() == failed


async def test_the_version_of_the_protocol_is_not_a_proxys_to_change() -> None:
    proxy = Proxy()
    proxy.on_result("initialize")(lambda result: replace(result, protocol_version=2))
    async with Ends(proxy) as ends:
        ends.client.say(request(1, "initialize", protocolVersion=1))
        await ends.agent.hear()
        ends.agent.say(answer(1, {"protocolVersion": 1}))
        assert (await ends.client.hear_json())["error"]["code"] == -32603


async def test_extensions_are_plain_data_and_may_be_changed_in_place() -> None:
    proxy = Proxy()

    @proxy.on("_my/note", direction="to_client")
    def count(params: dict[str, int]) -> dict[str, int]:
        params["n"] += params["step"]
        return params

    @proxy.on("_my/ask", direction="to_agent")
    def maybe(params: dict[str, Any]) -> Any:
        return proxy.reply([1, 2]) if params.get("here") else params

    async with Ends(proxy) as ends:
        ends.agent.say(note("_my/note", n=1, step=0), note("_my/note", n=1, step=1))
        assert await ends.client.hear() == line(note("_my/note", n=1, step=0))
        assert await ends.client.hear_json() == note("_my/note", n=2, step=1)
        ends.client.say(request(1, "_my/ask", here=True))
        assert await ends.client.hear_json() == answer(1, [1, 2])
        ends.client.say(request(2, "_my/ask"))
        assert await ends.agent.hear() == line(request(2, "_my/ask"))
