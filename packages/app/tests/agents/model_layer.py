"""The model layer, imported and used once: thousands of modules, which takes seconds.

Whoever forks coders, or the workers in which coders run, imports this before. Vendors' clients import much of
themselves with their first request, between the connection and the answer: on a busy machine that takes
longer than they wait for a connection.
"""

from __future__ import annotations

import asyncio
import tempfile
from importlib import import_module
from pathlib import Path

from dragoman.testing import talking_to
from dragoman.testing.models import scripted_model
from dragoman_app.agents.code.agent import code_agent
from dragoman_app.agents.code.config import CoderConfig
from tests import fork_start  # noqa: F401  for all forks, also those of other agents

for _name in (
    "anthropic.resources.beta.messages",
    "anthropic.resources.models",
    "anyio._backends._asyncio",
    "dragoman_app.agents.code.turn_run",
    "genai_prices.data",
    "openai.resources.chat.completions.completions",
    "openai.resources.models",
    "pydantic_ai.models.anthropic",
    "pydantic_ai.models.openai",
    "pydantic_ai.providers.openai",
):
    import_module(_name)


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


with tempfile.TemporaryDirectory() as _folder:
    asyncio.run(_first_requests(Path(_folder)))
