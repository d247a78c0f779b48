"""A turn of a client that reads the pipe by itself while it waits for updates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

from dragoman.blocking.signals import ThreadSignal
from dragoman.sdk.client.prompt import PromptSession, PromptTurn

if TYPE_CHECKING:
    from dragoman.blocking.client_link import ClientLink
    from dragoman.schema.v1 import ContentBlock


class BlockingPrompt(PromptTurn):
    """Waits by reading; its coroutines never suspend."""

    def __init__(
        self,
        session: PromptSession,
        blocks: Sequence[ContentBlock],
        *,
        silence: float | None,
        keep_text: bool = True,
    ) -> None:
        super().__init__(session, blocks, silence=silence, keep_text=keep_text)
        self._news = ThreadSignal()
        self._waits = False

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

    def _wake_up(self) -> None:
        self._news.set()


def _link(session: PromptSession) -> ClientLink:
    return cast("ClientLink", session.link)  # the only kind of link with which these are made
