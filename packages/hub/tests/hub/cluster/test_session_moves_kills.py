"""A node dies while sessions move from one to another: whatever was stored and told stays, and they go on."""

from __future__ import annotations

import asyncio
import os
from collections import Counter

import pytest

from tests.hub.cluster.accidents import LOAD, Trial, answers_to, counting, numbers_by_word, tried
from tests.hub.cluster.together import LEASE, Member, nodes
from tests.hub.sessions.stage import Talker

KILLS = int(os.environ.get("DRAGOMAN_RECOVERY_KILLS", "6"))

TOLD = 30
"""Numbers of each turn."""

MOVE_TICKS = 1000
"""Of the event loop: then the turns have ended, too, and all sessions have moved."""

TRIES = 40
"""A session without a node for the moment refuses its prompts."""

killed: Counter[str] = Counter()


class KilledMove(Trial):
    """A node is drained: an idle session, one with a turn and one that also has a prompt in its queue go to
    others. At some tick of it, that node or another one is killed. The client is at the third.
    """

    async def run(self) -> None:
        agents = {"one": counting}
        async with nodes("a", agents=agents, lease=LEASE) as self.group:
            maker = await self.group["a"].client().begin()
            sessions = [await maker.new() for _ in range(3)]
            for name in "bc":
                self.group.nodes[name] = Member(name, self.group, agents)
                await self.group[name].start()
            client = await self.group["c"].client().begin()
            for session in sessions:
                await self._begin_in(client, session)
            assert [self.group.owner(session) for session in sessions] == ["a", "a", "a"]
            for session, words in zip(sessions, ((), ("busy",), ("busy", "queued")), strict=True):
                for word in words:
                    self._prompt(client, session, word)
            for session in sessions[1:]:
                await client.until(lambda _, of=session: "busy.0 " in client.texts(session=of))  # type: ignore[misc]
            draining = asyncio.create_task(self.group["a"].cluster.drain())
            for _ in range(int(MOVE_TICKS ** self.chance.random())):  # most of a move is at its beginning
                await asyncio.sleep(0)
            told = {session: client.texts(session=session) for session in sessions}
            victim = self.chance.choice("ab")
            moved = sum(session not in self.group["a"].hub.sessions for session in sessions)
            killed[f"{victim}, {moved} moved"] += 1
            await self.group.crash(victim)
            await asyncio.wait((draining,))
            for session in sessions:
                await self._goes_on(client, session)
            await self._settle()
            await self._check()
            for session, texts in told.items():
                assert (await self._stored(session))[: len(texts)] == texts, "it was told, and is gone"
            await self._check_turns()

    async def _begin_in(self, client: Talker, session: str) -> None:
        await client.call("session/load", {"sessionId": session, **LOAD})
        self.heard[session] = [("c", client)]
        self._prompt(client, session, "first")
        await client.answer(self.prompts[-1][3])

    def _prompt(self, client: Talker, session: str, word: str) -> None:
        self.prompts.append(("c", session, client, client.prompt(session, f"{word} {TOLD}"), word))

    async def _goes_on(self, client: Talker, session: str) -> None:
        for number in range(TRIES):
            self._prompt(client, session, f"then{number}")
            if "result" in await client.answer(self.prompts[-1][3]):
                return
        raise AssertionError(f"{session} takes no prompt any more")

    async def _check_turns(self) -> None:
        """A turn that has ended well is stored whole."""
        for _, session, client, request, word in self.prompts:
            (answer,) = answers_to(client, request)
            if "result" in answer and answer["result"]["stopReason"] == "end_turn":
                numbers = numbers_by_word(await self._stored(session))[word]
                assert numbers == list(range(TOLD)), f"{word} in {session}: {numbers}"


@pytest.mark.bound(60 + 10 * KILLS)
@pytest.mark.timeout(120 + 10 * KILLS)
async def test_a_kill_while_sessions_move_loses_nothing() -> None:
    killed.clear()
    await tried(list(range(KILLS)), trial=KilledMove)
    assert sum(killed.values()) == KILLS
    assert KILLS < 100 or {"a, 1 moved", "b, 1 moved"} <= killed.keys(), killed
