"""The model layer, imported: thousands of modules, which takes seconds.

Whoever forks coders, or the workers in which coders run, imports this before.
"""

from __future__ import annotations

from importlib import import_module

from tests import fork_end  # noqa: F401  for those that fork

for _name in (
    "anthropic.resources.beta.messages",
    "anthropic.resources.models",
    "anyio._backends._asyncio",
    "dragoman.agents.code.turn_run",
    "genai_prices.data",
    "openai.resources.chat.completions.completions",
    "openai.resources.models",
    "pydantic_ai.models.anthropic",
    "pydantic_ai.models.openai",
    "pydantic_ai.providers.openai",
):
    import_module(_name)
