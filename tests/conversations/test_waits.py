"""A person who thinks for an hour loses nothing: every request that a person may answer, at every end. And a
machine that does not answer is still given up in time.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from typing import Any

import pytest

from dragoman import Agent, Client, Limits, Proxy, Turn, blocking
from dragoman.errors import CallTimeout, SilenceTimeout
from dragoman.schema import v1
from dragoman.schema.waits import CLIENT_ANSWERERS
from dragoman.sdk.official.adapter import adapt
from tests.conversations import slow_people
from tests.conversations.slow_people import (
    ANSWERS,
    ASKS,
    EXTENSION,
    PLAIN_ASKS,
    LeapingLoop,
    asking_agent,
    in_leaps,
    plain_asking_agent,
    think,
)
from tests.forks import forked
from tests.runtime.raw import request, result
from tests.sdk.ends import EVERYTHING, RawClient, raw_agent, raw_client

PERSONS = sorted(ANSWERS)
HASTE = Limits(call_seconds=120.0)


def test_every_request_that_a_person_answers_is_asked_here() -> None:
    people = {method for method, who in CLIENT_ANSWERERS.items() if who == "person"}
    assert {*people, EXTENSION} == set(ANSWERS) == set(ASKS) == set(PLAIN_ASKS)


# Agents of the SDK, with a client that was written by hand.


class OfficialAsking:
    """An agent of the official SDK."""

    def on_connect(self, conn: Any) -> None:
        self.client = conn

    async def initialize(self, protocol_version: int, **_: Any) -> Any:
        from acp.schema import InitializeResponse

        return InitializeResponse(protocol_version=protocol_version)

    async def new_session(self, cwd: str, **_: Any) -> Any:
        from acp.schema import NewSessionResponse

        return NewSessionResponse(session_id="s-1")

    async def prompt(self, session_id: str, prompt: list[Any], **_: Any) -> Any:
        from acp.schema import PermissionOption, PromptResponse, ToolCallUpdate

        method, folder = prompt[0].text.split()
        option = PermissionOption(option_id="allow_once", name="Yes", kind="allow_once")
        client = self.client
        match method:
            case "session/request_permission":
                call = ToolCallUpdate(tool_call_id="t")
                await client.request_permission(session_id=session_id, tool_call=call, options=[option])
            case "fs/read_text_file":
                await client.read_text_file(session_id=session_id, path=f"{folder}/plums.txt")
            case "fs/write_text_file":
                await client.write_text_file(session_id=session_id, path=f"{folder}/new.txt", content="w")
            case "terminal/create":
                await client.create_terminal(session_id=session_id, command="true")
            case _:
                await client.ext_method(method.removeprefix("_"), {})
        return PromptResponse(stop_reason="end_turn")


def asking_proxy() -> Proxy:
    """Asks the client by itself, before a prompt goes on to the agent."""
    proxy = Proxy(Agent("behind"))
    behind = proxy.target
    assert isinstance(behind, Agent)
    behind.prompt(_say_nothing)

    @proxy.on("session/prompt")
    async def ask(asked: v1.PromptRequest) -> v1.PromptRequest:
        block = asked.prompt[0]
        assert isinstance(block, v1.TextContent)
        await proxy.to_client.call(block.text.split()[0], {"sessionId": asked.session_id})
        return asked

    return proxy


async def _say_nothing(turn: Turn) -> None:
    """A turn without a word."""


ENDS: dict[str, Callable[[], Any]] = {
    "async": asking_agent,
    "sync": plain_asking_agent,
    "official": lambda: adapt(OfficialAsking()),
    "proxy": asking_proxy,
}


# The official SDK has no word for an elicitation.
CELLS = [(end, ask) for end in ENDS for ask in PERSONS if (end, ask) != ("official", "elicitation/create")]


@pytest.mark.parametrize(("end", "method"), CELLS)
def test_an_agent_waits_for_a_person_who_thinks_for_an_hour(end: str, method: str) -> None:
    async def play() -> None:
        async with raw_client(ENDS[end](), limits=HASTE) as client:
            client.prompt(1, await client.open(EVERYTHING), f"{method} /tmp")
            asked = await client.asks(method)
            await think()
            client.send(result(asked["id"], ANSWERS[method]))
            await release(client, method, end)
            assert (await client.answer_to(1))["result"]["stopReason"] == "end_turn"

    in_leaps(play())


async def release(client: RawClient, method: str, end: str) -> None:
    if method == "terminal/create" and end in ("async", "sync"):
        client.send(result((await client.asks("terminal/release"))["id"], {}))


def test_a_machine_that_does_not_answer_is_given_up_in_time() -> None:
    ended: list[str] = []

    async def ask(turn: Turn) -> None:
        asked = v1.TerminalOutputRequest(session_id=turn.session_id, terminal_id="t")
        with pytest.raises(CallTimeout):
            await turn.client.ask("terminal/output", asked, v1.TerminalOutputResponse)
        ended.append("given up")

    async def play() -> None:
        agent = Agent("hasty")
        agent.prompt(ask)
        async with raw_client(agent, limits=HASTE) as client:
            client.prompt(1, await client.open(EVERYTHING))
            await client.asks("terminal/output")
            await think(180.0)
            await client.answer_to(1)

    in_leaps(play())
    assert ended == ["given up"]


# Clients of the SDK, whose person is asked.


def slow_client(**options: Any) -> Client:
    client = Client(elicitation_modes=("form",), **options)

    @client.elicit
    async def fill(asked: v1.CreateElicitationRequest) -> v1.ElicitationAcceptAction:
        await think()
        return v1.ElicitationAcceptAction(content={})

    return client


def elicitation(number: int, **scope: Any) -> dict[str, Any]:
    schema = {"type": "object", "properties": {}}
    params = {"mode": "form", "message": "Who are you?", "requestedSchema": schema, **scope}
    return request(number, "elicitation/create", params)


def test_an_agent_that_asks_the_person_while_it_opens_a_session_is_not_late() -> None:
    async def play() -> None:
        async with raw_agent(slow_client(), limits=HASTE, capabilities={"loadSession": True}) as (
            handle,
            agent,
        ):
            loading = asyncio.ensure_future(handle.load_session("s-1", cwd="/tmp"))
            asked = await agent.asks("session/load")
            agent.send(elicitation(7, requestId=asked["id"]))
            assert (await agent.answer_to(7))["result"]["action"] == "accept"
            await think(60.0)
            agent.send(result(asked["id"], {}))
            assert (await loading).id == "s-1"

    in_leaps(play())


def test_an_agent_that_asks_nobody_is_late() -> None:
    async def play() -> None:
        async with raw_agent(slow_client(), limits=HASTE) as (handle, agent):
            called = asyncio.ensure_future(handle.call("_open"))
            await agent.asks("_open")
            await think(180.0)
            with pytest.raises(CallTimeout):
                await called

    in_leaps(play())


def test_a_deadline_of_the_caller_holds_whoever_is_asked() -> None:
    async def play() -> None:
        async with raw_agent(slow_client(), limits=HASTE) as (handle, agent):
            called = asyncio.ensure_future(handle.call("_open", deadline=60.0))
            asked = await agent.asks("_open")
            agent.send(elicitation(7, requestId=asked["id"]))
            with pytest.raises(CallTimeout):
                await called
            await agent.answer_to(7)

    in_leaps(play())


def test_a_login_takes_as_long_as_the_person_does() -> None:
    async def play() -> None:
        async with raw_agent(limits=HASTE) as (handle, agent):
            logging_in = asyncio.ensure_future(handle.authenticate("browser"))
            asked = await agent.asks("authenticate")
            await think()
            agent.send(result(asked["id"], {}))
            await logging_in

    in_leaps(play())


def test_a_turn_that_waits_for_its_own_person_is_not_silent() -> None:
    async def play() -> None:
        async with raw_agent(slow_client(), limits=HASTE) as (handle, agent):
            session = await handle.new_session(cwd="/tmp")
            prompting = asyncio.ensure_future(_whole(session.prompt("go", silence=60.0)))
            asked = await agent.asks("session/prompt")
            agent.send(elicitation(7, sessionId=session.id))
            await agent.answer_to(7)
            await think(30.0)
            agent.send(result(asked["id"], {"stopReason": "end_turn"}))
            assert (await prompting).stop_reason == "end_turn"
            again = asyncio.ensure_future(_whole(session.prompt("again", silence=60.0)))
            await agent.asks("session/prompt")
            await think(120.0)
            with pytest.raises(SilenceTimeout):
                await again

    in_leaps(play())


async def _whole(turn: Any) -> Any:
    return await turn


def test_a_blocking_client_does_not_count_the_time_of_its_own_person(monkeypatch: pytest.MonkeyPatch) -> None:
    loop = LeapingLoop()
    monkeypatch.setattr("dragoman.blocking.conversation.asyncio.new_event_loop", lambda: loop)
    client = blocking.Client(elicitation_modes=("form",))

    @client.elicit
    def fill(asked: v1.CreateElicitationRequest) -> v1.ElicitationAcceptAction:
        asyncio.run_coroutine_threadsafe(think(), loop).result()
        return v1.ElicitationAcceptAction(content={})

    command = forked([sys.executable, slow_people.__file__, "plain"])
    with blocking.connect(command, client=client, limits=HASTE) as agent:
        session = agent.new_session(cwd="/tmp")
        turn = session.prompt("elicitation/create /tmp", silence=60.0)
        assert "".join(turn.texts()) == "done"
        assert agent.call("_elicit", {"sessionId": session.id}) == {"action": "accept"}
