"""An object written for the official Python SDK, served by us: where its runtime and ours differ."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable
from typing import Any

import acp
import pytest
from acp.schema import (
    AgentMessageChunk,
    InitializeResponse,
    NewSessionResponse,
    PromptResponse,
    SetSessionConfigOptionResponse,
    TextContentBlock,
)

from dragoman import AgentHandle, Client, Limits, Session, connect
from dragoman.errors import CallFailed, DragomanError
from dragoman.schema.v1 import ClientCapabilities, ReadTextFileRequest, ReadTextFileResponse
from dragoman.sdk.official.adapter import adapt
from dragoman.testing.pace import patience
from tests.forks import forked
from tests.interop.programs import ROOT

Play = Callable[["Echo", str, dict[str, Any]], Awaitable[str | None]]


class Echo:
    """Says what it was told, or plays what it is given."""

    def __init__(self, play: Play | None = None) -> None:
        self.play = play
        self.sessions = 0

    def on_connect(self, conn: Any) -> None:
        self.client = conn

    async def initialize(self, protocol_version: int, **kwargs: Any) -> InitializeResponse:
        return InitializeResponse(protocol_version=protocol_version)

    async def new_session(self, cwd: str, **kwargs: Any) -> NewSessionResponse:
        self.sessions += 1
        return NewSessionResponse(session_id=f"s-{self.sessions}")

    async def prompt(self, session_id: str, prompt: list[Any], **kwargs: Any) -> PromptResponse:
        if self.play is None:
            await self.say(session_id, prompt[0].text)
            return PromptResponse(stop_reason="end_turn")
        stop: Any = await self.play(self, session_id, kwargs)
        return PromptResponse(stop_reason=stop or "end_turn")

    async def say(self, session_id: str, text: str) -> None:
        content = TextContentBlock(type="text", text=text)
        chunk = AgentMessageChunk(session_update="agent_message_chunk", content=content)
        await self.client.session_update(session_id, chunk)


class Stoppable(Echo):
    """Ends its turns itself when it is told to."""

    def __init__(self, play: Play | None = None) -> None:
        super().__init__(play)
        self.stopped = asyncio.Event()
        self.told: list[str] = []

    async def cancel(self, session_id: str, **kwargs: Any) -> None:
        self.told.append(session_id)
        self.stopped.set()


async def until_stopped(agent: Any, session_id: str, meta: dict[str, Any]) -> str:
    await agent.say(session_id, "waiting")
    await agent.stopped.wait()
    await agent.say(session_id, "last words")
    return "cancelled"


async def cancelled(session: Session) -> tuple[str, str]:
    """Cancel a turn at its first word: what was said, and how it ended."""
    turn = session.prompt("go")
    async for _ in turn:
        if not session.cancelling:
            await session.cancel()
    return turn.result.text, turn.result.stop_reason


async def raw_prompt(agent: AgentHandle, session: Session, meta: dict[str, Any]) -> Any:
    prompt = [{"type": "text", "text": "hi"}]
    return await agent.call("session/prompt", {"sessionId": session.id, "prompt": prompt, "_meta": meta})


# What reaches the object.


async def test_meta_arrives_beside_the_parameters_and_never_in_their_place() -> None:
    seen: list[tuple[str, dict[str, Any]]] = []

    async def play(agent: Echo, session_id: str, meta: dict[str, Any]) -> None:
        seen.append((session_id, meta))

    async with connect(adapt(Echo(play))) as agent:
        session = await agent.new_session(cwd="/tmp")
        meta = {"session_id": "another", "prompt": [], "self": 1, "trace": "t-1"}
        await raw_prompt(agent, session, meta)
    (told,) = seen
    assert told[0] == session.id
    assert {name: value for name, value in told[1].items() if name != "message_id"} == {"trace": "t-1"}


async def test_meta_does_not_fill_in_a_parameter_that_was_left_out() -> None:
    roots: list[Any] = []

    class Rooted(Echo):
        async def new_session(
            self, cwd: str, additional_directories: list[str] | None = None, **kwargs: Any
        ) -> NewSessionResponse:
            roots.append(additional_directories)
            return NewSessionResponse(session_id="s")

    async with connect(adapt(Rooted())) as agent:
        meta = {"additional_directories": ["/etc"]}
        await agent.call("session/new", {"cwd": "/tmp", "mcpServers": [], "_meta": meta})
    assert roots == [None]


async def test_a_method_without_room_for_more_gets_what_it_takes() -> None:
    class Narrow(Echo):
        async def new_session(self, cwd: str) -> NewSessionResponse:  # type: ignore[override]
            return NewSessionResponse(session_id=cwd)

    async with connect(adapt(Narrow())) as agent:
        assert (await agent.new_session(cwd="/tmp")).id == "/tmp"


async def test_a_declaration_that_was_only_inherited_is_no_method() -> None:
    class Bare(acp.Agent):
        async def initialize(self, protocol_version: int, **kwargs: Any) -> InitializeResponse:  # type: ignore[override]
            return InitializeResponse(protocol_version=1)

    target: Any = Bare
    async with connect(adapt(target())) as agent:
        session = await agent.new_session(cwd="/tmp")  # of those, ours knows how to do it alone
        for method in ("session/prompt", "session/list", "authenticate", "_any"):
            with pytest.raises(CallFailed) as failed:
                await agent.call(method, {"sessionId": session.id, "prompt": [], "methodId": "m"})
            assert failed.value.code == -32601


async def test_an_option_is_set_by_its_value_whatever_its_type() -> None:
    values: list[Any] = []

    class Optional(Echo):
        async def set_config_option(
            self, config_id: str, session_id: str, value: str | bool, **kwargs: Any
        ) -> SetSessionConfigOptionResponse:
            values.append((config_id, value, kwargs))
            return SetSessionConfigOptionResponse(config_options=[])

    async with connect(adapt(Optional())) as agent:
        session = await agent.new_session(cwd="/tmp")
        await session.set_config_option("model", "large")
        await session.set_config_option("fast", True)
    assert values == [("model", "large", {}), ("fast", True, {})]


async def test_only_a_version_that_is_spoken_is_agreed_on() -> None:
    async with connect(adapt(Echo())) as agent:
        answer = await agent.call("initialize", {"protocolVersion": 99, "clientCapabilities": {}})
    assert answer["protocolVersion"] == 1


async def test_an_object_may_be_made_from_its_connection() -> None:
    def make(connection: Any) -> Echo:
        echo = Echo()
        echo.client = connection
        return echo

    async with connect(adapt(make)) as agent:
        session = await agent.new_session(cwd="/tmp")
        assert (await session.prompt("made")).text == "made"


async def test_an_object_without_initialize_is_introduced_by_us() -> None:
    class Quiet:
        async def ext_method(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
            return {method: params}

    async with connect(adapt(Quiet())) as agent:
        assert agent.info is not None
        assert agent.info.name == "Quiet"
        assert await agent.call("_some/thing", {"a": 1}) == {"some/thing": {"a": 1}}
        await agent.notify("_some/note", {"a": 1})
        assert await agent.call("_again") == {"again": {}}


# What the object asks for.


async def test_each_client_of_one_object_hears_its_own_turn() -> None:
    shared = adapt(Echo())
    async with connect(shared) as one, connect(shared) as two:
        first, second = await one.new_session(cwd="/tmp"), await two.new_session(cwd="/tmp")
        results = await asyncio.gather(first.prompt("one"), second.prompt("two"))
        assert (await first.prompt("three")).text == "three"
    assert [result.text for result in results] == ["one", "two"]


async def test_what_the_client_lacks_is_refused_without_asking_it() -> None:
    codes: list[int] = []

    async def play(agent: Echo, session_id: str, meta: dict[str, Any]) -> None:
        try:
            await agent.client.read_text_file(session_id=session_id, path="/tmp/x")
        except acp.RequestError as error:
            codes.append(error.code)

    class Modest(Client):
        def capabilities(self) -> ClientCapabilities:
            return ClientCapabilities()

    client = Modest()

    @client.read_text_file
    async def read(request: ReadTextFileRequest) -> ReadTextFileResponse:
        return ReadTextFileResponse(content="nobody was to ask for this")

    async with connect(adapt(Echo(play)), client=client) as agent:
        await (await agent.new_session(cwd="/tmp")).prompt("go")
    assert codes == [-32601]


async def test_a_client_that_does_not_answer_is_waited_for_as_long_as_the_limits_say() -> None:
    async def play(agent: Echo, session_id: str, meta: dict[str, Any]) -> None:
        with pytest.raises(TimeoutError, match="terminal/output"):
            await agent.client.terminal_output(session_id=session_id, terminal_id="t")
        await agent.say(session_id, "too late")

    client = Client()

    async def hang(request: object) -> None:
        await asyncio.Event().wait()

    for name in ("create", "output", "release", "wait_for_exit", "kill"):
        client.handlers.add(f"terminal/{name}", hang)

    limits = Limits(call_seconds=patience(0.2))  # which other calls need, too
    async with connect(adapt(Echo(play)), client=client, limits=limits) as agent:
        session = await agent.new_session(cwd="/tmp")
        assert (await session.prompt("go")).text == "too late"


async def test_after_the_end_nothing_can_be_said() -> None:
    echo = Echo()
    async with connect(adapt(echo)):
        pass
    with pytest.raises(ConnectionError):
        await echo.say("s-1", "is anybody there?")
    with pytest.raises(ConnectionError):
        await echo.client.ext_method("some/thing", {})


async def test_before_the_beginning_there_is_nobody_to_talk_to() -> None:
    made: list[Any] = []

    def make(connection: Any) -> Echo:
        made.append(connection)
        return Echo()

    adapt(make)
    with pytest.raises(ConnectionError, match="yet"):
        await made[0].ext_method("some/thing", {})


async def test_an_object_can_hang_up() -> None:
    async def play(agent: Echo, session_id: str, meta: dict[str, Any]) -> None:
        await agent.client.close()

    async with connect(adapt(Echo(play))) as agent:
        session = await agent.new_session(cwd="/tmp")
        with pytest.raises(DragomanError):
            await session.prompt("go")
        await agent.link.wait_ended()


# How a turn ends.


async def test_an_object_with_a_cancel_says_its_last_words() -> None:
    target = Stoppable(until_stopped)
    async with connect(adapt(target)) as agent:
        session = await agent.new_session(cwd="/tmp")
        assert await cancelled(session) == ("waitinglast words", "cancelled")
    assert target.told == [session.id]


async def test_an_object_without_a_cancel_is_interrupted() -> None:
    async def play(agent: Echo, session_id: str, meta: dict[str, Any]) -> None:
        await agent.say(session_id, "waiting")
        await asyncio.Event().wait()

    async with connect(adapt(Echo(play))) as agent:
        assert await cancelled(await agent.new_session(cwd="/tmp")) == ("waiting", "cancelled")


async def test_an_object_that_goes_on_is_left_behind() -> None:
    async def play(agent: Any, session_id: str, meta: dict[str, Any]) -> None:
        await agent.say(session_id, "waiting")
        await asyncio.Event().wait()

    async with connect(adapt(Stoppable(play)), limits=Limits(cancel_seconds=0.05)) as agent:
        assert await cancelled(await agent.new_session(cwd="/tmp")) == ("waiting", "cancelled")


async def test_closing_a_session_tells_the_object_to_stop() -> None:
    target = Stoppable(until_stopped)
    async with connect(adapt(target)) as agent:
        session = await agent.new_session(cwd="/tmp")
        turn = session.prompt("go")
        async for _ in turn:
            await agent.call("session/close", {"sessionId": session.id})
            break
    assert target.told == [session.id]


async def test_the_end_of_the_connection_ends_the_turn() -> None:
    ended: list[str] = []

    async def play(agent: Echo, session_id: str, meta: dict[str, Any]) -> None:
        await agent.say(session_id, "waiting")
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(session_id)

    async with connect(adapt(Stoppable(play))) as agent:
        session = await agent.new_session(cwd="/tmp")
        async for _ in session.prompt("go"):
            await agent.link.aclose()
            break
    assert ended == [session.id]


async def test_an_error_meant_for_the_client_reaches_it_and_no_other() -> None:
    async def refuse(agent: Echo, session_id: str, meta: dict[str, Any]) -> None:
        raise acp.RequestError(-32042, "Not today", {"until": "tomorrow"})

    async def crash(agent: Echo, session_id: str, meta: dict[str, Any]) -> None:
        raise RuntimeError("the key is sk-1")

    for play, code, data in ((refuse, -32042, {"until": "tomorrow"}), (crash, -32603, None)):
        async with connect(adapt(Echo(play))) as agent:
            session = await agent.new_session(cwd="/tmp")
            with pytest.raises(CallFailed) as failed:
                await session.prompt("go")
            assert (failed.value.code, failed.value.data) == (code, data)
            assert "sk-1" not in str(failed.value)


@pytest.mark.bound(20)
async def test_the_example_answers() -> None:
    async with connect(forked([sys.executable, str(ROOT / "examples" / "official_agent.py")])) as agent:
        session = await agent.new_session(cwd="/tmp")
        assert (await session.prompt("Hello")).text == "You said: Hello"
