"""A tool call as an agent reports it: announced once, always brought to an end.

    async with turn.tool("Read config", kind="read") as call:
        await call.progress(content=[...])

Leaving the block normally completes the call, leaving it with an exception, or after the user said no,
fails it; neither can be forgotten.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from msgspec import UNSET

from dragoman.errors import Cancelled, LinkClosed, TurnOver
from dragoman.schema import v1
from dragoman.sdk.agent.lender import Permission

if TYPE_CHECKING:
    from dragoman.sdk.agent.lender import Lender


class ToolCallReport:
    """Made by `Turn.tool`."""

    def __init__(
        self,
        speaker: Lender,
        title: str,
        *,
        kind: v1.ToolKind,
        name: str | None,
        raw_input: Any,
        locations: Sequence[v1.ToolCallLocation],
        tool_call_id: str | None,
    ) -> None:
        self._speaker = speaker
        self.id = tool_call_id or f"call_{uuid4().hex}"
        self.title = title
        self.kind = kind
        self.name = name
        self.raw_input = raw_input
        self.locations = list(locations)
        self._announced = self._ended = self._refused = False

    @property
    def is_open(self) -> bool:
        """It has been announced and not brought to an end."""
        return self._announced and not self._ended

    async def announce(self, status: v1.ToolCallStatus = "pending") -> None:
        """Say that the call exists. Entering the block does this."""
        self._announced = True
        self._ended = status in ("completed", "failed")
        await self._speaker.update(
            v1.ToolCall(
                tool_call_id=self.id,
                title=self.title,
                kind=self.kind,
                status=status,
                name=UNSET if self.name is None else self.name,
                raw_input=UNSET if self.raw_input is None else self.raw_input,
                locations=self.locations or UNSET,
            )
        )

    async def progress(
        self,
        *,
        status: v1.ToolCallStatus | None = None,
        title: str | None = None,
        content: Sequence[v1.ToolCallContent | str] | None = None,
        locations: Sequence[v1.ToolCallLocation] | None = None,
        raw_output: Any = None,
    ) -> None:
        """Say what has changed; content and locations replace what was there."""
        self._ended = self._ended or status in ("completed", "failed")
        await self._speaker.update(
            v1.ToolCallProgress(
                tool_call_id=self.id,
                status=UNSET if status is None else status,
                title=UNSET if title is None else title,
                content=UNSET if content is None else [_as_content(item) for item in content],
                locations=UNSET if locations is None else list(locations),
                raw_output=UNSET if raw_output is None else raw_output,
            )
        )

    async def ask(self, options: Sequence[v1.PermissionOption] | None = None) -> Permission:
        """Ask the user whether this call may run; on a yes it is in progress from now on."""
        call = v1.ToolCallUpdate(
            tool_call_id=self.id,
            title=self.title,
            kind=self.kind,
            status="pending",
            raw_input=UNSET if self.raw_input is None else self.raw_input,
            locations=self.locations or UNSET,
        )
        permission = await self._speaker.ask(call, options)
        self._refused = not permission
        if permission:
            await self.progress(status="in_progress")
        return permission

    async def complete(self, *content: v1.ToolCallContent | str, raw_output: Any = None) -> None:
        await self.progress(status="completed", content=content or None, raw_output=raw_output)

    async def fail(self, *content: v1.ToolCallContent | str, raw_output: Any = None) -> None:
        await self.progress(status="failed", content=content or None, raw_output=raw_output)

    async def __aenter__(self) -> ToolCallReport:
        await self.announce()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._ended:
            return
        try:
            if error is None:
                await (self.fail() if self._refused else self.complete())
            elif isinstance(error, asyncio.CancelledError | Cancelled):
                await self.fail("Cancelled")  # version 1 has no status of its own for it
            else:
                await (
                    self.fail()
                )  # what went wrong is for the agent to say; an exception's text may hold secrets
        except (LinkClosed, TurnOver):
            if error is None:
                raise


def _as_content(item: v1.ToolCallContent | str) -> v1.ToolCallContent:
    return v1.Content(content=v1.TextContent(text=item)) if isinstance(item, str) else item
