"""A review by a model for tests: a small project with bugs, and the agent with a model at an address."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from dragoman import Session, connect
from dragoman.testing.models import ModelRequest, ModelTurn, call, turn
from dragoman_app.agents.code.config import CoderConfig
from dragoman_app.agents.review.agent import review_agent
from dragoman_app.agents.review.budget import ReviewBudget
from tests.agents.review.ground import Editor

SHOP = '''"""Prices."""


def price(total: int, count: int) -> float:
    return total / count


def discount(amount: int) -> int:
    return amount - amount // 10
'''
BUG: dict[str, Any] = {
    "path": "shop.py",
    "line": 5,
    "severity": "high",
    "title": "Division by zero",
    "explanation": "An empty cart has count 0.",
    "evidence": "    return total / count",
}
OTHER = BUG | {
    "line": 9,
    "severity": "low",
    "title": "Rounds down",
    "evidence": "return amount - amount // 10",
}


def make_shop(folder: Path) -> Path:
    folder.mkdir()
    (folder / "shop.py").write_text(SHOP)
    (folder / "cart.py").write_text("from shop import price\n\nprice(1, 0)\n")
    return folder


def is_second_look(request: ModelRequest) -> bool:
    return "verdict" in request.tools


def verdict(reason: str, *, refuted: bool, about: str = "") -> ModelTurn:
    """The answer of the second look at a finding."""
    return turn(
        call("verdict", refuted=refuted, reason=reason),
        when=lambda request: is_second_look(request) and about in request.messages[0].text,
    )


@asynccontextmanager
async def model_reviewer(
    folder: Path, address: str, *, api: str = "openai", editor: Editor | None = None, **limits: Any
) -> AsyncIterator[Session]:
    """A session of a review agent whose model is at this address."""
    config = CoderConfig(model=f"{api}:clever", base_url=address, retries=0)
    agent = review_agent(
        sessions=folder.with_name("sessions.db"), model=config, budget=ReviewBudget(**limits)
    )
    async with connect(agent, client=(editor or Editor()).client) as handle:
        yield await handle.new_session(cwd=str(folder))
