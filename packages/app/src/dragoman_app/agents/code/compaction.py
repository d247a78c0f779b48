"""Shortens a conversation when the model's context is nearly full: the model summarises it, and the summary
replaces all earlier messages.

The user is told before and after. What the user asked for in this turn stays word for word. The client's view
of the conversation is not touched: only the model forgets.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Literal
from uuid import uuid4

from msgspec import UNSET
from pydantic_ai.messages import ModelMessage, ModelRequest, TextPart, UserPromptPart

from dragoman.errors import ErrorAnswer
from dragoman.schema.v1 import CompactionUpdate, ContentBlock, TextContent
from dragoman_app.agents.code.cost import spend
from dragoman_app.agents.code.history import as_text
from dragoman_app.agents.code.model_request import ModelFailed, ModelRequests
from dragoman_app.agents.code.models import ModelClient, RequestOffer

if TYPE_CHECKING:
    from dragoman import KitTurn
    from dragoman_app.agents.code.conversation import CoderConversation

SYSTEM = (
    "You summarise a conversation between a user and a coding agent, so that the agent can go on with the "
    "summary alone. Keep: what the user wants, word for word where it matters; decisions and their reasons; "
    "files that were read or changed, with paths and what is in them that matters; commands and their "
    "results; what is done, what is left, and what failed. Leave out everything else. Write plain text."
)

CAPABILITY = "session.compaction"

CHARACTERS_OF_TOKEN = 3
"""A token has about four characters. A smaller number makes sure that the summary's request fits."""


class Compaction:
    """Watches the context size during one turn."""

    def __init__(self, turn: KitTurn[CoderConversation], model: ModelClient) -> None:
        self._turn = turn
        self._model = model
        self._asking = ModelRequests(model, hear=self._hear, tell=self._tell)

    @property
    def is_due(self) -> bool:
        """Whether the last response left too little room for the next."""
        used = self._turn.session.total_usage.context_used or 0
        messages = self._turn.session.conversation.history.messages
        return len(messages) > 1 and used > self._model.config.compact_at * self._model.context_size

    async def run(self, prompt: UserPromptPart | None) -> None:
        """Summarise everything before this prompt. Raises the model's error if that fails."""
        history = self._turn.session.conversation.history
        report = CompactionReport(self._turn)
        await report.begin()
        try:
            summary = await self._summary(_without(history.messages, prompt))
        except asyncio.CancelledError:
            await report.end("cancelled")
            raise
        except ErrorAnswer as error:
            await report.end("failed", error=error.message)
            raise
        parts = [UserPromptPart(content=f"The conversation so far, in a summary:\n\n{summary}")]
        history.replace([ModelRequest(parts=[*parts, *([] if prompt is None else [prompt])])])
        self._turn.session.total_usage.context_used = len(summary) // CHARACTERS_OF_TOKEN
        await report.end("completed", summary=summary)

    async def _summary(self, messages: list[ModelMessage]) -> str:
        self._turn.count_request()
        # The end matters most, so the beginning is what is left out of what does not fit.
        text = as_text(messages)[-self._model.context_size * CHARACTERS_OF_TOKEN // 2 :]
        request = ModelRequest(parts=[UserPromptPart(content=f"{text}\n\nSummarise this conversation.")])
        try:
            response = await self._asking([request], RequestOffer(fixed_text=SYSTEM))
        except ModelFailed as error:
            raise error.fault.answer() from None
        await spend(self._turn, response, self._model)
        return "".join(part.content for part in response.parts if isinstance(part, TextPart))

    async def _hear(self, kind: Literal["text", "thought"], text: str) -> None:
        return None  # a summary is for the model

    async def _tell(self, words: str) -> None:
        await self._turn.notice(words, severity="warning")


class CompactionReport:
    """Reports a compaction to the client: as an update if the client knows it, otherwise as text."""

    def __init__(self, turn: KitTurn[CoderConversation]) -> None:
        self._turn = turn
        self._id = str(uuid4())
        self._is_known = CAPABILITY in turn.client.capabilities

    async def begin(self) -> None:
        if self._is_known:
            await self._turn.update(CompactionUpdate(compaction_id=self._id, status="in_progress"))
        else:
            await self._turn.notice("The conversation is summarised, to make room in the model's context.")

    async def end(self, status: str, *, summary: str | None = None, error: str | None = None) -> None:
        if self._is_known:
            blocks: list[ContentBlock] = [] if summary is None else [TextContent(text=summary)]
            await self._turn.update(
                CompactionUpdate(
                    compaction_id=self._id,
                    status=status,
                    summary=blocks or UNSET,
                    error=UNSET if error is None else error,
                )
            )
        elif status == "completed":
            await self._turn.notice("The model continues with the summary only.")


def _without(messages: list[ModelMessage], prompt: UserPromptPart | None) -> list[ModelMessage]:
    """All messages but the one that asks for what is being done now, if nothing was done for it yet."""
    last = messages[-1] if messages else None
    is_new = isinstance(last, ModelRequest) and prompt is not None and prompt in last.parts
    return messages[:-1] if is_new else messages
