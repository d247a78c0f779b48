"""Findings explained by a model, where one is configured: it is asked, and shown as a tool call."""

from __future__ import annotations

import asyncio
import importlib
from collections.abc import Sequence
from typing import Any, Literal

from dragoman import KitTurn
from dragoman_app.agents.code.config import BadConfig, CoderConfig, ModelEndpoint, endpoint
from dragoman_app.agents.review.conversation import ReviewConversation
from dragoman_app.agents.review.markdown import count_of
from dragoman_app.agents.review.review_texts import ReviewTexts
from dragoman_review.finding import Finding

ModelUse = Literal["review", "explain", "none"]


def model_use(turn: KitTurn[ReviewConversation]) -> ModelUse:
    """What the model does in this session; nothing if there is none."""
    if turn.session.conversation.model is None:
        return "none"
    setting = turn.session["model_use"]
    return "review" if setting == "review" else "explain" if setting == "explain" else "none"


async def explain(turn: KitTurn[ReviewConversation], findings: Sequence[Finding], texts: ReviewTexts) -> None:
    """Have findings explained; a model that does not is told of, and nothing else happens."""
    config = turn.session.conversation.model
    assert config is not None
    endpoint = reach_model(config)
    name = config.model if isinstance(endpoint, str) else endpoint.model
    async with turn.tool(f"Ask {name} about {count_of(len(findings), 'finding')}", kind="think") as call:
        if isinstance(endpoint, str):
            why: str | None = endpoint
        else:
            # It takes a second to import what talks to models.
            module: Any = await asyncio.to_thread(importlib.import_module, "dragoman_app.agents.review.prose")
            masked_texts = await texts.mask_all(finding.path for finding in findings)
            why = await module.ModelExplanation(turn, endpoint, config).explain(findings, masked_texts)
        if why is not None:
            await call.fail(why)
            await turn.say(
                f"{name} did not explain the findings. {why} The findings are complete without that.\n"
            )


def reach_model(config: CoderConfig) -> ModelEndpoint | str:
    """How the model is reached, or why it is not."""
    try:
        return endpoint(config, config.model or "")
    except BadConfig as error:
        return f"{error}."
