"""One agent of each kind for many cheap faults: that it lives through all of them is part of each test."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

import pytest
import pytest_asyncio

from tests.faults.talk import Talk, opening
from tests.faults.trial_agents import ECHO, Command, forked


class Shelf:
    """Conversations that last for a whole module, opened when they are first wanted."""

    def __init__(self, stack: AsyncExitStack) -> None:
        self._stack = stack
        self.talks: dict[Command, Talk] = {}

    async def take(self, agent: Command) -> Talk:
        if agent not in self.talks:
            self.talks[agent] = await self._stack.enter_async_context(opening(forked(agent)))
        return self.talks[agent]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shelf() -> AsyncIterator[Shelf]:
    async with AsyncExitStack() as stack:
        shelf = Shelf(stack)
        yield shelf
        for talk in shelf.talks.values():
            await talk.echoes("all is well at the end")


@pytest_asyncio.fixture(loop_scope="module")
async def shared(shelf: Shelf, agent: Command) -> Talk:
    """The agent that is tried, with a session, the same for a whole module."""
    return await shelf.take(agent)


@pytest.fixture
def agent() -> Command:
    """The command of the agent that is tried."""
    return ECHO


@pytest.fixture(autouse=True)
def fault(request: pytest.FixtureRequest, agent: Command) -> str:
    """The id of the fault that is being tried."""
    return str(getattr(request, "param", ""))
