"""A tool call that an agent reports: announced once, and always finished.

    async with turn.tool("Read config", kind="read") as call:
        await call.progress(content=[...])

The call is `in_progress` while its block runs. One that begins with a question to the user is made with
`status="pending"`: it is in progress from the user's yes on. Leaving the block normally completes the call,
leaving it with an exception, or after the user said no, fails it; neither can be forgotten.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from types import TracebackType
from typing import TYPE_CHECKING
from uuid import uuid4

from msgspec import UNSET

from dragoman.errors import Cancelled, InvalidValue, LinkClosed, TurnOver
from dragoman.runtime.deferred_module import DeferredModule
from dragoman.schema import v1
from dragoman.schema.base import Unknown
from dragoman.schema.scalars import is_absolute
from dragoman.sdk.agent.lender import Permission
from dragoman.sdk.outbound import as_list, write_update

if TYPE_CHECKING:
    import asyncio

    from dragoman.sdk.agent.lender import Lender
else:
    asyncio = DeferredModule("asyncio")


ENDS = ("completed", "failed")


class ToolCallReport:
    """A reported tool call, made by `Turn.tool`."""

    def __init__(
        self,
        speaker: Lender,
        title: str,
        *,
        kind: v1.ToolKind,
        name: str | None,
        raw_input: object,
        locations: Sequence[v1.ToolCallLocation | str],
        tool_call_id: str | None,
        status: v1.ToolCallStatus = "in_progress",
    ) -> None:
        self._speaker = speaker
        self.id = f"call_{uuid4().hex}" if tool_call_id is None else tool_call_id
        self.title = title
        self.kind = kind
        self.name = name
        self.raw_input = raw_input
        self.locations = _as_locations(locations)
        self._status = status
        write_update(self._announcement(status))  # refuses what is wrong with it here, where it was written
        self._is_announced = self._has_ended = self._is_refused = False

    @property
    def is_open(self) -> bool:
        """Whether the call was announced and has not ended."""
        return self._is_announced and not self._has_ended

    async def announce(self, status: v1.ToolCallStatus | None = None) -> None:
        """Announce the call with this status, or the status from its creation. Entering
        the block calls this.
        """
        status = self._status if status is None else status
        await self._speaker.update(self._announcement(status))
        self._is_announced = True
        self._has_ended = status in ENDS

    def _announcement(self, status: v1.ToolCallStatus) -> v1.ToolCall:
        return v1.ToolCall(
            tool_call_id=self.id,
            title=self.title,
            kind=self.kind,
            status=status,
            name=UNSET if self.name is None else self.name,
            raw_input=UNSET if self.raw_input is None else self.raw_input,
            locations=self.locations or UNSET,
        )

    async def progress(
        self,
        *,
        status: v1.ToolCallStatus | None = None,
        title: str | None = None,
        content: Sequence[v1.ToolCallContent | str] | None = None,
        locations: Sequence[v1.ToolCallLocation | str] | None = None,
        raw_output: object = None,
    ) -> None:
        """Report changes; content and locations replace the earlier ones."""
        await self._speaker.update(
            v1.ToolCallProgress(
                tool_call_id=self.id,
                status=UNSET if status is None else status,
                title=UNSET if title is None else title,
                content=UNSET
                if content is None
                else [_as_content(at, item) for at, item in enumerate(as_list(content, "content"))],
                locations=UNSET if locations is None else _as_locations(locations),
                raw_output=UNSET if raw_output is None else raw_output,
            )
        )
        self._has_ended = self._has_ended or status in ENDS

    async def ask(self, options: Sequence[v1.PermissionOption] | None = None) -> Permission:
        """Ask the user whether this call may run. After a yes, the call is in progress."""
        call = v1.ToolCallUpdate(
            tool_call_id=self.id,
            title=self.title,
            kind=self.kind,
            status="pending",
            raw_input=UNSET if self.raw_input is None else self.raw_input,
            locations=self.locations or UNSET,
        )
        permission = await self._speaker.ask(call, options)
        self._is_refused = not permission
        if permission:
            await self.progress(status="in_progress")
        return permission

    async def complete(self, *content: v1.ToolCallContent | str, raw_output: object = None) -> None:
        """Report that the call has succeeded; content replaces the earlier content."""
        await self.progress(status="completed", content=content or None, raw_output=raw_output)

    async def fail(self, *content: v1.ToolCallContent | str, raw_output: object = None) -> None:
        """Report that the call has failed; content replaces the earlier content."""
        await self.progress(status="failed", content=content or None, raw_output=raw_output)

    async def __aenter__(self) -> ToolCallReport:
        await self.announce()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._has_ended:
            return
        try:
            if error is None:
                await (self.fail() if self._is_refused else self.complete())
            elif isinstance(error, asyncio.CancelledError | Cancelled):
                await self.fail("Cancelled")  # version 1 has no status of its own for it
            else:
                await (
                    self.fail()
                )  # what went wrong is for the agent to say; an exception's text may hold secrets
        except (LinkClosed, TurnOver):
            if error is None:
                raise


def _as_locations(locations: Iterable[v1.ToolCallLocation | str]) -> list[v1.ToolCallLocation]:
    """Paths may stand for themselves."""
    items = as_list(locations, "locations")
    for at, item in enumerate(items):
        if isinstance(item, str) and not is_absolute(item):
            raise InvalidValue(f"locations[{at}]", item, "must be an absolute path")
    return [v1.ToolCallLocation(path=item) if isinstance(item, str) else item for item in items]


def _as_content(at: int, item: object) -> v1.ToolCallContent:
    if isinstance(item, str):
        return v1.Content(content=v1.TextContent(text=item))
    if isinstance(item, v1.Content | v1.Diff | v1.Terminal | Unknown):
        return item
    raise InvalidValue(f"content[{at}]", item, "must be a string, v1.Content, v1.Diff or v1.Terminal")
