"""A chain: who is greeted how, what travels wrapped, how answers, errors and cancels come back."""

from __future__ import annotations

import asyncio
import hashlib
import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from dragoman import Agent, Conductor, Proxy, Turn, connect, serving
from dragoman.errors import CallFailed, ErrorAnswer
from dragoman.schema.v1 import (
    AgentMessageChunk,
    NewSessionRequest,
    NewSessionResponse,
    PromptRequest,
    SessionNotification,
    TextContent,
)
from dragoman.transport.memory import memory_pair
from tests.forks import forked
from tests.sdk.proxy.ends import End, answer, chunk, line, note, prompt, request

INITIALIZE = request(0, "initialize", protocolVersion=1, clientCapabilities={})


class Chain:
    """A client and components of bare lines around a conductor."""

    def __init__(self, components: int) -> None:
        client, self.transport = memory_pair()
        pairs = [memory_pair() for _ in range(components)]
        self.client = End(client)
        self.components = [End(far) for far, _ in pairs]
        self.conductor = Conductor([near for _, near in pairs])

    async def aclose(self) -> None:
        for end in (self.client, *self.components):
            await end.transport.aclose()


@asynccontextmanager
async def chain_of(components: int) -> AsyncIterator[Chain]:
    chain = Chain(components)
    async with serving(chain.conductor, chain.transport):
        yield chain
    await chain.aclose()


async def greet(chain: Chain) -> None:
    """Bring `initialize` down to the agent, as proxies would, and its answer back up."""
    chain.client.say(INITIALIZE)
    ids = []
    for component in chain.components:
        asked = await component.hear_json()
        ids.append(asked["id"])
        if component is not chain.components[-1]:
            component.say(wrapped(9, "initialize", asked["params"]))
    for component, asked_id in zip(reversed(chain.components), reversed(ids), strict=True):
        if component is not chain.components[-1]:
            assert (await component.hear_json())["id"] == 9
        component.say(answer(asked_id, {"protocolVersion": 1}))
    assert await chain.client.hear_json() == answer(0, {"protocolVersion": 1})


def wrapped(request_id: Any, method: str, params: Any) -> dict[str, Any]:
    return request(request_id, "proxy/successor", method=method, params=params)


async def test_every_component_with_a_successor_is_greeted_as_a_proxy_and_the_last_as_an_agent() -> None:
    async with chain_of(3) as chain:
        chain.client.say(INITIALIZE)
        for component, method in zip(
            chain.components, ("proxy/initialize", "proxy/initialize", "initialize"), strict=True
        ):
            asked = await component.hear_json()
            assert (asked["method"], asked["params"]) == (method, INITIALIZE["params"])
            component.say(wrapped("same id everywhere", "initialize", asked["params"]))


async def test_messages_travel_down_unwrapped_and_up_wrapped_and_answers_find_their_way() -> None:
    async with chain_of(2) as chain:
        await greet(chain)
        proxy, agent = chain.components
        chain.client.say(prompt("p", "hi"))
        asked = await proxy.hear_json()
        assert asked["method"] == "session/prompt"
        proxy.say(wrapped("q", "session/prompt", asked["params"]))
        inner = await agent.hear_json()
        assert (inner["method"], inner["params"]) == ("session/prompt", asked["params"])
        agent.say(chunk("one"))
        assert (await proxy.hear_json()) == note(
            "proxy/successor", method="session/update", params=chunk("one")["params"]
        )
        proxy.say(chunk("changed"))
        assert await chain.client.hear_json() == chunk("changed")
        agent.say(request(1, "fs/read_text_file", sessionId="s", path="/a"))
        reading = await proxy.hear_json()
        assert (reading["method"], reading["params"]["method"]) == ("proxy/successor", "fs/read_text_file")
        proxy.say(request(1, "fs/read_text_file", **reading["params"]["params"]))
        at_client = await chain.client.hear_json()
        chain.client.say(answer(at_client["id"], {"content": "x"}))
        assert await proxy.hear_json() == answer(1, {"content": "x"})
        proxy.say(answer(reading["id"], {"content": "y"}))
        assert await agent.hear_json() == answer(1, {"content": "y"})
        agent.say(answer(inner["id"], {"stopReason": "end_turn"}))
        assert await proxy.hear_json() == answer("q", {"stopReason": "end_turn"})
        proxy.say(answer(asked["id"], {"stopReason": "refusal"}))
        assert await chain.client.hear_json() == answer("p", {"stopReason": "refusal"})


