"""A prompt, a new session and a fork that are sent again with their key are carried out once, however much
later they come."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from dragoman import Agent
from dragoman.errors import JournalError
from dragoman.schema.v1 import ForkSessionRequest, ForkSessionResponse, NewSessionRequest, NewSessionResponse
from dragoman.testing.pace import patience
from dragoman.transport.contract import Transport
from dragoman_hub.api.endpoint import AcpEndpoint, Visit
from dragoman_hub.api.listener import open_listener, open_socket
from dragoman_hub.engine import checkpoints
from dragoman_hub.gate.admission import Admission, Grant, hash_token, local_hosts, new_token
from dragoman_hub.nats import open_nats
from dragoman_hub.session.state import ANSWERS
from dragoman_local.contracts.journals import keyed_turn
from dragoman_local.journal import Entry, Journal, KeyEntries, MemoryJournal, open_journal, open_sealed
from tests.forks import DRAGOMAN
from tests.hub.cluster.together import nodes
from tests.hub.sessions.agents import Gate, obedient
from tests.hub.sessions.stage import Stage, Talker, staged
from tests.nats_servers import Servers, started

pytestmark = pytest.mark.bound(40)

MANY = 66
"""Turns of others between a prompt and its retry; older hubs forgot a key after 64."""

ENDED = {"stopReason": "end_turn"}
FORK = {"cwd": "/tmp", "mcpServers": []}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Servers]:
    with started(tmp_path_factory.mktemp("nats")) as running:
        yield running


@asynccontextmanager
async def on_nats(servers: Servers) -> AsyncIterator[Journal]:
    async with open_nats(f"{servers.url}/keys{os.urandom(4).hex()}?shards=1") as place:
        yield place.journal


@pytest.fixture(params=["memory", "sqlite", "sealed", "nats"])
def opened(request: pytest.FixtureRequest, tmp_path: Path) -> AbstractAsyncContextManager[Journal]:
    """Every kind of journal."""
    match request.param:
        case "memory":
            return MemoryJournal()
        case "sqlite":
            return open_journal(tmp_path / "j.db", durability="off")
        case "sealed":
            return open_sealed(tmp_path / "j.db", b"k" * 32, durability="off")
    return on_nats(request.getfixturevalue("server"))


async def ask_again(client: Talker, session: str, key: str, words: str = "say 1") -> dict[str, Any]:
    """The answer to a prompt that may have been carried out before."""
    answer = await client.answer(client.prompt(session, words, key=key))
    result: dict[str, Any] = answer["result"]
    return result


async def add_turns(stage: Stage, session: str, count: int) -> None:
    """As another hub would have stored them, while none has the session open."""
    turns = [entry for number in range(count) for entry in keyed_turn(f"other-{number}")]
    for first in range(0, len(turns), 1000):
        await stage.journal.append(session, turns[first : first + 1000])


@pytest.mark.in_turn("opened")
async def test_a_prompt_is_known_after_many_turns_and_a_restart(
    opened: AbstractAsyncContextManager[Journal],
) -> None:
    gate = Gate()
    async with opened as journal, staged({"one": lambda: obedient(gate)}, journal=journal) as stage:
        client, other = await stage.client().begin(), await stage.client().begin()
        session = await client.new()
        assert await ask_again(client, session, "first") == ENDED
        for number in range(MANY):
            other.prompt(session, "say 0", key=f"key-{number}")
            await other.until(lambda one: one.get("id") == other._id and "method" not in one)
        assert len(gate.prompts) == MANY + 1
        assert await ask_again(client, session, "first") == ENDED
        assert await ask_again(other, session, "first", "another text") == ENDED
        await stage.crash()
        await add_turns(stage, session, 1000)
        await stage.start()
        client = await stage.client().begin()
        await client.call("session/resume", {"sessionId": session, **FORK})
        assert await ask_again(client, session, "first") == ENDED
        assert await ask_again(client, session, f"key-{MANY // 2}") == ENDED
        assert await ask_again(client, session, "other-500") == ENDED
        assert len(gate.prompts) == MANY + 1, "a prompt was carried out again"
        assert await ask_again(client, session, "fresh") == ENDED
        assert len(gate.prompts) == MANY + 2


async def test_a_key_is_known_in_its_own_session_alone() -> None:
    gate = Gate()
    async with staged({"one": lambda: obedient(gate)}) as stage:
        client = await stage.client().begin()
        for session in (await client.new(), await client.new()):
            assert await ask_again(client, session, "k") == ENDED
        assert len(gate.prompts) == 2


async def test_an_error_is_the_answer_of_a_retry_too() -> None:
    gate = Gate()
    async with staged({"one": lambda: obedient(gate)}) as stage:
        client = await stage.client().begin()
        session = await client.new()
        first = (await client.answer(client.prompt(session, "say what", key="k")))["error"]
        for number in range(ANSWERS + 1):
            await ask_again(client, session, f"key-{number}", "say 0")
        assert (await client.answer(client.prompt(session, "say what", key="k")))["error"] == first
        assert gate.prompts.count("say what") == 1


async def test_a_prompt_is_known_to_a_node_that_begins_with_a_checkpoint(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(checkpoints, "EVERY", 20)
    monkeypatch.setattr(checkpoints, "SPANS", (60, 600))
    gate = Gate()
    async with nodes("a", "b", agents={"one": lambda: obedient(gate)}, lease=patience(0.5)) as group:
        client = await group["a"].client().begin()
        session = await client.new()
        assert await ask_again(client, session, "first") == ENDED
        for number in range(MANY):
            await ask_again(client, session, f"key-{number}", "say 0")
        await group.crash(group.owner(session))
        left = next(iter(group.nodes.values()))
        client = await left.client().begin()
        await client.call("session/resume", {"sessionId": session, **FORK})
        assert left.hub.sessions[session].checkpoint_at > 0
        assert await ask_again(client, session, "first") == ENDED
        assert len(gate.prompts) == MANY + 1


@pytest.mark.parametrize("key", ["k", "sk-ant-api03-" + "x1Y2" * 10])
async def test_a_prompt_of_a_short_session_is_known_after_a_restart(tmp_path: Path, key: str) -> None:
    gate = Gate()
    opened = open_journal(tmp_path / "j.db", durability="off")
    async with opened as journal, staged({"one": lambda: obedient(gate)}, journal=journal) as stage:
        client = await stage.client().begin()
        session = await client.new()
        assert await ask_again(client, session, key) == ENDED
        await stage.crash()
        await stage.start()
        client = await stage.client().begin()
        await client.call("session/resume", {"sessionId": session, **FORK})
        assert await ask_again(client, session, key) == ENDED
        assert len(gate.prompts) == 1


async def test_little_is_remembered_of_a_session_with_many_turns() -> None:
    async with staged({"one": obedient}) as stage:
        client = await stage.client().begin()
        session = await client.new()
        for number in range(ANSWERS * 2):
            await ask_again(client, session, f"key-{number}", "say 0")
        assert await ask_again(client, session, "key-0") == ENDED
        assert len(stage.hub.sessions[session].state.answers) == ANSWERS


# While a key is looked up.


class SlowLookup(MemoryJournal):
    """Its lookups wait until they are let through; some fail."""

    def __init__(self) -> None:
        super().__init__()
        self.begun = asyncio.Event()
        self.go_on = asyncio.Event()
        self.lookups: list[str] = []
        self.failures = 0

    async def find_key(self, stream: str, key: str) -> KeyEntries | None:
        self.lookups.append(key)
        self.begun.set()
        await self.go_on.wait()
        if self.failures:
            self.failures -= 1
            raise JournalError("the disk is gone")
        return await super().find_key(stream, key)


async def long_session(stage: Stage, client: Talker) -> str:
    """A session that does not have all its answers at hand."""
    session = await client.new()
    live = stage.hub.sessions[session]
    live._state = replace(live.state, has_old_answers=True)
    return session


async def test_retries_during_one_lookup_meet() -> None:
    gate, journal = Gate(), SlowLookup()
    async with staged({"one": lambda: obedient(gate)}, journal=journal) as stage:
        client, other = await stage.client().begin(), await stage.client().begin()
        session = await long_session(stage, client)
        first = client.prompt(session, "say 1", key="k")
        await journal.begun.wait()
        await other.call("session/resume", {"sessionId": session, **FORK})
        second, third = client.prompt(session, "say 1", key="k"), other.prompt(session, "say 1", key="k")
        await other.call("_dragoman/hub/sessions")  # behind the prompt
        journal.go_on.set()
        assert (await other.answer(third))["result"] == (await client.answer(second))["result"] == ENDED
        assert gate.prompts == ["say 1"]
        assert journal.lookups == ["k"]
        assert (await client.answer(first))["result"] == ENDED, (
            "each request has one answer, also of one client"
        )
        answers = [
            one["id"] for one in client.heard if "method" not in one and one.get("id") in (first, second)
        ]
        assert sorted(answers) == [first, second]


async def test_prompts_keep_their_order_though_one_is_looked_up() -> None:
    gate, journal = Gate(), SlowLookup()
    async with staged({"one": lambda: obedient(gate)}, journal=journal) as stage:
        client = await stage.client().begin()
        session = await long_session(stage, client)
        prompts = [client.prompt(session, "say 1", key="k"), client.prompt(session, "say 2")]
        await journal.begun.wait()
        prompts.append(client.prompt(session, "say 3", key="l"))
        journal.go_on.set()
        for prompt in prompts:
            assert (await client.answer(prompt))["result"] == ENDED
        assert gate.prompts == ["say 1", "say 2", "say 3"]


async def test_a_prompt_that_is_cancelled_while_its_key_is_looked_up_is_not_carried_out() -> None:
    gate, journal = Gate(), SlowLookup()
    async with staged({"one": lambda: obedient(gate)}, journal=journal) as stage:
        client = await stage.client().begin()
        session = await long_session(stage, client)
        prompt = client.prompt(session, "say 1", key="k")
        client.say({"method": "session/cancel", "params": {"sessionId": session}})
        await journal.begun.wait()
        await client.call("_dragoman/hub/sessions")  # behind the cancel
        journal.go_on.set()
        assert (await client.answer(prompt))["result"] == {"stopReason": "cancelled"}
        assert await ask_again(client, session, "k") == {"stopReason": "cancelled"}
        assert gate.prompts == []


async def test_a_prompt_whose_key_cannot_be_looked_up_is_refused_and_may_come_again() -> None:
    gate, journal = Gate(), SlowLookup()
    async with staged({"one": lambda: obedient(gate)}, journal=journal) as stage:
        client = await stage.client().begin()
        session = await long_session(stage, client)
        journal.failures = 1
        journal.go_on.set()
        refused = (await client.answer(client.prompt(session, "say 1", key="k")))["error"]
        assert "the journal cannot be read" in refused["message"]
        assert gate.prompts == []
        assert await ask_again(client, session, "k") == ENDED
        assert gate.prompts == ["say 1"]


async def test_a_session_that_is_closed_while_a_key_is_looked_up_answers_the_prompt() -> None:
    gate, journal = Gate(), SlowLookup()
    async with staged({"one": lambda: obedient(gate)}, journal=journal) as stage:
        client, other = await stage.client().begin(), await stage.client().begin()
        session = await long_session(stage, client)
        prompt = client.prompt(session, "wait", key="k")
        await journal.begun.wait()
        closing = other.ask("session/close", {"sessionId": session})
        await other.call("_dragoman/hub/sessions")
        journal.go_on.set()
        assert "the session is being closed" in (await client.answer(prompt))["error"]["message"]
        assert (await other.answer(closing))["result"] == {}
        assert gate.prompts == []


async def test_a_key_that_cannot_be_kept_is_refused() -> None:
    async with staged({"one": obedient}) as stage:
        client = await stage.client().begin()
        session = await long_session(stage, client)
        for key in ("k" * 129, 17, ["k"]):
            prompt = {"sessionId": session, "prompt": []}
            for method, params in (("session/prompt", prompt), ("session/new", FORK)):
                refused = await client.refusal(method, params, key=key)
                assert (refused["code"], "128 characters" in refused["message"]) == (-32602, True)


# Sessions.


class SlowMaking:
    """An agent that makes and forks sessions when it is let, and counts them."""

    def __init__(self) -> None:
        self.begun = asyncio.Event()
        self.go_on = asyncio.Event()
        self.made = 0

    def agent(self) -> Agent:
        agent = obedient()

        @agent.new_session
        async def new(request: NewSessionRequest) -> NewSessionResponse:
            return NewSessionResponse(session_id=await self._make())

        @agent.fork_session
        async def fork(request: ForkSessionRequest) -> ForkSessionResponse:
            return ForkSessionResponse(session_id=await self._make())

        return agent

    async def _make(self) -> str:
        self.made += 1
        self.begun.set()
        await self.go_on.wait()
        return os.urandom(8).hex()


@pytest.mark.parametrize("method", ["session/new", "session/fork"])
async def test_a_session_is_made_once_though_its_client_is_cut_meanwhile(method: str) -> None:
    maker = SlowMaking()
    async with staged({"one": maker.agent}) as stage:
        client = await stage.client().begin()
        params: dict[str, Any] = dict(FORK)
        if method == "session/fork":
            maker.go_on.set()
            params["sessionId"] = await client.new()
            maker.go_on.clear()
        before, maker.made = len(stage.hub.sessions), 0
        maker.begun.clear()
        client.ask(method, params, key="k")
        await maker.begun.wait()
        await client.transport.aclose()
        other = await stage.client().begin()
        again = other.ask(method, params, key="k")
        await other.call("_dragoman/hub/sessions")
        maker.go_on.set()
        session = (await other.answer(again))["result"]["sessionId"]
        assert (await other.call(method, params, key="k"))["sessionId"] == session
        assert maker.made == 1
        assert len(stage.hub.sessions) == before + 1


async def test_a_session_is_known_by_its_key_after_a_restart(
    opened: AbstractAsyncContextManager[Journal],
) -> None:
    async with opened as journal, staged({"one": obedient}, journal=journal) as stage:
        client = await stage.client().begin()
        made = await client.new(key="new")
        await client.answer(client.prompt(made, "say 1", key="k"))
        forked = (await client.call("session/fork", {"sessionId": made, **FORK}, key="fork"))["sessionId"]
        assert len({made, forked}) == 2
        await stage.crash()
        await stage.start()
        client = await stage.client().begin()
        assert await client.new(key="new") == made
        again = await client.call("session/fork", {"sessionId": made, **FORK}, key="fork")
        assert again["sessionId"] == forked
        await client.call("session/delete", {"sessionId": made})
        assert await client.new(key="new") != made


class BrokenCopy(MemoryJournal):
    """Refuses the last entry of a fork, once."""

    is_broken = True

    async def append(self, stream: str, entries: Any, *, after: int | None = None) -> int:
        given = [Entry(one.direction, one.frame, one.time, one.pending) for one in entries]
        if self.is_broken and any(b'"forked"' in entry.frame for entry in given):
            self.is_broken = False
            raise JournalError("the disk is gone")
        return await super().append(stream, given, after=after)


async def test_a_fork_that_was_broken_off_is_not_found_by_its_key() -> None:
    async with staged({"one": obedient}, journal=BrokenCopy()) as stage:
        client = await stage.client().begin()
        session = await client.new()
        await client.answer(client.prompt(session, "say 3"))
        await client.refusal("session/fork", {"sessionId": session, **FORK}, key="f")
        forked = await client.call("session/fork", {"sessionId": session, **FORK}, key="f")
        reader = await stage.client().begin()
        await reader.call("session/load", {"sessionId": forked["sessionId"], **FORK})
        assert reader.texts() == ["0 ", "1 ", "2 "]


# `dragoman connect`.


class Door:
    """Lets connections through to the hub, cuts them, and lets none through while it is shut."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._open: list[Transport] = []
        self._tasks: list[asyncio.Task[None]] = []
        self.is_shut = False

    def accept(self, transport: Transport, visit: Visit) -> None:
        if self.is_shut:
            self._tasks.append(asyncio.get_running_loop().create_task(transport.aclose()))
            return
        self._open.append(transport)
        self._stage.hub.accept(transport, visit.grant)

    async def shut(self) -> None:
        self.is_shut = True
        for transport in self._open:
            await transport.aclose()

    async def aclose(self) -> None:
        await asyncio.gather(*self._tasks)


