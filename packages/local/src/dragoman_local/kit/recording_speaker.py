"""Stores each update before it is sent: the frame goes into the session's log, and to the client after the
journal has stored it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dragoman.runtime.outbox import FLUSH_AT
from dragoman.schema import v1
from dragoman.sdk.agent.lender import Lender
from dragoman.sdk.agent.speaker import encode_text
from dragoman.sdk.outbound import write_update

if TYPE_CHECKING:
    from dragoman_local.kit.log import KitJournal


class RecordingSpeaker(Lender):
    """Sends updates and stores them."""

    __slots__ = ()

    @property
    def _log(self) -> KitJournal:
        raise NotImplementedError

    def _remember_update(self, update: v1.SessionUpdate) -> None:
        """Note an update that the session may need later."""

    async def say(self, text: str | v1.ContentBlock, *, message_id: str | None = None) -> None:
        """Send a piece of the agent's answer."""
        if message_id is not None or type(text) is not str:
            await super().say(text, message_id=message_id)
            return
        self._check_open()
        if not self._say_head:
            self._prepare()
        self._log.add_update(b"".join((self._say_head, encode_text(text), b"}}}}")))
        await self._flow()

    async def update(self, update: v1.SessionUpdate) -> None:
        """Send any update of the protocol."""
        self._put(update)
        await self._flow()

    def _put(self, update: v1.SessionUpdate) -> None:
        self._check_open()
        if not self._update_head:
            self._prepare()
        frame = b"%b%b}}" % (self._update_head, write_update(update))
        self._remember_update(update)
        self._log.add_update(frame)

    async def _flow(self) -> None:
        """Let the event loop run now and then, so that the log is stored and a cancel arrives; wait while the
        client is slow, and while the disk is.
        """
        log = self._log
        if log.bytes_since_pause >= FLUSH_AT:
            log.bytes_since_pause = 0
            await self._outbox.flow()
        if log.is_full:
            await log.room()
