"""One agent for many cheap faults: that it lives through all of them is part of each test."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from tests.faults.talk import Talk, opening


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared() -> AsyncIterator[Talk]:
    """An echo agent with a session, the same for a whole module."""
    async with opening() as talk:
        yield talk
        await talk.echoes("all is well at the end")


@pytest.fixture(autouse=True)
def fault(request: pytest.FixtureRequest) -> str:
    """The id of the fault that is being tried."""
    return str(getattr(request, "param", ""))