async def test_an_answer_does_not_change_places_with_what_follows_it() -> None:
    async with chain_of(1) as chain:
        await greet(chain)
        chain.client.say(request(1, "session/new", cwd="/", mcpServers=[]))
        asked = await chain.components[0].hear_json()
        chain.components[0].say(answer(asked["id"], {"sessionId": "s"}), chunk("after"))
        assert (await chain.client.hear_json())["id"] == 1
        assert await chain.client.hear_json() == chunk("after")


async def test_an_error_comes_back_as_the_same_value() -> None:
    error = {"code": -32001, "message": "no", "data": {"a": [1.50, None]}, "odd": "member"}
    async with chain_of(2) as chain:
        await greet(chain)
        proxy, agent = chain.components
        chain.client.say(prompt(1, "hi"))
        asked = await proxy.hear_json()
        proxy.say(wrapped(2, "session/prompt", asked["params"]))
        inner = await agent.hear_json()
        agent.say({"jsonrpc": "2.0", "id": inner["id"], "error": error})
        assert (await proxy.hear_json())["error"] == error
        proxy.say({"jsonrpc": "2.0", "id": asked["id"], "error": error})
        assert await chain.client.hear_json() == {"jsonrpc": "2.0", "id": 1, "error": error}


async def test_a_cancel_names_the_request_of_its_own_hop() -> None:
    async with chain_of(2) as chain:
        await greet(chain)
        proxy, agent = chain.components
        chain.client.say(prompt("p", "hi"))
        asked = await proxy.hear_json()
        proxy.say(wrapped("q", "session/prompt", asked["params"]))
        inner = await agent.hear_json()
        chain.client.say(note("$/cancel_request", requestId="p"))
        assert await proxy.hear_json() == note("$/cancel_request", requestId=asked["id"])
        proxy.say(note("$/cancel_request", requestId="q"))
        assert await agent.hear_json() == note("$/cancel_request", requestId=inner["id"])
        chain.client.say(note("$/cancel_request", requestId="unknown"))
        agent.say(answer(inner["id"], {"stopReason": "cancelled"}))
        assert await proxy.hear_json() == answer("q", {"stopReason": "cancelled"})


async def test_nothing_but_initialize_comes_before_initialize() -> None:
    async with chain_of(1) as chain:
        chain.client.say(prompt(1, "early"))
        assert (await chain.client.hear_json())["error"]["code"] == -32600
        chain.client.say(INITIALIZE, request(2, "session/new", cwd="/", mcpServers=[]))
        agent = chain.components[0]
        asked = await agent.hear_json()
        agent.say(answer(asked["id"], {"protocolVersion": 1}))
        assert (await chain.client.hear_json())["id"] == 0
        assert (await agent.hear_json())["method"] == "session/new"


@pytest.mark.parametrize(
    ("who", "frame", "code"),
    [
        (0, wrapped(1, "proxy/initialize", {}), -32601),
        (0, request(1, "proxy/successor", params={}), -32602),
        (0, request(1, "proxy/successor", method="m", params="text"), -32602),
        (1, wrapped(1, "session/prompt", {}), -32601),
    ],
    ids=["greets as only we do", "no method", "params of no shape", "the last has no successor"],
)
async def test_what_makes_no_sense_in_a_chain_is_refused(who: int, frame: dict[str, Any], code: int) -> None:
    async with chain_of(2) as chain:
        await greet(chain)
        chain.components[who].say(frame)
        assert (await chain.components[who].hear_json())["error"]["code"] == code


