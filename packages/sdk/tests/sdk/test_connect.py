"""From a command, an agent object or a transport to an initialized agent; and nothing is left of it."""

from __future__ import annotations

import asyncio
import os
import sys
from typing import Any

import pytest

from dragoman import Agent, Client, Limits, Turn, blocking, connect
from dragoman.errors import (
    BadAnswer,
    CallFailed,
    DragomanError,
    HandshakeTimeout,
    LinkClosed,
    PeerDied,
    SpawnFailed,
    VersionMismatch,
)
from dragoman.testing.pace import patience
from dragoman.transport.contract import Grace
from dragoman.transport.memory import memory_pair
from tests.runtime.clock import virtually
from tests.sdk.ends import RawAgent
from tests.transport.programs import eventually, python

ECHO = """
from dragoman import Agent, Turn, serve
agent = Agent("echo")
@agent.prompt
async def reply(turn: Turn):
    await turn.say("You said: " + turn.text)
serve(agent)
"""


async def refused(answer: Any) -> BaseException:
    """What `connect` raises when the agent answers `initialize` so."""
    ours, theirs = memory_pair()
    agent = RawAgent(theirs)
    agent.answers_to["initialize"] = answer
    tasks = asyncio.all_tasks()
    try:
        async with connect(ours):
            raise AssertionError("it connected")
    except DragomanError as error:
        assert asyncio.all_tasks() == tasks
        await agent.ends()
        return error
    finally:
        await agent.aclose()


async def test_a_version_that_we_do_not_speak_ends_the_conversation() -> None:
    error = await refused({"protocolVersion": 7})
    assert isinstance(error, VersionMismatch)
    assert (error.agent_version, error.supported_versions) == (7, (1,))


async def test_a_senseless_handshake_ends_the_conversation() -> None:
    assert isinstance(await refused({"protocolVersion": "one"}), BadAnswer)


def test_a_handshake_that_is_not_answered_in_time_ends_the_conversation() -> None:
    async def body() -> None:
        ours, theirs = memory_pair()
        agent = RawAgent(theirs)
        agent.answers_to.clear()
        with pytest.raises(HandshakeTimeout) as late:
            async with connect(ours, limits=Limits(handshake_seconds=7)):
                pass
        assert 7 <= asyncio.get_running_loop().time() < 8
        assert late.value.seconds == 7
        await agent.ends()
        await agent.aclose()

    virtually(body())


async def test_a_handshake_that_is_refused_is_raised_as_it_is() -> None:
    agent = Agent("refuses")

    @agent.initialize
    async def initialize(message: Any) -> None:
        raise RuntimeError("secret")

    with pytest.raises(CallFailed) as failed:
        async with connect(agent):
            pass
    assert (failed.value.code, failed.value.method) == (-32603, "initialize")


async def test_cancelling_the_handshake_leaves_nothing() -> None:
    ours, theirs = memory_pair()
    agent = RawAgent(theirs)
    agent.answers_to.clear()
    tasks = asyncio.all_tasks()

    async def open_it() -> None:
        async with connect(ours):
            pass

    opening = asyncio.create_task(open_it())
    await agent.asks("initialize")
    opening.cancel()
    await asyncio.wait((opening,))
    assert opening.cancelled()
    await agent.ends()
    await agent.aclose()
    assert asyncio.all_tasks() == tasks


async def test_both_ends_know_each_other_after_the_handshake() -> None:
    agent = Agent("callee", version="2", title="The Callee", image=True)
    known: list[Any] = []

    @agent.prompt
    async def reply(turn: Turn) -> None:
        client = turn.client
        known.append(
            (client.info and client.info.name, client.protocol_version, "terminal" in client.capabilities)
        )

    async with connect(agent, client=Client("caller")) as handle:
        assert handle.info is not None
        assert (handle.info.name, handle.info.version) == ("callee", "2")
        assert handle.protocol_version == 1
        assert "promptCapabilities.image" in handle.capabilities
        await (await handle.new_session(cwd="/tmp")).prompt("go")
    assert known == [("caller", 1, False)]


