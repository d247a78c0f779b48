"""Random accidents among nodes in one process: whatever happens, clients see what the journal has.

A trial is three nodes, some sessions that stream numbers, clients at random nodes, and accidents from a seed:
networks cut, nodes killed and started again, nodes drained. At its end every client that is still connected
has been told exactly what the session's stream has, and every prompt has one answer.
"""

from __future__ import annotations

import asyncio
import random
from contextlib import suppress
from typing import Any

from dragoman import Agent, Turn
from dragoman.errors import LinkClosed
from dragoman.testing.pace import deadline, patience
from tests.hub.cluster.together import LEASE, Group, Member, nodes
from tests.hub.sessions.stage import Talker

LOAD = {"cwd": "/tmp", "mcpServers": []}
SESSIONS = 3
PROMPTS = 4
ACCIDENTS = 4


def counting() -> Agent:
    """Says the numbers up to what it is told, with pauses."""
    agent = Agent("counting")

    @agent.prompt
    async def count(turn: Turn) -> None:
        word, _, most = getattr(turn.prompt[-1], "text", "").partition(" ")
        for number in range(int(most)):
            await turn.say(f"{word}.{number} ")
            await asyncio.sleep(0.002 if number % 7 else 0)

    return agent


class Trial:
    """One run. `heard` are the clients of each session."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.group: Group
        self.heard: dict[str, list[tuple[str, Talker]]] = {}
        self.prompts: list[tuple[str, str, Talker, int, str]] = []  # node, session, client, id, word
        self.log: list[str] = []

    async def run(self) -> None:
        async with nodes("a", "b", "c", agents={"one": counting}, lease=LEASE) as self.group:
            await self._begin()
            accidents = asyncio.create_task(self._accidents())
            try:
                await self._prompt_all()
            finally:
                await accidents
            await self._settle()
            await self._check()

    async def _begin(self) -> None:
        for _ in range(SESSIONS):
            first = await self._client()
            session = await first[1].new()
            self.heard[session] = [first]
            for _ in range(2):
                node, client = await self._client()
                await client.call("session/load", {"sessionId": session, **LOAD})
                self.heard[session].append((node, client))

    async def _client(self) -> tuple[str, Talker]:
        name = self.chance.choice(sorted(self.group.nodes))
        return name, await self.group[name].client().begin()

    async def _prompt_all(self) -> None:
        for number in range(PROMPTS):
            for session, clients in self.heard.items():
                alive = [one for one in clients if not one[1].ended_with]
                if alive:
                    node, client = self.chance.choice(alive)
                    word = f"w{number}"
                    words = f"{word} {self.chance.randint(5, 60)}"
                    with suppress(LinkClosed):  # its node dies at this moment
                        self.prompts.append((node, session, client, client.prompt(session, words), word))
            await asyncio.sleep(self.chance.random() * self.group.lease)

    async def _accidents(self) -> None:
        for _ in range(ACCIDENTS):
            await asyncio.sleep(self.chance.random() * self.group.lease)
            name = self.chance.choice(sorted(self.group.nodes))
            member = self.group[name]
            accident = self.chance.choice(("cut", "cut", "crash", "restart"))
            self.log.append(f"{accident} {name}")
            match accident:
                case "cut":
                    member.network.cut = True
                    await asyncio.sleep(self.chance.choice((0.2, 0.6, 2.5)) * self.group.lease)
                    member.network.cut = False
                case "crash":
                    await member.crash()
                    await asyncio.sleep(self.chance.choice((0.2, 2.5)) * self.group.lease)
                    await self._again(member)
                case "restart":
                    await self._restart(member)

    async def _restart(self, member: Member) -> None:
        """The hub dies, and its agents go on under their hosts until their lease ends."""
        kept = dict(member.kept)
        member.kept.clear()
        await member.crash()
        member.kept.update(kept)
        await self._again(member)

    async def _again(self, member: Member) -> None:
        member.network.cut = False
        await member.start()

    async def _settle(self) -> None:
        """Until every prompt of a client that is still there has its answer."""
        for node, session, client, request, word in self.prompts:
            if not client.ended_with:
                try:
                    async with deadline(20):
                        await client.until(lambda _, one=client, id=request: _has_end(one, id))  # type: ignore[misc]
                except TimeoutError:
                    raise AssertionError(f"no answer for {word} in {session} at {node}") from None

    async def _check(self) -> None:
        for session, clients in self.heard.items():
            for node, client in clients:
                stored, told = await self._caught_up(session, client)
                at = next((n for n, (a, b) in enumerate(zip(told, stored, strict=False)) if a != b), -1)
                near = f"from {at} on it was told {told[at : at + 8]}, stored is {stored[at : at + 8]}"
                assert client.ended_with or told == stored, f"a client of {node} in {session}: {near}"
            stored = await self._stored(session)
            for word, said in numbers_by_word(stored).items():
                assert said == list(range(len(said))), f"{word} was not said in order, or twice: {said}"
        for _, _, client, request, _ in self.prompts:
            if not client.ended_with:
                assert len(answers_to(client, request)) == 1, answers_to(client, request)

    async def _caught_up(self, session: str, client: Talker) -> tuple[list[str], list[str]]:
        """What is stored and what it was told; turns of others may still be going on."""
        loop = asyncio.get_running_loop()
        end = loop.time() + patience(20)
        while True:
            stored, told = await self._stored(session), client.texts(session=session)
            if stored == told or client.ended_with or loop.time() > end:
                return stored, told
            await asyncio.sleep(0.02)

    async def _stored(self, session: str) -> list[str]:
        reader = Talker.__new__(Talker)
        reader.heard = []
        reader.raw = []
        reader._news = asyncio.Event()
        async for page in self.group.journal.replay(session):
            for one in page:
                if one.direction == "to_client":
                    reader.feed(one.frame)
        return reader.texts()


def _has_end(client: Talker, request: int) -> bool:
    return bool(client.ended_with or answers_to(client, request))


def answers_to(client: Talker, request: int) -> list[dict[str, Any]]:
    return [one for one in client.heard if one.get("id") == request and "method" not in one]


def numbers_by_word(texts: list[str]) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for text in texts:
        word, _, number = text.strip().partition(".")
        found.setdefault(word, []).append(int(number))
    return found


async def tried(seeds: list[int], at_once: int = 6, trial: type[Trial] = Trial) -> None:
    """Several trials side by side: they mostly wait for leases."""
    turn = asyncio.Semaphore(at_once)

    async def one(seed: int) -> None:
        async with turn:
            try:
                await trial(seed).run()
            except BaseException as error:
                raise AssertionError(f"seed {seed}: {error!r}") from error

    async with asyncio.TaskGroup() as group:
        for seed in seeds:
            group.create_task(one(seed))
