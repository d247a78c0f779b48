"""The last step of a review where a model is configured: it is asked, and shown as a tool call."""

from __future__ import annotations

import asyncio
import importlib
from collections.abc import Sequence
from typing import Any

from dragoman import KitTurn
from dragoman.agents.code.config import BadConfig, CoderConfig, ModelEndpoint, endpoint
from dragoman.agents.review.conversation import ReviewConversation
from dragoman.agents.review.markdown import count_of
from dragoman.review.finding import Finding, ReviewSource


def explains(turn: KitTurn[ReviewConversation]) -> bool:
    """Whether there is a model, and whether this session wants to hear it."""
    return turn.session.conversation.model is not None and turn.session["explanations"] == "model"


async def explain(
    turn: KitTurn[ReviewConversation], findings: Sequence[Finding], sources: Sequence[ReviewSource]
) -> None:
    """Have findings explained; a model that does not is told of, and nothing else happens."""
    config = turn.session.conversation.model
    assert config is not None
    reached = _reached(config)
    name = config.model if isinstance(reached, str) else reached.model
    async with turn.tool(f"Ask {name} about {count_of(len(findings), 'finding')}", kind="think") as call:
        if isinstance(reached, str):
            why: str | None = reached
        else:
            # It takes a second to import what talks to models.
            module: Any = await asyncio.to_thread(importlib.import_module, "dragoman.agents.review.prose")
            texts = {source.path: source.text for source in sources}
            why = await module.ModelExplanation(turn, reached, config).explain(findings, texts)
        if why is not None:
            await call.fail(why)
            await turn.say(f"{name} did not explain the findings. {why} They are complete without it.\n")


def _reached(config: CoderConfig) -> ModelEndpoint | str:
    """How the model is reached, or why it is not."""
    try:
        return endpoint(config, config.model or "")
    except BadConfig as error:
        return f"{error}."
