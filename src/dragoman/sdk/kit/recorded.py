"""Speech that is stored as it is said: the same frame goes to the client and into the session's log."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dragoman.runtime.outbox import FLUSH_AT
from dragoman.schema import v1
from dragoman.sdk.agent.lender import Lender
from dragoman.sdk.agent.speaker import encode_text
from dragoman.sdk.writing import write_update

if TYPE_CHECKING:
    from dragoman.sdk.kit.log import SessionLog


class Recorded(Lender):
    """A speaker whose words are kept."""

    __slots__ = ()

    @property
    def _log(self) -> SessionLog:
        raise NotImplementedError

    def _said(self, update: v1.SessionUpdate) -> None:
        """Something was said that the session may have to remember."""

    async def say(self, text: str | v1.ContentBlock, *, message_id: str | None = None) -> None:
        """A piece of the agent's answer."""
        if message_id is not None or type(text) is not str:
            await super().say(text, message_id=message_id)
            return
        self._check_open()
        if not self._say_head:
            self._prepare()
        self._send(b"%b%b}}}}" % (self._say_head, encode_text(text)))
        await self._flow()

    async def update(self, update: v1.SessionUpdate) -> None:
        """Any update of the protocol."""
        self._put(update)
        await self._flow()

    def _put(self, update: v1.SessionUpdate) -> None:
        self._check_open()
        if not self._update_head:
            self._prepare()
        frame = b"%b%b}}" % (self._update_head, write_update(update))
        self._said(update)
        self._send(frame)

    def _send(self, frame: bytes) -> None:
        self._log.add("to_client", frame)
        outbox = self._outbox
        outbox.buffer += frame
        outbox.buffer += b"\n"
        if not outbox.scheduled:
            outbox.schedule()

    async def _flow(self) -> None:
        if len(self._outbox.buffer) >= FLUSH_AT:
            await self._outbox.flow()
        if self._log.is_full:
            await self._log.room()
