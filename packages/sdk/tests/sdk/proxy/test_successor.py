"""A proxy as a link of a chain: two sides over one connection, told apart without changing an id."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from msgspec.structs import replace

from dragoman import Proxy, serving
from dragoman.schema.v1 import PromptRequest, ReadTextFileResponse, TextContent
from dragoman.transport.memory import memory_pair
from tests.sdk.proxy.ends import End, Slow, answer, chunk, line, note, prompt, request

GREETING = request("g", "proxy/initialize", protocolVersion=1)


@asynccontextmanager
async def greeted(proxy: Proxy) -> AsyncIterator[End]:
    """The conductor's end of a connection to a proxy that was greeted as a link of a chain."""
    far, near = memory_pair()
    conductor = End(far)
    async with serving(proxy, near):
        conductor.say(GREETING)
        asked = await conductor.hear_json()
        assert asked["method"] == "proxy/successor"
        assert asked["params"] == {"method": "initialize", "params": {"protocolVersion": 1}}
        conductor.say(answer(asked["id"], {"protocolVersion": 1}))
        assert await conductor.hear_json() == answer("g", {"protocolVersion": 1})
        yield conductor
    await far.aclose()


async def test_messages_of_the_client_go_on_wrapped_and_those_of_the_successor_unwrapped() -> None:
    async with greeted(Proxy()) as conductor:
        conductor.say(prompt(1, "hi"))
        assert await conductor.hear_json() == request(
            1, "proxy/successor", method="session/prompt", params=prompt(1, "hi")["params"]
        )
        conductor.say(note("proxy/successor", method="session/update", params=chunk("a")["params"]))
        assert await conductor.hear_json() == chunk("a")
        conductor.say(request(2, "proxy/successor", method="fs/read_text_file", params={"path": "/a"}))
        assert await conductor.hear_json() == request(2, "fs/read_text_file", path="/a")
        conductor.say(answer(2, {"content": "x"}))
        assert await conductor.hear_json() == answer(2, {"content": "x"})
        conductor.say(answer(1, {"stopReason": "end_turn"}))
        assert await conductor.hear_json() == answer(1, {"stopReason": "end_turn"})


async def test_hooks_see_the_inner_messages_of_both_sides() -> None:
    proxy = Proxy()

    @proxy.on("session/prompt")
    def add(request: PromptRequest) -> PromptRequest:
        return replace(request, prompt=[*request.prompt, TextContent(text="more")])

    @proxy.on_result("fs/read_text_file")
    def redact(result: ReadTextFileResponse) -> ReadTextFileResponse:
        return replace(result, content="…")

    async with greeted(proxy) as conductor:
        conductor.say(prompt(1, "hi"))
        asked = await conductor.hear_json()
        assert asked["params"]["params"]["prompt"][1]["text"] == "more"
        reading = request(
            2, "proxy/successor", method="fs/read_text_file", params={"path": "/a", "sessionId": "s"}
        )
        conductor.say(reading)
        await conductor.hear()
        conductor.say(answer(2, {"content": "secret"}))
        assert await conductor.hear_json() == answer(2, {"content": "…"})


async def test_a_cancel_stays_on_its_hop_and_names_the_outer_id() -> None:
    async with greeted(Proxy()) as conductor:
        conductor.say(prompt("p", "hi"))
        await conductor.hear()
        conductor.say(note("$/cancel_request", requestId="p"))
        assert await conductor.hear_json() == note("$/cancel_request", requestId="p")
        conductor.say(request("r", "proxy/successor", method="fs/read_text_file"))
        await conductor.hear()
        conductor.say(note("$/cancel_request", requestId="r"))
        assert await conductor.hear_json() == note("$/cancel_request", requestId="r")


async def test_a_held_request_of_the_successor_is_answered_when_it_is_cancelled() -> None:
    proxy, slow = Proxy(), Slow()
    proxy.on("fs/read_text_file")(slow)
    async with greeted(proxy) as conductor:
        inner = {"method": "fs/read_text_file", "params": {"sessionId": "s", "path": "/a"}}
        conductor.say(request("r", "proxy/successor", **inner))
        await slow.entered.wait()
        conductor.say(note("$/cancel_request", requestId="r"))
        refused = await conductor.hear_json()
        assert (refused["id"], refused["error"]["code"]) == ("r", -32800)


async def test_a_proxy_in_a_chain_calls_both_sides_itself() -> None:
    proxy = Proxy()

    @proxy.on("_go", direction="to_agent")
    async def go(params: object) -> object:
        return proxy.reply([await proxy.to_agent.call("_down"), await proxy.to_client.call("_up")])

    async with greeted(proxy) as conductor:
        conductor.say(request(1, "_go"))
        down = await conductor.hear_json()
        assert (down["method"], down["params"]) == ("proxy/successor", {"method": "_down"})
        conductor.say(answer(down["id"], "d"))
        up = await conductor.hear_json()
        assert up["method"] == "_up"
        conductor.say(answer(up["id"], "u"))
        assert await conductor.hear_json() == answer(1, ["d", "u"])


async def test_what_cannot_be_unwrapped_is_refused() -> None:
    async with greeted(Proxy()) as conductor:
        conductor.say(request(1, "proxy/successor", params={}))
        assert (await conductor.hear_json())["error"]["code"] == -32602
        conductor.say(b"nonsense\n")
        assert (await conductor.hear_json())["error"]["code"] == -32700
        conductor.say(b'{"id":5,"method":"session/prompt"}\n')
        assert (await conductor.hear_json())["error"]["code"] == -32600
        conductor.say(answer("never asked", {}), note("_after"))
        assert (await conductor.hear_json())["params"] == {"method": "_after", "params": {}}


async def test_inner_params_keep_their_bytes() -> None:
    odd = b'{"z" : 1.50,\t"\\u00e9":[ ]}'
    async with greeted(Proxy()) as conductor:
        conductor.say(line(b'{"jsonrpc":"2.0","method":"_odd","params":%b}' % odd))
        assert odd in await conductor.hear()
        conductor.say(
            line(b'{"jsonrpc":"2.0","method":"proxy/successor","params":{"params":%b,"method":"_odd"}}' % odd)
        )
        assert await conductor.hear() == line(b'{"jsonrpc":"2.0","method":"_odd","params":%b}' % odd)
