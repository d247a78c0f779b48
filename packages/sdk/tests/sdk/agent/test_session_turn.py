"""One prompt, as the handler sees it."""

from __future__ import annotations

from typing import Any

from dragoman import Agent, Client, Turn, connect
from dragoman.schema.v1 import (
    EmbeddedResource,
    PromptRequest,
    ReadTextFileRequest,
    ReadTextFileResponse,
    ResourceLink,
    SessionNotification,
    TextContent,
    TextResourceContents,
)
from tests.runtime.raw import notification, request, until
from tests.sdk.ends import raw_agent, raw_client


async def test_text_and_resources_are_taken_from_the_blocks() -> None:
    agent = Agent("reader", embedded_context=True)
    seen: list[Any] = []

    @agent.prompt
    async def reply(turn: Turn) -> None:
        seen.append((turn.text, turn.resources, list(turn.prompt)))

    link = ResourceLink(uri="file:///a", name="a")
    embedded = EmbeddedResource(resource=TextResourceContents(uri="file:///b", text="inside"))
    async with connect(agent) as handle:
        session = await handle.new_session(cwd="/tmp")
        await session.prompt("one ", link, TextContent(text="two"), embedded)
    ((text, resources, blocks),) = seen
    assert text == "one two"
    assert [resource.uri for resource in resources] == ["file:///a", "file:///b"]
    assert len(blocks) == 4


async def test_what_the_agent_remembers_of_a_session_lasts_over_turns() -> None:
    agent = Agent("counter")

    @agent.prompt
    async def reply(turn: Turn) -> None:
        turn.session.data["n"] = turn.session.data.get("n", 0) + 1
        await turn.say(str(turn.session.data["n"]))

    async with connect(agent) as handle:
        one, two = await handle.new_session(cwd="/tmp"), await handle.new_session(cwd="/tmp")
        said = [(await session.prompt("x")).text for session in (one, one, two, one)]
    assert said == ["1", "2", "1", "3"]


# `_meta` is data: it is kept, and never becomes an argument, a path or a permission.

META = {"traceparent": "00-1", "path": "/etc/passwd", "option": "allow", "peer": 1, "message": 2}


async def test_meta_is_kept_as_data_of_the_request() -> None:
    agent = Agent("meta")
    seen: list[PromptRequest] = []

    @agent.prompt
    async def reply(turn: Turn, path: str = "untouched", option: str = "untouched") -> None:
        seen.append(turn.request)
        await turn.say(f"{path} {option}")

    async with raw_client(agent) as client:
        session = await client.open()
        block = {"type": "text", "text": "x", "_meta": {"block": True}}
        client.send(request(1, "session/prompt", {"sessionId": session, "prompt": [block], "_meta": META}))
        await client.answer_to(1)
        assert client.texts(session) == ["untouched untouched"]
    assert seen[0].meta == META
    assert getattr(seen[0].prompt[0], "meta", None) == {"block": True}


async def test_meta_of_a_request_to_the_client_is_kept_and_chooses_nothing() -> None:
    client = Client()
    seen: list[ReadTextFileRequest] = []

    @client.read_text_file
    async def read(message: ReadTextFileRequest) -> ReadTextFileResponse:
        seen.append(message)
        return ReadTextFileResponse(content=message.path, meta={"size": 1})

    async with raw_agent(client) as (handle, agent):
        await handle.new_session(cwd="/tmp")
        params = {"sessionId": "s1", "path": "/x", "_meta": META}
        agent.send(request(1, "fs/read_text_file", params))
        assert (await agent.answer_to(1))["result"] == {"content": "/x", "_meta": {"size": 1}}
    assert seen[0].meta == META


async def test_meta_of_an_update_reaches_its_reader() -> None:
    client = Client()
    seen: list[SessionNotification] = []
    client.update(seen.append)
    async with raw_agent(client) as (handle, agent):
        await handle.new_session(cwd="/tmp")
        update = {"sessionUpdate": "current_mode_update", "currentModeId": "m", "_meta": {"inner": 1}}
        agent.send(notification("session/update", {"sessionId": "s1", "update": update, "_meta": META}))
        await until(lambda: seen)
    assert seen[0].meta == META
    assert getattr(seen[0].update, "meta", None) == {"inner": 1}