async def test_absent_and_null_params_are_the_same_and_stay_absent() -> None:
    async with chain_of(2) as chain:
        await greet(chain)
        proxy, agent = chain.components
        proxy.say(wrapped(1, "_one", None))
        proxy.say({"jsonrpc": "2.0", "method": "proxy/successor", "params": {"method": "_two"}})
        assert "params" not in await agent.hear_json()
        assert await agent.hear_json() == {"jsonrpc": "2.0", "method": "_two"}


@pytest.mark.parametrize("dying", [0, 1])
async def test_when_a_component_ends_the_client_gets_its_answers_and_then_the_end(dying: int) -> None:
    chain = Chain(2)
    async with serving(chain.conductor, chain.transport) as run:
        await greet(chain)
        chain.client.say(prompt(1, "a"), prompt(2, "b"))
        asked = await chain.components[0].hear_json()
        chain.components[0].say(wrapped(5, "session/prompt", asked["params"]))
        await chain.components[1].hear_json()
        await chain.components[dying].transport.aclose()
        heard = [json.loads(frame) for frame in await chain.client.hear_the_end()]
        await run.wait_ended()
    assert {found["id"]: found["error"]["code"] for found in heard} == {1: -32603, 2: -32603}
    await chain.aclose()


async def test_a_client_that_does_not_read_slows_the_agent_down_and_loses_nothing() -> None:
    async with chain_of(1) as chain:
        await greet(chain)
        agent, block = chain.components[0], line(chunk("x" * 1000)) * 50
        chain.client.transport.pause()
        for _ in range(40):
            agent.say(block)
        for _ in range(200):
            await asyncio.sleep(0)
        assert agent.transport.pending > 0, "the agent never felt it"
        chain.client.transport.resume()
        for _ in range(40 * 50):
            assert await chain.client.hear_json() == chunk("x" * 1000)


def test_a_chain_needs_a_component() -> None:
    with pytest.raises(ValueError, match="list of components"):
        Conductor([])
    with pytest.raises(ValueError, match="list of components"):
        Conductor("some-agent")


async def test_a_component_that_cannot_start_is_told_to_the_client(caplog: pytest.LogCaptureFixture) -> None:
    client, near = memory_pair()
    end = End(client)
    async with serving(Conductor(["no-such-program-anywhere"]), near):
        end.say(INITIALIZE)
        heard = [json.loads(frame) for frame in await end.hear_the_end()]
    assert [found["error"]["code"] for found in heard] == [-32603]
    assert "no such program" in caplog.text
    await client.aclose()


# Real proxies and a real agent.


def adding(word: str) -> Proxy:
    """Puts a word before each prompt and after each message."""
    proxy = Proxy(name=word)

    @proxy.on("session/prompt")
    async def before(request: PromptRequest) -> PromptRequest:
        await asyncio.sleep(0)
        return replace(request, prompt=[TextContent(text=word), *request.prompt])

    @proxy.on("session/update")
    def after(update: SessionNotification) -> SessionNotification:
        chunk = update.update
        assert isinstance(chunk, AgentMessageChunk)
        assert isinstance(chunk.content, TextContent)
        louder = replace(chunk.content, text=f"{chunk.content.text}{word}")
        return replace(update, update=replace(chunk, content=louder))

    return proxy


def echo() -> Agent:
    agent = Agent("echo")

    @agent.prompt
    async def reply(turn: Turn) -> None:
        await turn.say(turn.text)
        if turn.text.endswith("forever"):
            await asyncio.Event().wait()

    @agent.new_session
    def new_session(request: NewSessionRequest) -> NewSessionResponse:
        if request.cwd == "/forbidden":
            raise ErrorAnswer(-32001, "Not there", {"why": "because"})
        return NewSessionResponse(session_id="s")

    return agent


