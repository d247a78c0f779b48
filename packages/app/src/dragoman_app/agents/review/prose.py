"""A model explains and ranks the findings of a review, if one is configured.

It uses the coder's way to a model, and with it pydantic-ai, so it is imported only when it is needed.
Whatever goes wrong with the model, the review stands without it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from pydantic_ai.messages import ModelRequest, UserPromptPart

from dragoman import KitTurn
from dragoman_app.agents.code.config import CoderConfig, ModelEndpoint
from dragoman_app.agents.code.cost import spend
from dragoman_app.agents.code.model_request import ModelFailed, ModelRequests
from dragoman_app.agents.code.models import ModelClient, RequestOffer
from dragoman_app.agents.review.conversation import ReviewConversation
from dragoman_app.agents.review.excerpts import SYSTEM, excerpts
from dragoman_review.finding import Finding

REFUSED = "content_filter"


class ModelExplanation:
    """One explanation, sent as it arrives."""

    def __init__(
        self, turn: KitTurn[ReviewConversation], endpoint: ModelEndpoint, config: CoderConfig
    ) -> None:
        self._turn = turn
        self._endpoint = endpoint
        self._config = config

    async def explain(self, findings: Sequence[Finding], texts: Mapping[str, str]) -> str | None:
        """Explain what matters most; return None, or the reason if it failed."""
        request = ModelRequest(parts=[UserPromptPart(content=excerpts(findings, texts))])
        await self._turn.say(f"## Explained by {self._endpoint.model}\n\n")
        async with ModelClient(self._endpoint, self._config) as model:
            asking = ModelRequests(model, hear=self._hear, tell=self._tell)
            self._turn.count_request()
            try:
                response = await asking([request], RequestOffer(fixed_text=SYSTEM))
            except ModelFailed as error:
                return error.fault.words
            await spend(self._turn, response, model)
        await self._turn.say("\n")
        return "The model refused." if response.finish_reason == REFUSED else None

    async def _hear(self, kind: Literal["text", "thought"], text: str) -> None:
        await (self._turn.say(text) if kind == "text" else self._turn.think(text))

    async def _tell(self, words: str) -> None:
        await self._turn.notice(words, severity="warning")
