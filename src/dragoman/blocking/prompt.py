"""A turn of a client that reads the pipe by itself while it waits for updates."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from dragoman.blocking.signals import ThreadSignal
from dragoman.sdk.client.prompt import STEER_SECONDS, PromptSession, PromptTurn

if TYPE_CHECKING:
    from dragoman.blocking.client_link import ClientLink
    from dragoman.core import OutgoingCall
    from dragoman.runtime.pending_call import PendingCall
    from dragoman.schema.v1 import ContentBlock


class BlockingPrompt(PromptTurn):
    """Waits by reading; its coroutines never suspend."""

    _steer_deadline = 600.0

    def __init__(
        self,
        session: PromptSession,
        blocks: Sequence[ContentBlock],
        *,
        silence: float | None,
        keep_text: bool = True,
        meta: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(session, blocks, silence=silence, keep_text=keep_text, meta=meta)
        self._news = ThreadSignal()
        self._waits = False
        self._lock = threading.Lock()  # of the messages that follow: another thread may steer

    def _add_message(self, blocks: list[ContentBlock]) -> bool:
        with self._lock:
            return super()._add_message(blocks)

    def _next_request(self, call: OutgoingCall[PendingCall]) -> bytes | None:
        with self._lock:
            return super()._next_request(call)

    @property
    def is_hungry(self) -> bool:
        return self._waits or self._is_abandoned

    async def _more(self) -> None:
        session = self._session
        self._waits = True
        if session.link.on_hold:
            session.weigh_backlog()
        try:
            _link(session).wait(self._news)
        finally:
            self._waits = False
        self._news.clear()  # what came after that is seen by whoever looks now

    async def _wait_for_offers(self) -> None:
        await self._more()

    async def _wait_for_answer(self, call: OutgoingCall[PendingCall]) -> None:
        link, answered = _link(self._session), ThreadSignal()

        def give_up() -> None:
            answered.set()
            link.wake()

        call.context.add_done_callback(lambda _: answered.set())
        timer = threading.Timer(STEER_SECONDS, give_up)
        timer.daemon = True
        timer.start()
        try:
            link.wait(answered)
        finally:
            timer.cancel()

    def _wake_up(self) -> None:
        self._news.set()


def _link(session: PromptSession) -> ClientLink:
    return cast("ClientLink", session.link)  # the only kind of link with which these are made
