"""Sends requests to the model, and repeats them after temporary failures.

Between two attempts the user is told what happened and how long we wait, which is as long as the server asks
for, or else twice as long each time. An answer that broke off in the middle is asked for again as a whole:
what was shown of it stays on the screen, and the user is told that another one follows.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable
from typing import Literal

from pydantic_ai.exceptions import AgentRunError, UserError
from pydantic_ai.messages import ModelMessage, ModelResponse

from dragoman_app.agents.code.faults import ModelFault, read_fault
from dragoman_app.agents.code.models import Hear, ModelClient, RequestOffer

log = logging.getLogger(__name__)

LONGEST = 30.0
"""The most seconds between two attempts, unless the server asks for more."""

Tell = Callable[[str], Awaitable[None]]


class ModelFailed(Exception):
    """The model has not answered, and a retry would not help."""

    def __init__(self, fault: ModelFault) -> None:
        super().__init__(fault.words)
        self.fault = fault


class ModelRequests:
    """The model requests of one turn."""

    def __init__(self, model: ModelClient, *, hear: Hear, tell: Tell) -> None:
        self._model = model
        self._hear = hear
        self._tell = tell
        self.partial_text = ""
        """The text of the answer that is coming, or that broke off."""

    async def __call__(
        self, messages: list[ModelMessage], offer: RequestOffer, *, thinking: str | None = None
    ) -> ModelResponse:
        """Send a request; return the answer, or raise `ModelFailed`."""
        attempt = 0
        while True:
            self.partial_text = ""
            try:
                return await self._model.request(messages, offer, self._listen, thinking=thinking)
            except (AgentRunError, UserError) as error:
                fault = read_fault(error, self._model.endpoint)
                log.info("a request to the model failed: %s", fault.kind)
                log.debug("in detail", exc_info=error)
            wait = self._wait(fault, attempt)
            if wait is None:
                raise ModelFailed(fault)
            attempt += 1
            await self._tell(_words(fault, wait, broke_off=bool(self.partial_text)))
            await asyncio.sleep(wait)

    async def _listen(self, kind: Literal["text", "thought"], text: str) -> None:
        if kind == "text":
            self.partial_text += text
        await self._hear(kind, text)

    def _wait(self, fault: ModelFault, attempt: int) -> float | None:
        """Seconds until the next attempt; None if there is none."""
        # Who answers well and says nothing that makes sense is mostly no model: a page, a proxy's login.
        is_hopeless = fault.kind == "nonsense" and not self.partial_text and attempt >= 1
        if not fault.may_pass or is_hopeless or attempt >= self._model.config.retries:
            return None
        if fault.wait is not None:
            return fault.wait if fault.wait <= self._model.config.patience else None
        wait = min(self._model.config.retry_seconds * (1 << attempt), LONGEST)
        return wait * random.uniform(0.8, 1.2)  # many agents that failed at once shall not return at once


def _words(fault: ModelFault, wait: float, *, broke_off: bool) -> str:
    again = f"Trying again in {wait:.0f} s." if wait >= 1 else "Trying again."
    restart = " The answer starts again." if broke_off else ""
    return f"{fault.words} {again}{restart}"