async def test_two_proxies_and_an_agent_in_one_process() -> None:
    ours, theirs = memory_pair()
    async with serving(Conductor([adding("1"), adding("2"), echo()]), theirs), connect(ours) as handle:
        assert handle.info is not None
        assert handle.info.name == "echo"
        with pytest.raises(CallFailed, match="Not there") as failed:
            await handle.new_session(cwd="/forbidden")
        assert (failed.value.code, failed.value.data) == (-32001, {"why": "because"})
        session = await handle.new_session(cwd="/tmp")
        texts = [update.content.text async for update in session.prompt("hi")]  # type: ignore[union-attr]
        assert texts == ["21hi21"]
        turn = session.prompt("forever")
        async for _ in turn:
            await session.cancel()
        assert turn.result.stop_reason == "cancelled"


PROGRAM = """
import sys
from msgspec.structs import replace
from dragoman import Proxy, serve
from dragoman.schema.v1 import TextContent

proxy = Proxy(sys.argv[2] if len(sys.argv) > 2 else None)

@proxy.on("session/prompt")
def add(request):
    return replace(request, prompt=[TextContent(text=sys.argv[1]), *request.prompt])

serve(proxy)
"""


@pytest.mark.bound(20)
async def test_two_proxies_and_an_agent_as_processes() -> None:
    ours, theirs = memory_pair()
    proxies = [forked([sys.executable, "-c", PROGRAM, word]) for word in ("1 ", "2 ")]
    chain = Conductor([*proxies, forked([sys.executable, "examples/echo_agent.py"])])
    async with serving(chain, theirs), connect(ours) as handle:
        session = await handle.new_session(cwd="/tmp")
        texts = [update.content.text async for update in session.prompt("hi")]  # type: ignore[union-attr]
    assert texts == ["You said: 2 1 hi"]


# Any params, byte for byte, down and up.

odd_params = st.dictionaries(
    st.text(st.characters(exclude_categories=["Cs"]), max_size=4),
    st.recursive(
        st.none()
        | st.booleans()
        | st.integers()
        | st.floats(allow_nan=False, allow_infinity=False)
        | st.text("é\n😀"),
        lambda inner: st.lists(inner, max_size=2),
        max_leaves=4,
    ),
    max_size=4,
)


def raw_notes(values: list[dict[str, Any]], separators: tuple[str, str], *, ascii_only: bool) -> list[bytes]:
    return [json.dumps(value, separators=separators, ensure_ascii=ascii_only).encode() for value in values]


@given(
    values=st.lists(odd_params, min_size=1, max_size=6),
    separators=st.sampled_from([(",", ":"), (" , ", " :\t")]),
    ascii_only=st.booleans(),
)
async def test_params_pass_two_proxies_byte_for_byte(
    values: list[dict[str, Any]], separators: tuple[str, str], ascii_only: bool
) -> None:
    params = raw_notes(values, separators, ascii_only=ascii_only)
    far, near = memory_pair()
    agent, client_side = End(far), memory_pair()
    client = End(client_side[0])
    async with serving(Conductor([Proxy(), Proxy(), near]), client_side[1]):
        client.say(INITIALIZE)
        agent.say(answer((await agent.hear_json())["id"], {"protocolVersion": 1}))
        await client.hear()
        for speaker, listener in ((client, agent), (agent, client)):
            for raw in params:
                speaker.say(line(b'{"jsonrpc":"2.0","method":"_odd","params":%b}' % raw))
            heard = [await listener.hear() for _ in params]
            digests = [hashlib.sha256(frame[frame.index(b'"params":') + 9 : -2]).digest() for frame in heard]
            assert digests == [hashlib.sha256(raw).digest() for raw in params]
    await client_side[0].aclose()
    await far.aclose()
