"""Clients of different dialects in one session: leaving, being unable to ask, answering for everybody."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import pytest

from tests.hub.company.house import House, WireSocket, listening_house, open_house
from tests.hub.company.members import (
    ELICITATION,
    MEMBERS,
    PERMISSION,
    AcpexMember,
    CrowMember,
    HavenMember,
    Inbox,
    KoogMember,
    LegacyMember,
    Member,
    PlainMember,
    SecondMember,
    ThreadsMember,
)

KINDS = (PERMISSION, ELICITATION)
EACH = pytest.mark.parametrize("dialect", MEMBERS, ids=lambda kind: kind.dialect)
ALLOWED: dict[str, Any] = {
    PERMISSION: {"outcome": {"outcome": "selected", "optionId": "once"}},
    ELICITATION: {"action": "accept", "content": {"word": "once"}},
}


class Room:
    """One session with a turn that runs."""

    def __init__(self, house: House) -> None:
        self.house = house
        self.members: list[Member] = []
        self.session = self._agents = ""
        self._words = 0

    async def join(self, member: Member) -> None:
        await member.join(self.session)
        self.members.append(member)
        if not self.session:
            self.session, self._agents = member.session, self.house.agent.session
            member.prompt()
            await self.house.until(lambda: self._agents in self.house.agent.prompts, "the prompt")

    def ask(self, number: int, kind: str) -> None:
        self.house.agent.ask(self._agents, number, kind)

    async def gather(self) -> None:
        """Everybody who is there has heard everything that was said."""
        self._words += 1
        self.house.agent.say(self._agents, f"word-{self._words}.")
        for member in self.members:
            await self.house.until(partial(self._has_heard, member), f"{member.dialect}: the word")

    def _has_heard(self, member: Member) -> bool:
        return member.words[-1:] == [self._words]

    async def answered(self, number: int) -> Any:
        """What the agent was answered, which is one thing."""
        answers = self.house.agent.answers[number]
        await self.house.until(lambda: answers, f"an answer to {number}")
        await self.gather()
        ((_, result),) = answers
        return result

    async def leave(self, member: Member, code: int = 1000) -> None:
        self.members.remove(member)
        await member.socket.leave(code=code)


@asynccontextmanager
async def room(house: House, *kinds: type[Member]) -> AsyncIterator[Room]:
    made = Room(house)
    for kind in kinds:
        await made.join(kind(house))
    yield made
    for member in list(made.members):
        await made.leave(member)


async def until_asked(room: Room, member: Member, number: int, kind: str) -> None:
    if kind in member.can_ask:
        await room.house.until(
            lambda: number in member.seen and member.seen[number].asked, f"{member.dialect} is asked"
        )
    else:
        await room.gather()


@EACH
@pytest.mark.bound(20)
async def test_a_client_that_leaves_has_said_nothing(dialect: type[Member], tmp_path: Path) -> None:
    """However it leaves, and whatever it was asked, also about its own turn."""
    number = 0
    async with open_house(tmp_path) as house:
        for kind in KINDS:
            for way in ("close", "cut", "cut with an answer on its way"):
                number += 1
                async with room(house, dialect, PlainMember) as session:
                    leaver, witness = session.members
                    session.ask(number, kind)
                    await until_asked(session, leaver, number, kind)
                    if way.endswith("way") and kind in leaver.can_ask:
                        leaver.answer(number, "never")
                    await session.leave(leaver, code=1000 if way == "close" else 1006)
                    await session.gather()
                    assert house.agent.answers[number] == [], (way, kind)
                    assert witness.seen[number].ended == 0, (way, kind)
                    witness.answer(number, "once")
                    assert await session.answered(number) == ALLOWED[kind], (way, kind)


@EACH
@pytest.mark.bound(20)
async def test_a_client_that_breaks_off_in_the_middle_of_its_answer_has_said_nothing(
    dialect: type[Member], tmp_path: Path
) -> None:
    async with listening_house(tmp_path) as house, room(house, PlainMember) as session:
        (witness,) = session.members
        for number, kind in enumerate(KINDS, 1):
            leaver = dialect(house, connect=WireSocket)
            await session.join(leaver)
            session.ask(number, kind)
            await until_asked(session, leaver, number, kind)
            session.members.remove(leaver)
            can_answer = kind in leaver.can_ask
            half = leaver.answer_frame(number, "never") if can_answer else {"method": "session/cancel"}
            await leaver.socket.break_off({"jsonrpc": "2.0", **half})
            await session.gather()
            assert house.agent.answers[number] == []
            witness.answer(number, "once")
            assert await session.answered(number) == ALLOWED[kind]


@EACH
@pytest.mark.bound(20)
async def test_one_answers_for_all_and_each_hears_it_in_its_own_words(
    dialect: type[Member], tmp_path: Path
) -> None:
    async with open_house(tmp_path) as house, room(house, dialect, *MEMBERS) as session:
        first = session.members[0]
        for number, kind in enumerate(KINDS, 1):
            session.ask(number, kind)
            await session.gather()
            able = [one for one in session.members if kind in one.can_ask]
            answering = first if first in able else able[0]
            assert all(one.seen[number].asked == 1 for one in able)
            answering.answer(number, "once")
            assert await session.answered(number) == ALLOWED[kind]
            for one in session.members:
                seen = one.question(number)
                is_told = one.hears_notices and kind == PERMISSION
                assert seen.asked == int(one in able), one.dialect
                assert seen.notices == int(is_told and one not in able), one.dialect
                assert seen.ended == int(one in able and one is not answering), one.dialect
            for one in able:
                one.answer(number, "never")  # too late, and nobody minds
            await session.gather()
            assert not any(one.socket.is_closed_by_hub for one in session.members)
            assert len(house.agent.answers[number]) == 1


@EACH
@pytest.mark.bound(20)
async def test_what_nobody_in_the_session_can_ask_waits_in_the_inbox(
    dialect: type[Member], tmp_path: Path
) -> None:
    async with open_house(tmp_path) as house, room(house, dialect) as session:
        (alone,) = session.members
        inbox = Inbox(house)
        await inbox.open()
        for number, kind in enumerate(KINDS, 1):
            session.ask(number, kind)
            await session.gather()
            assert alone.question(number).asked == int(kind in alone.can_ask)
            assert await inbox.open_questions() == [number]
            inbox.answer(session.session, number, "once", None, lambda settled: None, kind=kind)
            assert await session.answered(number) == ALLOWED[kind]
            assert alone.question(number).ended == int(kind in alone.can_ask)
        await inbox.socket.leave()


@pytest.mark.in_turn("how")
@pytest.mark.parametrize("how", ["unknown", "error", "wrong"])
@EACH
@pytest.mark.bound(20)
async def test_whoever_gives_no_answer_decides_nothing(
    dialect: type[Member], how: str, tmp_path: Path
) -> None:
    async with open_house(tmp_path) as house, room(house, dialect, PlainMember) as session:
        odd, witness = session.members
        for number, kind in enumerate(KINDS, 1):
            session.ask(number, kind)
            await session.gather()
            if kind in odd.can_ask:
                odd.give_no_answer(number, how)
            await session.gather()
            assert house.agent.answers[number] == []
            witness.answer(number, "once")
            assert await session.answered(number) == ALLOWED[kind]
        session.ask(3, PERMISSION)
        await session.gather()
        asks_again = PERMISSION in odd.can_ask and (how != "unknown" or isinstance(odd, CrowMember))
        assert odd.question(3).asked == int(asks_again), "who does not know the question is not asked again"


@EACH
@pytest.mark.bound(20)
async def test_whoever_comes_late_is_asked_what_is_open_and_nothing_else(
    dialect: type[Member], tmp_path: Path
) -> None:
    async with open_house(tmp_path) as house, room(house, PlainMember) as session:
        (witness,) = session.members
        for number in (1, 2):
            session.ask(number, PERMISSION)
        await session.gather()
        witness.answer(1, "once")
        await session.answered(1)
        late = dialect(house)
        await session.join(late)
        await session.gather()
        assert late.question(1).asked == late.question(1).ended == 0
        assert late.question(2).asked == int(PERMISSION in late.can_ask)
        assert late.question(2).notices == int(late.hears_notices)


@pytest.mark.parametrize("dialect", [PlainMember, HavenMember, KoogMember], ids=lambda kind: kind.dialect)
async def test_an_answer_that_the_protocol_demands_of_whoever_cancels_decides_nothing(
    dialect: type[Member], tmp_path: Path
) -> None:
    """A client that cancels answers what it is asked with `cancelled`, also where it cancels in the queue."""
    async with open_house(tmp_path) as house, room(house, PlainMember, dialect) as session:
        running, queued = session.members
        session.ask(1, PERMISSION)
        await session.gather()
        queued.prompt()
        queued.cancel(None)
        queued.answer(1, "cancelled")
        await house.until(lambda: queued.seen[1].asked == 2, "the person is asked again")
        assert house.agent.answers[1] == []
        queued.answer(1, "once")
        assert await session.answered(1) == ALLOWED[PERMISSION]
        assert (running.seen[1].ended, queued.seen[1].ended) == (1, 0)


async def test_everybody_hears_that_a_question_has_expired(tmp_path: Path) -> None:
    async with open_house(tmp_path, expire=0.3) as house, room(house, *MEMBERS) as session:
        for number, kind in enumerate(KINDS, 1):
            session.ask(number, kind)
            rejected = {"outcome": {"outcome": "selected", "optionId": "no"}}
            assert await session.answered(number) == (
                rejected if kind == PERMISSION else {"action": "decline"}
            )
            for one in session.members:
                seen = one.question(number)
                assert seen.asked == seen.ended == int(kind in one.can_ask), one.dialect


@pytest.mark.parametrize("dialect", [PlainMember, SecondMember, CrowMember], ids=lambda kind: kind.dialect)
async def test_a_cancel_is_not_an_answer_to_questions_of_another_turn(
    dialect: type[Member], tmp_path: Path
) -> None:
    """Whoever cancels a prompt that waits in the queue has not answered what the running turn asks."""
    async with open_house(tmp_path) as house, room(house, PlainMember, dialect) as session:
        running, queued = session.members
        session.ask(1, PERMISSION)
        await session.gather()
        queued.prompt()
        queued.cancel(None)
        await session.gather()
        assert house.agent.answers[1] == []
        running.answer(1, "once")
        assert await session.answered(1) == ALLOWED[PERMISSION]
        assert queued.seen[1].ended == 1


async def test_a_client_that_opens_its_session_again_has_one_open_question_of_each(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house, room(house, PlainMember) as session:
        (client,) = session.members
        session.ask(1, PERMISSION)
        await session.gather()
        setup = {"sessionId": session.session, "cwd": str(tmp_path), "mcpServers": []}
        await client.call("session/load", setup)
        await session.gather()
        seen = client.seen[1]
        assert (seen.asked, seen.ended) == (2, 1), "the first is taken back when the second is asked"
        client.answer(1, "once")
        assert await session.answered(1) == ALLOWED[PERMISSION]


class LendingMember(AcpexMember):
    capabilities: ClassVar[dict[str, Any]] = {"fs": {"readTextFile": True, "writeTextFile": True}}


async def test_what_a_client_lends_is_waited_for_when_it_is_cut_off(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house, room(house, LendingMember, PlainMember) as session:
        lender = session.members[0]
        session.ask(1, "file")
        await house.until(lambda: lender.requests, "the lender is asked for a file")
        await session.leave(lender, code=1006)
        await session.gather()
        assert house.agent.answers[1] == [], "it may come back"


async def test_a_client_of_the_thread_protocol_that_leaves_does_not_cancel_its_turn(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house, room(house, ThreadsMember, LegacyMember) as session:
        await session.leave(session.members[0])
        await session.gather()
        assert house.agent.prompts, "the turn goes on"
