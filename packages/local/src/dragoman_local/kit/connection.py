"""The state of a kit for one connection: its open sessions and its share of the journal.

It lasts as long as the link: a task of the link holds it, and when the link closes, that task ends the
sessions, stores what they said, and gives the journal back.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from dragoman.errors import ErrorAnswer
from dragoman.runtime.owner import run_to_end

if TYPE_CHECKING:
    from dragoman.sdk.agent.session import ClientHandle
    from dragoman_local.journal import Journal
    from dragoman_local.kit.journal_lender import JournalLender
    from dragoman_local.kit.session import KitSession


class KitConnection:
    """One connection, made at the client's first request for a session."""

    def __init__(self, client: ClientHandle, shelf: JournalLender) -> None:
        self._client = client
        self._shelf = shelf
        self._journal: asyncio.Future[Journal] = asyncio.get_running_loop().create_future()
        self.sessions: set[KitSession[Any]] = set()

    def begin(self, on_end: Callable[[], object]) -> None:
        """Hold the journal until the link closes, then call `on_end`."""
        self._client.link.own(self._keep(on_end))

    async def journal(self) -> Journal:
        return await asyncio.shield(self._journal)

    async def _keep(self, on_end: Callable[[], object]) -> None:
        try:
            journal = await self._shelf.borrow()
        except BaseException as error:
            on_end()
            self._journal.set_exception(error)
            self._journal.exception()  # whoever asked is told; if nobody waits, it is nobody's
            if isinstance(error, Exception):
                return
            raise
        self._journal.set_result(journal)
        try:
            await self._client.link.wait_ended()
            # The link grants turns that are under way a moment, and then cancels them and us.
            await self._idle()
        finally:
            on_end()
            # A link that hangs up and closes at once cancels us in the middle of this.
            await run_to_end(self._end())

    async def _idle(self) -> None:
        running = [turn.end_future for session in self.sessions for turn in session.running]
        if running:
            await asyncio.wait(running)

    async def _end(self) -> None:
        try:
            await asyncio.gather(*(_close_session(session) for session in self.sessions))
        finally:
            await self._shelf.give_back()


async def _close_session(session: KitSession[Any]) -> None:
    try:
        await session.aclose()
    except ErrorAnswer:
        pass  # it could not be stored, which the log has said; nobody is left to be told
