"""Random schedules of one session: clients of all dialects come, go and are cut off, the agent asks, people
answer, at once or too late, and cancel. The oracle knows only what people did, and in which order the hub
took it.

What must hold, whatever the schedule:

- A question is settled once, by the first person whose answer the hub took, or by a cancel that came before.
- The agent gets that answer, once, and never before somebody gave it.
- A client that can put the question to a person is asked once, and if it gave no answer, it hears once that
  the question is over. A client that cannot is not asked; it is told of it where its dialect has words.
- Everybody hears the same words in the same order, and nobody is cut off by the hub.
"""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from math import inf
from typing import Any

from tests.hub.company.house import OPTIONS, House
from tests.hub.company.members import (
    ELICITATION,
    FOUND,
    MEMBERS,
    PERMISSION,
    Inbox,
    Member,
    QuirkyMember,
    yield_some,
)

EVENTS = 30
MOST_MEMBERS = 6
CHOICES = (*OPTIONS, "cancelled")


@dataclass
class Input:
    """Something that a person did, in the moment in which the hub took it."""

    tick: int
    number: int | None
    """The question that was answered; None for a cancel of the turn."""
    choice: str
    done: float
    """When it surely had its effect. An answer to a request and a cancel have it at once; a request of the
    inbox is carried out until it is answered, and others may come before it meanwhile.
    """


