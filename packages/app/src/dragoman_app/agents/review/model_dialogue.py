"""One conversation of the reviewer with its model: ask, run the requested tools, ask again, within a budget.

It keeps no history: a review begins anew with each prompt. Imports the model layer.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, ToolCallPart, UserPromptPart

from dragoman import KitTurn
from dragoman_app.agents.code.cost import spend
from dragoman_app.agents.code.loop import model_call, tool_definition, tool_return
from dragoman_app.agents.code.model_request import ModelRequests
from dragoman_app.agents.code.models import Hear, ModelClient, RequestOffer
from dragoman_app.agents.code.tool_calls import ToolCallRunner
from dragoman_app.agents.code.tools.tool import CoderTool
from dragoman_app.agents.review.budget import BudgetExhausted, BudgetMeter


class ModelRefused(Exception):
    """The model refuses to continue."""


class ModelTask(NamedTuple):
    """The purpose of a conversation."""

    system: str
    tools: Sequence[CoderTool[Any]]
    share: float = 1.0
    """The part of the budget that may be used up at its end."""


class ModelDialogue:
    """A fresh conversation. `mask` makes secrets unreadable."""

    def __init__(
        self,
        turn: KitTurn[Any],
        model: ModelClient,
        meter: BudgetMeter,
        *,
        task: ModelTask,
        hear: Hear,
        mask: Callable[[str], str],
    ) -> None:
        self._turn = turn
        self._model = model
        self._meter = meter
        self._share = task.share
        self._mask = mask
        self._calling = ToolCallRunner(turn, task.tools)
        definitions = [tool_definition(tool) for tool in task.tools]
        self._offer = RequestOffer(fixed_text=task.system, tools=definitions)
        self._asking = ModelRequests(model, hear=hear, tell=self._tell)

    async def run(
        self, prompt: str, *, is_over: Callable[[], bool] = lambda: False, most: int | None = None
    ) -> None:
        """Run until the model calls no more tools, `is_over`, or `most` requests were sent.

        Raises `BudgetExhausted`, `ModelRefused`, or `ModelFailed` if the model cannot be reached.
        """
        self._meter.check(share=self._share)
        limit = asyncio.timeout(self._meter.seconds_left(share=self._share))
        try:
            async with limit:
                await self._converse(prompt, is_over, most)
        except TimeoutError:
            if not limit.expired():
                raise
            raise self._meter.out_of_time() from None

    async def _converse(self, prompt: str, is_over: Callable[[], bool], most: int | None) -> None:
        messages: list[ModelMessage] = [ModelRequest(parts=[UserPromptPart(content=prompt)])]
        request_count = 0
        while most is None or request_count < most:
            request_count += 1
            response = await self._ask(messages)
            calls = [part for part in response.parts if isinstance(part, ToolCallPart)]
            if not calls:
                return
            asked = [model_call(part) for part in calls]  # the client sees them, so they quote no secret
            results = await self._calling(
                [replace(call, arguments=_mask_all(call.arguments, self._mask)) for call in asked]
            )
            if is_over():
                return
            returns = [tool_return(part, results[part.tool_call_id]) for part in calls]
            messages += [response, ModelRequest(parts=returns)]

    async def _ask(self, messages: list[ModelMessage]) -> ModelResponse:
        self._meter.check(share=self._share)
        self._meter.requests += 1
        self._turn.count_request()
        response = await self._asking(messages, self._offer)
        await spend(self._turn, response, self._model)
        self._meter.tokens += response.usage.input_tokens + response.usage.output_tokens
        if response.finish_reason == "content_filter":
            raise ModelRefused
        if response.finish_reason == "length":  # the last call may be half a call
            raise BudgetExhausted("max_tokens", "an answer of the model was cut off at its largest size")
        return response

    async def _tell(self, words: str) -> None:
        await self._turn.notice(words, severity="warning")


def _mask_all(value: Any, mask: Callable[[str], str]) -> Any:
    if isinstance(value, dict):
        return {name: _mask_all(part, mask) for name, part in value.items()}
    if isinstance(value, list):
        return [_mask_all(part, mask) for part in value]
    return mask(value) if isinstance(value, str) else value
