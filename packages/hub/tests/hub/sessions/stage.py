"""A hub without a network: clients and agents in the same process, a journal in memory, and crashes.

`Stage.crash` lets go of a hub as `kill -9` does: nothing more of it has an effect, and nothing is said to
anybody. Agents of the stage are kept by `Kept`, which promises what the agent host of a real hub promises.
"""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractContextManager, asynccontextmanager, nullcontext
from itertools import count
from typing import Any

import pytest

from dragoman import Agent
from dragoman.errors import LinkClosed
from dragoman.sdk.serve import serving
from dragoman.testing.pace import deadline
from dragoman.transport.contract import Transport
from dragoman.transport.memory import memory_pair
from dragoman_hub.agents.channel import Hears
from dragoman_hub.agents.pool import AgentSpec
from dragoman_hub.engine.options import HubOptions
from dragoman_hub.gate.admission import Grant
from dragoman_hub.hub import Hub
from dragoman_local.journal import Entry, Journal
from dragoman_local.journal.memory import MemoryJournal
from tests.hub.explore.invariants import SessionHistory, facts_of

WITHIN = 20.0
PIDS = count(1)
TEXT = "text"


def text(words: str) -> list[dict[str, Any]]:
    return [{"type": "text", "text": words}]


class Talker:
    """A client that says raw messages and keeps all that it hears."""

    def __init__(self, transport: Transport, **ours: Any) -> None:
        self.transport = transport
        self.heard: list[dict[str, Any]] = []
        self.raw: list[bytes] = []
        self.ended_with: list[BaseException | None] = []
        self._ours = ours
        self._news = asyncio.Event()
        self._id = 0
        transport.start(self)

    def feed(self, block: bytes) -> None:
        for line in block.splitlines():
            self.raw.append(line)
            self.heard.append(json.loads(line))
        self._news.set()

    def on_oversized(self, size: int) -> None:
        raise AssertionError(size)

    def on_end(self, reason: BaseException | None) -> None:
        self.ended_with.append(reason)
        self._news.set()

    def say(self, message: dict[str, Any]) -> None:
        self.transport.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")

    def ask(self, method: str, params: Any = None, **ours: Any) -> int:
        self._id += 1
        params = dict(params or {})
        if ours:
            params["_meta"] = {"dragoman": ours}
        self.say({"id": self._id, "method": method, "params": params})
        return self._id

    async def until(self, found: Callable[[dict[str, Any]], bool], *, after: int = 0) -> dict[str, Any]:
        async with deadline(WITHIN):
            while True:
                for message in self.heard[after:]:
                    if found(message):
                        return message
                self._news.clear()
                await self._news.wait()

    async def until_ended(self) -> None:
        async with deadline(WITHIN):
            while not self.ended_with:
                self._news.clear()
                await self._news.wait()

    async def answer(self, request: int) -> dict[str, Any]:
        return await self.until(lambda one: one.get("id") == request and "method" not in one)

    async def call(self, method: str, params: Any = None, **ours: Any) -> Any:
        answer = await self.answer(self.ask(method, params, **ours))
        if "error" in answer:
            raise AssertionError(answer["error"])
        return answer["result"]

    async def refusal(self, method: str, params: Any = None, **ours: Any) -> dict[str, Any]:
        answer = await self.answer(self.ask(method, params, **ours))
        error: dict[str, Any] = answer["error"]
        return error

    async def begin(self, **capabilities: Any) -> Talker:
        params = {"protocolVersion": 1, "clientCapabilities": capabilities}
        await self.call("initialize", params, **self._ours)
        return self

    async def new(self, cwd: str = "/tmp", **ours: Any) -> str:
        made = await self.call("session/new", {"cwd": cwd, "mcpServers": []}, **ours)
        return str(made["sessionId"])

    def prompt(self, session: str, words: str, **ours: Any) -> int:
        return self.ask("session/prompt", {"sessionId": session, "prompt": text(words)}, **ours)

    async def asked(self, method: str = "session/request_permission", *, after: int = 0) -> dict[str, Any]:
        return await self.until(lambda one: one.get("method") == method and "id" in one, after=after)

    def allow(self, request: dict[str, Any], option: str = "allow") -> None:
        outcome = {"outcome": {"outcome": "selected", "optionId": option}}
        self.say({"id": request["id"], "result": outcome})

    def texts(self, kind: str = "agent_message_chunk", *, session: str = "") -> list[str]:
        return [
            one["params"]["update"]["content"]["text"]
            for one in self.heard
            if one.get("method") == "session/update"
            and one["params"]["update"]["sessionUpdate"] == kind
            and session in ("", one["params"]["sessionId"])
        ]

    def events(self, name: str = "") -> list[dict[str, Any]]:
        found = [one["params"] for one in self.heard if one.get("method") == "_dragoman/hub/event"]
        return [one for one in found if name in ("", one["event"])]


