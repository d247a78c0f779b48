"""The model layer takes long to import; no test's time shall be counted for it."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from dragoman.agents.code.agent import code_agent
from dragoman.agents.code.config import CoderConfig
from dragoman.testing import talking_to
from dragoman.testing.models import scripted_model
from tests.agents import model_layer  # noqa: F401  before the workers fork


@pytest.fixture(autouse=True, scope="session")
def first_requests(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Vendors' clients import much of themselves with their first request, between the connection and the
    answer: on a busy machine that takes longer than they wait for a connection.
    """
    asyncio.run(_first_requests(tmp_path_factory.mktemp("first")))


async def _first_requests(folder: Path) -> None:
    for api in ("openai", "anthropic"):
        async with scripted_model(["Hello."]) as model:
            address = model.openai_url if api == "openai" else model.anthropic_url
            config = CoderConfig(
                model=f"{api}:m", base_url=address, sessions=str(folder / f"{api}.db"), retries=5
            )
            async with talking_to(code_agent(config)) as handle:
                session = await handle.new_session(cwd=str(folder))
                await session.prompt("Hi")