@asynccontextmanager
async def connect_process(door: Door) -> AsyncIterator[asyncio.subprocess.Process]:
    bound = open_socket("127.0.0.1", 0, tls=None, insecure=False)
    port, token = bound.getsockname()[1], new_token()
    admission = Admission({hash_token(token): Grant("one")}, hosts=local_hosts(port))
    words = [*DRAGOMAN, "connect", f"ws://127.0.0.1:{port}/acp"]
    pipe = asyncio.subprocess.PIPE
    async with open_listener(AcpEndpoint(admission, door.accept), bound):
        process = await asyncio.create_subprocess_exec(
            *words, stdin=pipe, stdout=pipe, stderr=pipe, env={**os.environ, "DRAGOMAN_TOKEN": token}
        )
        try:
            yield process
        finally:
            if process.returncode is None:
                process.kill()
            await process.communicate()
            await door.shut()
            await door.aclose()


async def test_connect_that_was_cut_during_a_turn_gets_its_answer_after_many_turns_of_others() -> None:
    gate = Gate()
    async with staged({"one": lambda: obedient(gate)}) as stage:
        door = Door(stage)
        async with connect_process(door) as process:
            stdin, stdout = process.stdin, process.stdout
            assert stdin is not None
            assert stdout is not None

            async def ask(number: int, method: str, **params: Any) -> None:
                message = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
                stdin.write(json.dumps(message).encode() + b"\n")

            async def answer(number: int) -> dict[str, Any]:
                while True:
                    message: dict[str, Any] = json.loads(await stdout.readline())
                    if message.get("id") == number and "method" not in message:
                        return message

            await ask(1, "initialize", protocolVersion=1, clientCapabilities={})
            await answer(1)
            await ask(2, "session/new", **FORK)
            session = (await answer(2))["result"]["sessionId"]
            await ask(3, "session/prompt", sessionId=session, prompt=[{"type": "text", "text": "wait"}])
            await gate.waiting.wait()
            await door.shut()
            gate.open.set()
            other = await stage.client().begin()
            await other.call("session/resume", {"sessionId": session, **FORK})
            for number in range(MANY):
                await ask_again(other, session, f"key-{number}", "say 0")
            door.is_shut = False
            assert (await answer(3))["result"] == ENDED
            assert await ask_again(other, session, "last", "say 0") == ENDED
            assert gate.prompts.count("wait") == 1
