"""Sends the updates of a session to the client, one by one, in order.

`say` and `think` are the hot path of every agent, so the constant bytes around the text are prepared once
per session and nothing is built or encoded but the text itself. Each method waits when the client is slow,
and lets the event loop turn now and then when it is not, so that a cancel is heard.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from io import BytesIO
from typing import TYPE_CHECKING

import msgspec
from msgspec import UNSET, UnsetType

from dragoman.errors import InvalidValue, TurnOver
from dragoman.runtime.outbox import FLUSH_AT
from dragoman.schema import v1
from dragoman.sdk.outbound import as_block, as_list, write_update

if TYPE_CHECKING:
    from dragoman.sdk.agent.client_calls import ClientCalls

_encoder = msgspec.json.Encoder()
_encode = _encoder.encode
_TEXT_END = b"}}}}\n"
_UPDATE_END = b"}}\n"

LARGE = 64 * 1024
"""Texts with this many characters are encoded with care, see `encode_text`."""


SLICE = 256 * 1024
"""The number of characters of a large text to encode at a time."""


def encode_text(text: str) -> bytes:
    """Return the text as JSON. `Encoder.encode` of msgspec 0.22 ends the process with SIGSEGV when its buffer
    can't grow; `encode_into` raises `MemoryError`, which ends only the turn, but is slower for small texts.
    """
    return _encode_small(text) if len(text) < LARGE else text_frame(b"", text, b"")


def text_frame(head: bytes, text: str, end: bytes) -> bytes:
    """Write a large text as JSON between `head` and `end`. Slices are encoded into the bytes to send, so that
    there is never more than one copy besides the text.
    """
    frame, scratch = BytesIO(), bytearray()
    frame.write(head + b'"')
    try:
        for start in range(0, len(text), SLICE):
            _encoder.encode_into(text[start : start + SLICE], scratch)
            del scratch[-1], scratch[0]  # the quotes
            frame.write(scratch)
    except UnicodeEncodeError:
        raise _not_text(text) from None
    frame.write(b'"' + end)
    return frame.getvalue()  # not a copy: it is what was written into


def _encode_small(text: str) -> bytes:
    try:
        return _encode(text)
    except UnicodeEncodeError:  # from file names and broken decoders; no JSON text can hold it
        raise _not_text(text) from None


def _not_text(text: str) -> InvalidValue:
    return InvalidValue("text", text, "must be Unicode text, without lone surrogates")


class Speaker:
    """Sends the updates of one session."""

    __slots__ = ("_has_ended", "_outbox", "_say_head", "_update_head", "client", "session_id")

    def __init__(self, client: ClientCalls, session_id: str) -> None:
        self.client = client
        self.session_id = session_id
        self._outbox = client.link.outbox
        self._has_ended = False
        self._update_head = self._say_head = b""  # made when something is said for the first time

    def _prepare(self) -> None:
        session_id = _encode(self.session_id)
        head = b'{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":%b,"update":' % session_id
        self._update_head = head
        self._say_head = head + b'{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":'

    async def say(self, text: str | v1.ContentBlock, *, message_id: str | None = None) -> None:
        """Send a piece of the agent's answer."""
        if message_id is None and type(text) is str and not self._has_ended:
            if not self._say_head:
                self._prepare()
            outbox = self._outbox
            if len(text) >= LARGE:
                outbox.add(text_frame(self._say_head, text, _TEXT_END))
                await outbox.flow()
                return
            data = _encode_small(text)  # before anything is in the buffer: it may fail
            buffer = outbox.buffer
            before = len(buffer)
            try:
                buffer += self._say_head
                buffer += data
                buffer += _TEXT_END
            except MemoryError:
                del buffer[before:]  # half a frame would spoil the next one
                raise
            if len(buffer) >= FLUSH_AT:
                await outbox.flow()
            elif not outbox.is_scheduled:
                outbox.schedule()
            return
        await self.update(v1.AgentMessageChunk(content=as_block(text), message_id=_or_unset(message_id)))

    async def think(self, text: str | v1.ContentBlock, *, message_id: str | None = None) -> None:
        """Send a piece of the agent's reasoning."""
        await self.update(v1.AgentThoughtChunk(content=as_block(text), message_id=_or_unset(message_id)))

    async def echo(self, text: str | v1.ContentBlock, *, message_id: str | None = None) -> None:
        """Send a piece of a user's message, for replaying a conversation."""
        await self.update(v1.UserMessageChunk(content=as_block(text), message_id=_or_unset(message_id)))

    async def update(self, update: v1.SessionUpdate) -> None:
        """Send any update of the protocol."""
        self._put(update)
        if len(self._outbox.buffer) >= FLUSH_AT:
            await self._outbox.flow()

    def _put(self, update: v1.SessionUpdate) -> None:
        """Queue the update without waiting."""
        if self._has_ended:
            self._check_open()
        if not self._update_head:
            self._prepare()
        data = write_update(update)
        outbox = self._outbox
        buffer = outbox.buffer
        buffer += self._update_head
        buffer += data
        buffer += _UPDATE_END
        if not outbox.is_scheduled:
            outbox.schedule()

    def _check_open(self) -> None:
        if self._has_ended:
            raise TurnOver("this turn has been answered; nothing can be said or asked in it any more")

    async def plan(self, entries: Iterable[v1.PlanEntry | str | tuple[str, v1.PlanEntryStatus]]) -> None:
        """Send the whole current plan; it replaces the previous plan."""
        await self.update(
            v1.Plan(entries=[_plan_entry(at, entry) for at, entry in enumerate(as_list(entries, "entries"))])
        )

    async def usage(self, *, used: int, size: int, cost: float | None = None, currency: str = "USD") -> None:
        """Report how much of the context window is used, and the session's cost so far."""
        price = UNSET if cost is None else v1.Cost(amount=cost, currency=currency)
        await self.update(v1.UsageUpdate(used=used, size=size, cost=price))

    async def commands(self, commands: Sequence[v1.AvailableCommand]) -> None:
        """Send all slash commands that are available now."""
        await self.update(v1.AvailableCommandsUpdate(available_commands=as_list(commands, "commands")))

    async def mode(self, mode_id: str) -> None:
        """Report that the agent has changed its mode by itself."""
        await self.update(v1.CurrentModeUpdate(current_mode_id=mode_id))

    async def title(self, title: str | None) -> None:
        """Set the title of this session; None clears it."""
        await self.update(v1.SessionInfoUpdate(title=title))

    async def notice(self, title: str, *, severity: str = "info", description: str | None = None) -> None:
        """Send information that the user may want, but that has no effect.

        A client that takes no notices is told in a message instead, as the protocol allows.
        """
        if "session.notices" in self.client.capabilities:
            detail = UNSET if description is None else description
            await self.update(v1.Notice(severity=severity, title=title, description=detail))
        else:
            await self.say(f"{title}\n{description}\n" if description else f"{title}\n")


def _or_unset(value: str | None) -> str | UnsetType:
    return UNSET if value is None else value


def _plan_entry(at: int, entry: v1.PlanEntry | str | tuple[str, v1.PlanEntryStatus]) -> v1.PlanEntry:
    if isinstance(entry, v1.PlanEntry):
        return entry
    if isinstance(entry, str):
        return v1.PlanEntry(content=entry, priority="medium", status="pending")
    content, status = _pair(at, entry)
    return v1.PlanEntry(content=content, priority="medium", status=status)


def _pair(at: int, entry: object) -> tuple[str, v1.PlanEntryStatus]:
    if not isinstance(entry, tuple | list) or len(entry) != 2:
        raise InvalidValue(f"entries[{at}]", entry, "must be a PlanEntry, a string, or a string and a status")
    return entry[0], entry[1]