class Schedule:
    """One session from its beginning to its end. `trace` says what was done."""

    def __init__(
        self, house: House, inbox: Inbox, seed: int, *, tick: Callable[[], int], first_question: int
    ) -> None:
        self.house, self.inbox = house, inbox
        self.members: list[Member] = []
        self.trace: list[str] = []
        self.inputs: list[Input] = []
        self.settled_in_inbox: list[Input] = []
        self.kinds: dict[int, str] = {}
        self.asked_at: dict[int, int] = {}
        self._tick = tick
        self._chance = random.Random(seed)
        self._next_question = first_question
        self._words = 0
        self._session = self._agents_session = ""

    async def run(self) -> None:
        await self._come()
        for _ in range(EVENTS):
            event = self._chance.choices(self._events, self._weights)[0]
            await event()
            if self._chance.random() < 0.3:
                await self._gather()
            else:
                await yield_some(self._chance.choice((0, 0, 1, 5, 40)))
        await self._finish()

    @property
    def _events(self) -> list[Callable[[], Awaitable[None]]]:
        return [
            *(self._come, self._leave, self._cut, self._prompt, self._ask, self._answer, self._race),
            *(self._answer_late, self._give_no_answer, self._answer_in_inbox, self._cancel),
        ]

    _weights = (3, 1, 1, 3, 5, 3, 2, 2, 1, 1, 1)

    @property
    def is_running(self) -> bool:
        return self._agents_session in self.house.agent.prompts

    @property
    def open_questions(self) -> list[int]:
        """Those that nobody has answered, as far as the hub has taken it."""
        return [number for number in self.kinds if not self._decisions(number)]

    # People come and go.

    async def _come(self) -> None:
        if len(self.members) >= MOST_MEMBERS:
            return
        kind = self._chance.choice((*MEMBERS, QuirkyMember))
        is_named = kind not in FOUND or self._chance.random() < 0.5
        member = kind(self.house, is_named=is_named)
        self.trace.append(f"{member.dialect} comes" + ("" if is_named else ", unnamed"))
        await member.join(self._session)
        if not self._session:
            self._session, self._agents_session = member.session, self.house.agent.session
        self.members.append(member)

    async def _leave(self) -> None:
        await self._part(1000, "leaves")

    async def _cut(self) -> None:
        await self._part(1006, "is cut off")

    async def _part(self, code: int, how: str) -> None:
        if len(self.members) > 1:
            member = self.members.pop(self._chance.randrange(len(self.members)))
            self.trace.append(f"{member.dialect} {how}")
            await member.socket.leave(code=code)

    # The turn.

    async def _prompt(self) -> None:
        if not self.is_running:
            member = self._chance.choice(self.members)
            self.trace.append(f"{member.dialect} prompts")
            member.prompt()
            await self.house.until(lambda: self.is_running, "the agent gets the prompt")

    async def _ask(self) -> None:
        if not self.is_running:
            await self._prompt()
        number, self._next_question = self._next_question, self._next_question + 1
        kind = self._chance.choice((PERMISSION, PERMISSION, ELICITATION))
        self.trace.append(f"the agent asks {number}: {kind}")
        self.kinds[number], self.asked_at[number] = kind, self._tick()
        if kind == PERMISSION and self._chance.random() < 0.5:
            self.house.agent.announce(self._agents_session, number)
        self.house.agent.ask(self._agents_session, number, kind)

    async def _cancel(self) -> None:
        """Only when the hub knows all questions: one that crosses a cancel is asked after it."""
        member = self._chance.choice(self.members)
        if not self.is_running:
            return
        await self._until_hub_knows_all()
        taken = self._taking(None, "cancelled")
        if member.cancel(taken):
            self.trace.append(f"{member.dialect} cancels")
            await self.house.until(lambda: not self.is_running, "the turn ends")

    # Answers.

    def _taking(self, number: int | None, choice: str) -> Callable[[], None]:
        def on_taken() -> None:
            tick = self._tick()
            self.inputs.append(Input(tick, number, choice, done=tick))

        return on_taken

    def _able(self, number: int) -> list[Member]:
        """Who sees the question and may answer it."""
        return [
            member
            for member in self.members
            if (seen := member.seen.get(number)) is not None
            and seen.asked
            and not (seen.ended or seen.has_answered)
        ]

    def _pick(self, least: int = 1) -> tuple[int, list[Member]] | None:
        found = [(number, able) for number in self.open_questions if len(able := self._able(number)) >= least]
        return self._chance.choice(found) if found else None

    def _answer_by(self, member: Member, number: int, choice: str) -> None:
        self.trace.append(f"{member.dialect} answers {number}: {choice}")
        member.answer(number, choice, self._taking(number, choice))

    async def _answer(self) -> None:
        if (found := self._pick()) is not None:
            number, able = found
            self._answer_by(self._chance.choice(able), number, self._chance.choice(CHOICES))

    async def _race(self) -> None:
        """Two people answer at once, perhaps with another who cancels."""
        if (found := self._pick(2)) is None:
            return
        number, able = found
        for member in self._chance.sample(able, 2):
            self._answer_by(member, number, self._chance.choice(CHOICES))
        if self._chance.random() < 0.2:
            await self._cancel()

    async def _answer_late(self) -> None:
        settled = [number for number in self.kinds if self._decisions(number)]
        found = [(member, one) for one in settled for member in self.members if self._has_handle(member, one)]
        if found:
            member, number = self._chance.choice(found)
            self._answer_by(member, number, self._chance.choice(CHOICES))

    def _has_handle(self, member: Member, number: int) -> bool:
        return number in member.seen and member.seen[number].asked > 0

    async def _give_no_answer(self) -> None:
        if (found := self._pick()) is not None:
            number, able = found
            member, how = self._chance.choice(able), self._chance.choice(("unknown", "error", "wrong"))
            self.trace.append(f"{member.dialect} gives no answer to {number}: {how}")
            member.give_no_answer(number, how)

    async def _answer_in_inbox(self) -> None:
        known = [number for number in self.open_questions if number in self.inbox.names]
        if known:
            self._answer_there(self._chance.choice(known))

    def _answer_there(self, number: int) -> None:
        choice = self._chance.choice(tuple(OPTIONS))
        self.trace.append(f"the inbox answers {number}: {choice}")
        given = Input(0, number, choice, done=inf)

        def on_taken() -> None:
            given.tick = self._tick()
            self.inputs.append(given)

        def on_answer(settled: bool) -> None:
            given.done = self._tick()
            if settled:
                self.settled_in_inbox.append(given)

        self.inbox.answer(self._session, number, choice, on_taken, on_answer, kind=self.kinds[number])

    # The oracle.

    def _decisions(self, number: int) -> list[Input]:
        """What a person did first about a question, by what the hub took; several if they were at once."""
        since = self.asked_at[number]
        about = [one for one in self.inputs if one.number in (number, None) and one.tick > since]
        first = min((one.done for one in about), default=0)
        return [one for one in about if one.tick <= first]

    async def _until_hub_knows_all(self) -> None:
        await self.house.until(
            lambda: set(self.kinds) <= set(self.inbox.asked), "the hub knows all questions"
        )

    async def _gather(self) -> None:
        """Everybody hears another word; what stands before it in the session is known to all then."""
        await self._until_hub_knows_all()
        still_open = self.open_questions
        self._words += 1
        self.house.agent.say(self._agents_session, f"word-{self._words}.")
        for member in self.members:
            await self.house.until(partial(self._has_heard, member), f"{member.dialect} hears the word")
        for member in self.members:
            self._check_words(member)
            for number in set(still_open) & set(self.open_questions):
                self._check_open(member, number)

    def _has_heard(self, member: Member) -> bool:
        assert not member.socket.is_closed_by_hub, f"{member.dialect} is cut off by the hub"
        return bool(member.words) and member.words[-1] == self._words

    def _check_words(self, member: Member) -> None:
        words = member.words
        assert words == list(range(words[0], self._words + 1)), (member.dialect, words)

    def _check_open(self, member: Member, number: int) -> None:
        seen, kind = member.question(number), self.kinds[number]
        about = f"{member.dialect}, question {number}: {vars(seen)}"
        assert seen.ended == 0, f"heard of an end that has not come: {about}"
        if kind not in member.can_ask:
            assert seen.asked == 0, f"cannot ask and was asked: {about}"
            is_told = member.hears_notices and kind == PERMISSION
            assert seen.notices == int(is_told), f"was not told once: {about}"
        elif kind not in member.unable:
            assert seen.asked == 1, f"was not asked once: {about}"

    async def _finish(self) -> None:
        await self._until_hub_knows_all()
        for number in self.open_questions:
            self._answer_there(number)
        answers = self.house.agent.answers
        await self.house.until(lambda: all(answers[number] for number in self.kinds), "the agent's answers")
        await self.house.until(lambda: set(self.kinds) <= set(self.inbox.settled), "the inbox hears the ends")
        await self._gather()
        for number in self.kinds:
            self._check_answer(number)
            for member in self.members:
                self._check_settled(member, number)
        await self._check_late_comer()
        if self.is_running:
            self.house.agent.end(self._agents_session)
        for member in self.members:
            await member.socket.leave()

    def _check_answer(self, number: int) -> None:
        answers = self.house.agent.answers[number]
        assert len(answers) == 1, f"question {number} has {len(answers)} answers"
        ((tick, result),) = answers
        decisions = [one for one in self._decisions(number) if one.tick < tick]
        assert decisions, f"question {number} was answered before anybody did"
        told = [one for one in self.settled_in_inbox if one.number == number]
        # An answer is written down before it counts. A cancel that comes meanwhile wins.
        since = self.asked_at[number]
        decisions += [one for one in self.inputs if one.number is None and since < one.tick < tick]
        expected = [self._expected(number, one) for one in (*told, *decisions)]
        assert result in expected, f"question {number}: {result}, not one of {decisions}"
        assert len(told) <= 1, f"question {number} is settled twice in the inbox"
        assert self.inbox.asked.count(number) == self.inbox.settled.count(number) == 1

    def _expected(self, number: int, decision: Input) -> Any:
        if self.kinds[number] == ELICITATION:
            accepted = {"action": "accept", "content": {"word": decision.choice}}
            return {"action": "cancel"} if decision.choice == "cancelled" else accepted
        if decision.choice == "cancelled":
            return {"outcome": {"outcome": "cancelled"}}
        return {"outcome": {"outcome": "selected", "optionId": decision.choice}}

    def _check_settled(self, member: Member, number: int) -> None:
        seen = member.question(number)
        about = f"{member.dialect}, question {number}: {vars(seen)}"
        assert seen.asked <= int(self.kinds[number] in member.can_ask), f"was asked too often: {about}"
        assert seen.ended <= seen.asked, f"heard of the end more than once: {about}"
        if seen.asked and not seen.has_answered:
            assert seen.ended == 1, f"did not hear of the end: {about}"

    async def _check_late_comer(self) -> None:
        """Whoever comes now is asked nothing, and told of nothing."""
        await self._come_anew()
        late = self.members[-1]
        await self._gather()
        assert not [number for number, seen in late.seen.items() if seen.asked or seen.ended], late.dialect

    async def _come_anew(self) -> None:
        while len(self.members) >= MOST_MEMBERS:
            await self._leave()
        await self._come()
