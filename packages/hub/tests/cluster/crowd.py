"""The people of a storm and what they do: sessions that are always busy, prompts that wait in line,
approvals, cancels, and onlookers who come and go.

Each session has a driver, who gives it the next prompt when the last one has ended, and a second, who follows
it from elsewhere and now and then puts a prompt into its queue or cancels. Everything is drawn from one seed,
but for what the machine's own timing changes.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from typing import Any

from dragoman.errors import LinkClosed
from dragoman.testing.pace import deadline
from tests.cluster.checker_clients import position
from tests.cluster.person import Person, Refused
from tests.cluster.records import ClientLine

ONLOOKERS = 3
AT_ONCE = 12
"""Sessions that an onlooker follows at most."""


class Crowd:
    """`settle` is how it ends: nobody asks for anything new, and everybody is told all there is."""

    def __init__(
        self, urls: list[str], token: str, *, seed: int, people: int, sessions: int, pace: float
    ) -> None:
        """`pace`: seconds between the updates of one session, about."""
        self._chance = random.Random(seed)
        self._pace = pace
        self._urls, self._token = urls, token
        self.people = [self._person(f"p{number}") for number in range(people)]
        self.gone: list[Person] = []
        """Onlookers who have left for good."""
        self.sessions: list[str] = []
        self._count = sessions
        self._calm = asyncio.Event()
        self._work: list[asyncio.Task[None]] = []
        self._wandering: list[asyncio.Task[None]] = []

    @property
    def lines(self) -> dict[str, list[ClientLine]]:
        return {person.name: person.lines for person in (*self.people, *self.gone)}

    async def gather(self, cwd: str) -> None:
        """Everybody arrives, every session is made."""
        await asyncio.gather(*(person.begin() for person in self.people))
        drivers = self.people[:-ONLOOKERS] or self.people
        pairs = [(driver, drivers[(place + 1) % len(drivers)]) for place, driver in enumerate(drivers)]
        await asyncio.gather(
            *(
                self._make(driver, second, cwd, len(range(place, self._count, len(drivers))))
                for place, (driver, second) in enumerate(pairs)
            )
        )
        for place in range(len(drivers), len(self.people)):
            loop = asyncio.get_running_loop()
            self._wandering.append(loop.create_task(self._wander(place), name=f"onlooker {place}"))

    async def _make(self, driver: Person, second: Person, cwd: str, count: int) -> None:
        """So many sessions, each at work as soon as it is there."""
        for _ in range(count):
            session = await driver.make(cwd)
            self.sessions.append(session)
            if second is not driver:
                await second.follow(session, "")
            self._go(self._drive(driver, session))
            self._go(self._interfere(second, session))

    async def settle(self, within: float, ask: Callable[[], None]) -> list[str]:
        """Who did not come to an end in time, which is for the checker to judge; `ask` is called then."""
        self._calm.set()
        tasks = [*self._work, *self._wandering]
        _, late = await asyncio.wait(tasks, timeout=within)
        if late:
            ask()
        for task in late:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        failed = [task for task in tasks if not task.cancelled() and task.exception() is not None]
        return [task.get_name() for task in late] + [repr(task.exception()) for task in failed]

    async def told_up_to(self, last: dict[str, int], within: float) -> None:
        """Until everybody was told up to there, or the time is up."""
        try:
            async with deadline(within):
                while self._behind(last):  # noqa: ASYNC110 -- anybody may be the last one
                    await asyncio.sleep(0.1)
        except TimeoutError:
            pass  # whoever was told nothing is found by the checker

    def _behind(self, last: dict[str, int]) -> bool:
        return any(
            position(cursor)[0] < last.get(session, 0)
            for person in self.people
            for session, cursor in person.cursors.items()
        )

    async def aclose(self) -> None:
        for task in (*self._work, *self._wandering):
            task.cancel()
        await asyncio.gather(*self._work, *self._wandering, return_exceptions=True)
        await asyncio.gather(*(person.aclose() for person in self.people), return_exceptions=True)

    # What they do.

    def _person(self, name: str) -> Person:
        urls = self._chance.sample(self._urls, len(self._urls))
        return Person(name, urls, self._token, random.Random(self._chance.random()))

    async def _arrived(self, name: str) -> Person:
        """Whoever comes to a hub that is just leaving is sent away, and comes again."""
        while True:
            person = self._person(name)
            try:
                await person.begin()
            except (Refused, LinkClosed):
                await person.aclose()
            else:
                return person

    def _go(self, work: Any) -> None:
        self._work.append(asyncio.get_running_loop().create_task(work, name=work.__qualname__))

    async def _drive(self, person: Person, session: str) -> None:
        chance = random.Random(self._chance.random())
        while not self._calm.is_set():
            updates = chance.randint(3, 7)
            order: dict[str, Any] = {"updates": updates, "gap": self._pace * chance.uniform(0.7, 1.3)}
            order["burst"] = chance.choice((1, 1, 1, 3))
            if chance.random() < 0.2:
                order["ask"] = [chance.randrange(updates)]
            outcome = await person.prompt(session, order)
            if outcome.startswith("error"):
                await self._pause(0.5)

    async def _interfere(self, person: Person, session: str) -> None:
        chance = random.Random(self._chance.random())
        while not self._calm.is_set():
            await self._pause(chance.uniform(20, 60))
            if chance.random() < 0.2:
                person.cancel(session)
            elif not self._calm.is_set():
                await person.prompt(session, {"updates": 2, "gap": 0.1})

    async def _wander(self, place: int) -> None:
        chance = random.Random(self._chance.random())
        left: dict[str, str] = {}
        visits = 0
        while not self._calm.is_set():
            await self._pause(chance.uniform(1, 5))
            person = self.people[place]
            try:
                await self._step(person, chance, left)
            except Refused:
                continue  # such as a session that is just being moved; the next step is another one
            if chance.random() < 0.03:
                visits += 1
                await person.depart()
                self.gone.append(person)
                self.people[place] = await self._arrived(f"p{place}-{visits}")

    async def _step(self, person: Person, chance: random.Random, left: dict[str, str]) -> None:
        """Follow another session, from anywhere, or leave one."""
        others = [session for session in self.sessions if session not in person.cursors]
        if others and len(person.cursors) < chance.randint(1, AT_ONCE):
            session = chance.choice(others)
            after = chance.choice(("", "end", "end", left.get(session, "end")))
            await person.follow(session, after)
        elif person.cursors:
            session = chance.choice(list(person.cursors))
            left[session] = person.cursors[session]
            await person.leave(session)

    async def _pause(self, seconds: float) -> None:
        """Or until it is calm."""
        try:
            async with deadline(seconds):
                await self._calm.wait()
        except TimeoutError:
            pass
