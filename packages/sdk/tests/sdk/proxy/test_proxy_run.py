"""Proxies as programs on stdio: their agent, its death, and what is left behind, which is nothing."""

from __future__ import annotations

import asyncio
import json
import signal
import sys
from typing import Any

import pytest

from dragoman import Limits, Proxy, connect, serving
from dragoman.schema.v1 import AgentMessageChunk, TextContent
from dragoman.testing import RawPeer
from dragoman.transport.memory import memory_pair
from tests.forks import forked
from tests.sdk.proxy.ends import End, Slow, answer, prompt, request
from tests.transport.programs import alive, eventually, python

pytestmark = pytest.mark.bound(20)

INITIALIZE = request(0, "initialize", protocolVersion=1, clientCapabilities={})

SERVE = """
import sys
from dragoman import Proxy, serve
serve(Proxy(sys.argv[1:] or None))
"""

SERVE_BRIEFLY = """
import sys
from dragoman import Limits, Proxy, serve
serve(Proxy(sys.argv[1:]), limits=Limits(end_seconds=0.2))
"""


def proxy_before(*command: str) -> list[str]:
    return forked([sys.executable, "-c", SERVE, *command])


async def test_the_example_adds_its_rules() -> None:
    async with connect(forked([sys.executable, "examples/rules_proxy.py"])) as agent:
        session = await agent.new_session(cwd="/tmp")
        texts = [
            update.content.text
            async for update in session.prompt("Push it.")
            if isinstance(update, AgentMessageChunk) and isinstance(update.content, TextContent)
        ]
    assert texts == ["You said: Never touch main. Push it."]


async def test_the_example_of_a_chain_answers_as_one_agent() -> None:
    shown: list[bytes] = []
    async with connect(forked([sys.executable, "examples/proxy_chain.py"]), on_stderr=shown.append) as agent:
        session = await agent.new_session(cwd="/tmp")
        updates = [update async for update in session.prompt("Push it.")]
    assert isinstance(updates[0], AgentMessageChunk)
    assert updates[0].content == TextContent(text="You said: Never touch main. Push it.")
    assert b"prompt 1" in b"".join(shown)


async def test_requests_from_a_file_get_their_answers() -> None:
    async with RawPeer(proxy_before(*forked([sys.executable, "examples/echo_agent.py"]))) as peer:
        await peer.send(INITIALIZE, request(1, "session/new", cwd="/", mcpServers=[]))
        peer.close_stdin()
        answers = [json.loads(frame) for frame in await peer.read_rest(seconds=10)]
        assert [found["id"] for found in answers] == [0, 1]
        assert await peer.wait() == 0


IN_PROCESS = """
from dragoman import Agent, Conductor, Proxy, serve
agent = Agent("late")

@agent.prompt
async def reply(turn):
    pass

serve(Conductor([Proxy(), Proxy(agent)]))
"""


@pytest.mark.parametrize(
    "command",
    [forked([sys.executable, "-c", IN_PROCESS]), forked([sys.executable, "examples/proxy_chain.py"])],
    ids=["in one process", "as processes"],
)
async def test_so_do_those_for_a_chain(command: list[str]) -> None:
    async with RawPeer(command) as peer:
        await peer.send(INITIALIZE, request(1, "session/new", cwd="/", mcpServers=[]))
        peer.close_stdin()
        answers = [json.loads(frame) for frame in await peer.read_rest(seconds=10)]
        assert [(found["id"], "result" in found) for found in answers] == [(0, True), (1, True)]
        assert await peer.wait() == 0


DYING = """
import sys
for line in sys.stdin:
    if "initialize" in line:
        print('{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":1}}', flush=True)
    else:
        print("the model is gone", file=sys.stderr, flush=True)
        sys.exit(3)
"""


async def test_when_the_agent_dies_open_requests_are_answered_and_the_reason_is_told() -> None:
    async with RawPeer(proxy_before(*python(DYING))) as peer:
        await peer.send(INITIALIZE)
        assert json.loads(await peer.read_line()) == answer(0, {"protocolVersion": 1})
        await peer.send(prompt(1, "a"))
        last = [json.loads(frame) for frame in await peer.read_rest()]
        assert [(found["id"], found["error"]["code"]) for found in last] == [(1, -32603)]
        assert await peer.wait() == 0
        # Once as it was said, once as the reason.
        assert peer.stderr.count("the model is gone") == 2
        assert "exit status 3" in peer.stderr


async def test_an_agent_that_cannot_start_is_told_to_the_client() -> None:
    async with RawPeer(proxy_before("no-such-agent")) as peer:
        await peer.send(INITIALIZE)
        refused = [json.loads(frame) for frame in await peer.read_rest()]
        assert [(found["id"], found["error"]["code"]) for found in refused] == [(0, -32603)]
        await peer.wait()
        assert "no such program" in peer.stderr


async def test_a_proxy_without_an_agent_says_that_it_is_a_link_of_a_chain() -> None:
    async with RawPeer(forked([sys.executable, "-c", "from dragoman import *; serve(Proxy())"])) as peer:
        await peer.send(INITIALIZE)
        assert json.loads(await peer.read_line())["error"]["code"] == -32603
        await peer.wait()
        assert "link of a chain" in peer.stderr


SLEEPY = """
import os, sys, time
print('{"jsonrpc":"2.0","method":"_pid","params":{"pid":%d}}' % os.getpid(), flush=True)
while True:
    time.sleep(60)
"""


@pytest.mark.parametrize("how", ["end of input", "SIGTERM", "SIGKILL"])
async def test_however_a_proxy_ends_its_agent_ends_with_it(how: str) -> None:
    async with RawPeer([sys.executable, "-c", SERVE_BRIEFLY, *python(SLEEPY)]) as peer:
        await peer.send(INITIALIZE)
        pid = json.loads(await peer.read_line())["params"]["pid"]
        assert alive(pid)
        if how == "end of input":
            peer.close_stdin()
        else:
            peer.send_signal(getattr(signal, how))
        await peer.wait(seconds=10)
        await eventually(lambda: not alive(pid))


async def test_what_a_hook_holds_back_of_the_first_block_stops_reading_behind_it() -> None:
    proxy, slow = Proxy(python(SLEEPY)), Slow()
    proxy.on("session/prompt")(slow)
    far, near = memory_pair()
    client = End(far)
    async with serving(proxy, near, limits=Limits(backlog_bytes=100, end_seconds=0.2)):
        client.say(prompt(1, "x" * 200))
        await slow.entered.wait()
        client.say(prompt(2, "y"))
        for _ in range(20):
            await asyncio.sleep(0)
        assert far.pending > 0
        slow.go.set()
        await eventually(lambda: far.pending == 0)
    await far.aclose()


async def test_a_client_that_never_says_anything_starts_nothing() -> None:
    far, near = memory_pair()
    async with serving(Proxy("no-such-agent"), near) as run:
        await far.aclose()
        await run.wait_ended()


async def test_leaving_the_block_ends_a_conversation_that_goes_on() -> None:
    far, near = memory_pair()
    client = End(far)
    async with serving(Proxy(python(SLEEPY)), near, limits=Limits(end_seconds=0.2)):
        client.say(INITIALIZE)
        pid: Any = (await client.hear_json())["params"]["pid"]
    assert not alive(pid)
    await client.hear_the_end()
    await far.aclose()
