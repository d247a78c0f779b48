"""The model layer takes long to import; no test's time shall be counted for it."""

from __future__ import annotations

from importlib import import_module

import pytest


@pytest.fixture(autouse=True, scope="session")
def model_layer() -> None:
    for name in (
        "dragoman.agents.code.turn_run",
        "pydantic_ai.models.openai",
        "pydantic_ai.models.anthropic",
    ):
        import_module(name)