async def test_leaving_the_block_ends_everything_that_was_under_way() -> None:
    agent = Agent("busy")
    ended: list[str] = []
    tasks = asyncio.all_tasks()

    @agent.prompt
    async def reply(turn: Turn) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("turn")

    async with connect(agent) as handle:
        session = await handle.new_session(cwd="/tmp")
        asking = asyncio.ensure_future(session.prompt("go"))
        calling = asyncio.create_task(handle.call("_nothing"))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        await asyncio.sleep(0)
    for task in (asking, calling):
        with pytest.raises((LinkClosed, CallFailed)):
            await task
    assert ended == ["turn"]
    assert asyncio.all_tasks() == tasks


@pytest.mark.bound(20)
async def test_a_command_is_started_talked_to_and_ended() -> None:
    fds = set(os.listdir("/proc/self/fd")) if sys.platform == "linux" else set()
    async with connect([sys.executable, "-c", ECHO]) as handle:
        session = await handle.new_session(cwd="/tmp")
        assert (await session.prompt("hello")).text == "You said: hello"
        pid = handle.link.transport.tree.pid  # type: ignore[attr-defined]
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
    if fds:
        await eventually(lambda: set(os.listdir("/proc/self/fd")) <= fds)


async def test_a_command_that_dies_before_the_handshake_tells_how() -> None:
    with pytest.raises(PeerDied) as died:
        async with connect(python("import sys; sys.exit('no key in the environment')")):
            pass
    assert died.value.returncode == 1
    assert "no key in the environment" in died.value.stderr


async def test_a_command_that_does_not_exist_is_named() -> None:
    with pytest.raises(SpawnFailed, match="no-such-agent"):
        async with connect("no-such-agent --acp"):
            pass


async def test_what_a_command_complains_about_can_be_watched() -> None:
    heard: list[bytes] = []
    with pytest.raises(PeerDied):
        async with connect(python("import sys; sys.stderr.write('oops')"), on_stderr=heard.append):
            pass
    assert b"".join(heard) == b"oops"


async def test_how_long_an_agent_may_take_to_end_is_a_limit() -> None:
    async with connect([sys.executable, "-c", ECHO], limits=Limits(end_seconds=0.7)) as handle:
        assert handle.link.transport.tree.grace == Grace(after_eof=0.7, after_terminate=0.7)  # type: ignore[attr-defined]


async def test_a_program_that_prints_something_else_than_the_protocol_is_quoted() -> None:
    lines: list[str] = []
    program = python("print('usage: agent [-h]'); print('x' * 1000)")
    with pytest.raises(PeerDied, match=r"it printed text that is not ACP:\nusage: agent \[-h\]\nxxx") as died:
        async with connect(program, on_stray=lines.append):
            pass
    assert lines == ["usage: agent [-h]", "x" * 200 + "…"]
    assert died.value.stray == "\n".join(lines)


async def test_a_program_that_prints_something_and_never_answers_is_quoted() -> None:
    program = python("import sys; print('Welcome!', flush=True); sys.stdin.read()")
    with pytest.raises(HandshakeTimeout, match="Welcome!"):
        async with connect(program, limits=Limits(handshake_seconds=patience(1.0))):
            pass


async def test_who_forgets_to_enter_is_told_how() -> None:
    with pytest.raises(AttributeError, match=r"no new_session yet.*async with connect\(…\) as agent"):
        connect("some-agent").new_session  # type: ignore[attr-defined]  # noqa: B018
    with pytest.raises(AttributeError, match=r"no new_session yet.*Write: with connect\(…\) as agent"):
        blocking.connect("some-agent").new_session  # type: ignore[union-attr]  # noqa: B018
    with pytest.raises(AttributeError, match=r"no new_session yet.*Write: with connect\(…\) as agent"):
        blocking.connect(Agent("x")).new_session  # type: ignore[union-attr]  # noqa: B018
