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
    from dragoman.sdk.client.side import ClientSide
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
        watch = self._watch_first_byte(turn)
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
            if turn.is_open:  # it was left early, and is being cancelled
                self._session.expect_end(turn)

    def _watch_first_byte(self, turn: PromptTurn) -> FirstByte | None:
        deadline = self._session.agent.deadlines.first_byte
        seconds = deadline if self._first_byte is None else self._first_byte
        return None if seconds is None else FirstByte(turn, self._session.life.handle.side, seconds)


class FirstByte:
    """Gives a turn up when the agent says nothing at all after its prompt."""

    __slots__ = ("_heard", "_seconds", "_side", "_timer", "_turn")

    def __init__(self, turn: PromptTurn, side: ClientSide, seconds: float) -> None:
        self._turn = turn
        self._side = side
        self._seconds = seconds
        self._wait()

    def cancel(self) -> None:
        self._timer.cancel()

    def _wait(self) -> None:
        self._heard = self._side.received
        self._timer = asyncio.get_running_loop().call_later(self._seconds, self._look)

    def _look(self) -> None:
        if not self._turn.is_open:
            self._wait()  # it still waits for the end of the turn before it, and was not sent yet
        elif self._side.received == self._heard:
            self._turn.give_up(FirstByteTimeout("the first word after a prompt", self._seconds))