class Kept:
    """One agent, as a host holds it: it goes on when the hub does not, and nothing is lost or doubled."""

    def __init__(self, agent: Agent) -> None:
        self.taken_numbers: dict[str, int] = {}
        self.pid = next(PIDS)
        self.frames: list[bytes] = []
        self.acknowledged = 0
        self.lives = True
        self.current: Held | None = None
        ours, theirs = memory_pair()
        self._transport = ours
        self._serving = serving(agent, theirs)
        self._entered = asyncio.get_running_loop().create_task(self._serving.__aenter__())
        ours.start(self)

    def feed(self, block: bytes) -> None:
        self.frames += block.splitlines()
        if self.current is not None:
            self.current.flow()

    def on_oversized(self, size: int) -> None:
        raise AssertionError(size)

    def on_end(self, reason: BaseException | None) -> None:
        self.lives = False
        if self.current is not None:
            self.current.flow()

    def write(self, block: bytes, stream: str, last: int) -> None:
        if stream and last <= self.taken_numbers.get(stream, 0):
            return
        if stream:
            self.taken_numbers[stream] = last
        self._transport.write(block)

    async def aclose(self) -> None:
        await self._transport.aclose()
        await self._entered
        await self._serving.__aexit__(None, None, None)


class Held:
    """One hub's hold on a kept agent; of no effect once another hub has it."""

    def __init__(self, kept: Kept) -> None:
        self.kept = kept
        self.pid = kept.pid
        self.pending = 0
        self.burst: AbstractContextManager[None] = nullcontext()
        self._sink: Hears | None = None
        self._given = kept.acknowledged
        self._paused = False
        kept.current = self

    @property
    def taken_numbers(self) -> dict[str, int]:
        return self.kept.taken_numbers

    def start(self, sink: Hears, /) -> None:
        self._sink = sink
        asyncio.get_running_loop().call_soon(self.flow)

    def flow(self) -> None:
        if self._sink is None or self.kept.current is not self or self._paused:
            return
        while self._given < len(self.kept.frames) and not self._paused:
            first = self._given + 1
            frames = self.kept.frames[self._given :]
            self._given += len(frames)
            self._sink.feed(first, b"".join(frame + b"\n" for frame in frames))
        if not self.kept.lives and self._sink is not None:
            sink, self._sink = self._sink, None
            sink.on_end("it is gone", 1)

    def write(self, block: bytes, *, stream: str = "", last: int = 0) -> None:
        if self.kept.current is self:
            self.kept.write(block, stream, last)

    async def wait_until_taken(self, stream: str, last: int) -> None:
        if self.taken_numbers.get(stream, 0) < last:  # a write is taken at once
            raise LinkClosed("the hub has left the agent")

    def forget(self, stream: str) -> None:
        if self.kept.current is self:
            self.kept.taken_numbers.pop(stream, None)

    def acknowledge(self, number: int) -> None:
        if self.kept.current is self:
            self.kept.acknowledged = max(self.kept.acknowledged, number)

    def lease(self, seconds: float, *, since: float | None = None) -> None:
        pass  # nobody stops these

    def pause(self) -> None:
        self._paused = True

    def resume(self) -> None:
        self._paused = False
        asyncio.get_running_loop().call_soon(self.flow)

    async def drain(self) -> None:
        pass

    async def leave(self) -> None:
        if self.kept.current is self:
            self.kept.current = None

    async def aclose(self) -> None:
        await self.kept.aclose()


def _nothing(block: bytes) -> None:
    """What a hub that is gone says and hears."""


