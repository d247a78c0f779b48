"""One kept `cat` for all tests of a module that need nothing but an echo: an agent host costs its start."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from dragoman_hub.agents.host.agent_host import HostOrder
from dragoman_hub.agents.host.hosted_agents import find_hosted, host_agent


@pytest.fixture(scope="module")
def echo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The place of an agent that echoes. Its numbers go on from test to test: see `attach`."""
    path = tmp_path_factory.mktemp("kept") / "echo.sock"

    async def begin() -> None:
        await (await host_agent(HostOrder(command=["cat"], socket=path))).leave()

    async def finish() -> None:
        agent = await find_hosted(path)
        assert agent is not None
        await agent.aclose()

    asyncio.run(begin())
    yield path
    asyncio.run(finish())
