"""One turn of a supervised session: an async iterator of updates that ends with a result, or a typed error.

Before it begins, a dead agent is started again and the session brought back. A turn whose agent dies fails
with `PeerDied` and is not repeated, because nobody knows how much of it was done. A turn in which nothing was
heard for too long fails with its deadline, and the agent, which hangs, is ended. A prompt that is refused for
want of a login is sent once more after one.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Generator, Sequence
from contextlib import aclosing
from typing import TYPE_CHECKING

from dragoman.errors import CallFailed, FirstByteTimeout, LinkClosed, LocalMistake, SilenceTimeout
from dragoman.schema import v1
from dragoman.sdk.client.prompt import PromptTurn, TurnResult
from dragoman.sdk.login import needs_login

if TYPE_CHECKING:
    from dragoman.sdk.supervision.session import SupervisedSession


class SupervisedTurn:
    """Made by `SupervisedSession.prompt`. Iterate once, or await."""

    def __init__(
        self,
        session: SupervisedSession,
        blocks: Sequence[v1.ContentBlock],
        *,
        silence: float | None,
        first_byte: float | None,
        keep_text: bool,
    ) -> None:
        self._session = session
        self._blocks = blocks
        self._silence = silence
        self._first_byte = first_byte
        self._keep_text = keep_text
        self._turn: PromptTurn | None = None
        self._started = False

    @property
    def result(self) -> TurnResult:
        if self._turn is None:
            raise LocalMistake("the turn has no result before its last update was handled")
        return self._turn.result

    def __aiter__(self) -> AsyncGenerator[v1.SessionUpdate, None]:
        return self._updates()

    def __await__(self) -> Generator[object, None, TurnResult]:
        return self._drain().__await__()

    async def texts(self) -> AsyncGenerator[str, None]:
        """What the agent says, piece by piece, and nothing else; the turn is iterated as a whole."""
        async with aclosing(self._updates()) as updates:
            async for update in updates:
                if isinstance(update, v1.AgentMessageChunk) and isinstance(update.content, v1.TextContent):
                    yield update.content.text

    async def _drain(self) -> TurnResult:
        async for _ in self:
            pass
        return self.result

    async def _updates(self) -> AsyncGenerator[v1.SessionUpdate, None]:
        if self._started:
            raise LocalMistake("a turn can be iterated only once")
        self._started = True
        tried: str | None = None
        while True:
            said = False
            try:
                async with aclosing(self._once()) as updates:
                    async for update in updates:
                        said = True
                        yield update
                return
            except CallFailed as refused:
                if said or not needs_login(refused):
                    raise
                tried = await self._session.agent.log_in(refused, tried=tried)

    async def _once(self) -> AsyncGenerator[v1.SessionUpdate, None]:
        session = await self._session.ready()
        turn = self._turn = session.prompt(*self._blocks, silence=self._silence, keep_text=self._keep_text)
        supervisor, life = self._session.agent, self._session.life
        watch = self._watch_first_byte(turn, life.handle.side.received)
        supervisor.turns += 1
        try:
            async with aclosing(aiter(turn)) as updates:
                async for update in updates:
                    yield update
        except (SilenceTimeout, FirstByteTimeout) as error:
            life.condemn(error)  # nothing at all was heard: the whole process hangs, not this turn alone
            raise
        except LinkClosed as error:
            supervisor.died(life, error)  # it knows by itself, but not that this turn was running
            if life.verdict is not None:  # not by itself: it hung in somebody else's turn
                raise LinkClosed(f"the agent was ended: {life.verdict}") from None
            raise
        finally:
            supervisor.turns -= 1
            if watch is not None:
                watch.cancel()

    def _watch_first_byte(self, turn: PromptTurn, heard: int) -> asyncio.TimerHandle | None:
        deadlines = self._session.agent.deadlines
        seconds = deadlines.first_byte if self._first_byte is None else self._first_byte
        if seconds is None:
            return None
        side = self._session.life.handle.side

        def look(limit: float = seconds) -> None:
            if side.received == heard:
                turn.give_up(FirstByteTimeout("the first word after a prompt", limit))

        return asyncio.get_running_loop().call_later(seconds, look)