class Slow(MemoryJournal):
    """A journal that takes its time before and after a commit, so that a crash can come in between."""

    def __init__(self, chance: random.Random, most: int) -> None:
        super().__init__()
        self._chance = chance
        self._most = most

    async def append(self, stream: str, entries: Sequence[Entry], *, after: int | None = None) -> int:
        await self._dawdle()
        last = await super().append(stream, entries, after=after)
        await self._dawdle()
        return last

    async def _dawdle(self) -> None:
        for _ in range(self._chance.randint(0, self._most)):
            await asyncio.sleep(0)


class Stage:
    """Agents and a journal that stay, and a hub that may be replaced."""

    def __init__(
        self,
        agents: dict[str, Callable[[], Agent]],
        options: HubOptions,
        *,
        keeps: bool,
        journal: Journal | None = None,
    ) -> None:
        self.journal: Journal = journal or MemoryJournal()
        self.kept: dict[str, Kept] = {}
        self.options = options
        self.hub: Hub
        self._agents = agents
        self._keeps = keeps
        self._all: list[Kept] = []
        self._remembered: dict[str, dict[str, Any]] = {}

    async def start(self) -> None:
        specs = {name: self._spec(name) for name in self._agents}
        self.hub = Hub(self.journal, specs, options=self.options, remember=self._remember)
        await self.hub.__aenter__()

    async def crash(self) -> None:
        """The hub is gone from one moment to the next."""
        hub = self.hub
        for kept in self.kept.values():
            kept.current = None
        for client in hub.clients:
            client.send = client.tell = client.feed = _nothing  # type: ignore[method-assign]
        hub.draining = True
        for session in list(hub.sessions.values()):
            await session.aclose()
        for client in list(hub.clients):
            await client.aclose()
        await hub.owner.aclose()
        if hub.pool._owner is not None:
            await hub.pool._owner.aclose()
        await hub.broker.aclose()

    def client(self, grant: Grant | None = None, **ours: Any) -> Talker:
        here, there = memory_pair()
        talker = Talker(here, **ours)
        self.hub.accept(there, grant or Grant("owner"))
        return talker

    async def end_agent(self, name: str) -> None:
        await self.kept.pop(name).aclose()

    async def aclose(self) -> None:
        await self.hub.aclose()
        for kept in self._all:
            await kept.aclose()
        await self.check_promises()

    async def check_promises(self) -> None:
        """What a hub has left in its journal keeps the promises about prompts and requests."""
        for info in (await self.journal.list(limit=1000)).streams:
            history = SessionHistory()
            async for page in self.journal.replay(info.stream):
                facts = facts_of(info.stream, ((stored.direction, stored.frame) for stored in page))
                # Which updates an agent has sent, only its own test knows.
                history = history.on_stored(fact for fact in facts if fact[0] != "update")

    def _spec(self, name: str) -> AgentSpec:
        async def open_() -> Held:
            kept = Kept(self._agents[name]())
            self._all.append(kept)
            self.kept[name] = kept
            return Held(kept)

        async def adopt() -> Held | None:
            kept = self.kept.get(name)
            return Held(kept) if kept is not None and kept.lives else None

        return AgentSpec(name=name, open=open_, adopt=adopt if self._keeps else None)

    def _remember(self, name: str, answer: dict[str, Any] | None) -> dict[str, Any]:
        if answer is not None:
            self._remembered[name] = answer
        return self._remembered.get(name, {})


@asynccontextmanager
async def staged(
    agents: dict[str, Callable[[], Agent]],
    *,
    keeps: bool = True,
    journal: Journal | None = None,
    **options: Any,
) -> AsyncIterator[Stage]:
    """The first agent is the default one."""
    chosen = HubOptions(default_agent=next(iter(agents)), **options)
    stage = Stage(agents, chosen, keeps=keeps, journal=journal)
    await stage.start()
    try:
        yield stage
    finally:
        await stage.aclose()


def read_late(journal: Journal, patch: pytest.MonkeyPatch, meanwhile: Callable[[], None]) -> None:
    """From here on the journal takes a while to read a stream, and `meanwhile` happens."""
    replay = journal.replay

    async def read(_: object, *args: Any, **options: Any) -> AsyncIterator[Any]:
        meanwhile()
        for _ in range(200):
            await asyncio.sleep(0)
        async for page in replay(*args, **options):
            yield page

    patch.setattr(type(journal), "replay", read)
