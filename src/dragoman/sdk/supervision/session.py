"""A session that outlives its agent's process.

It knows what it takes to have it again: its id, its folders and servers, and what was set in it. When the
process is another one than last time, it is resumed, or else loaded, or else made anew, which is told as
`lost_context` because the agent then knows nothing of what was said before.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Sequence
from functools import partial
from typing import TYPE_CHECKING

from dragoman.errors import (
    BadAnswer,
    CallFailed,
    CallTimeout,
    DragomanError,
    LinkClosed,
    LocalMistake,
    LoginRequired,
    NotAdvertised,
)
from dragoman.schema import v1
from dragoman.sdk.client.prompt import PromptTurn
from dragoman.sdk.client.session import Session
from dragoman.sdk.session_opener import OpenMethod, SessionPlace
from dragoman.sdk.supervision.life import AgentLife
from dragoman.sdk.supervision.turn import SupervisedTurn
from dragoman.sdk.writing import as_block

if TYPE_CHECKING:
    from dragoman.sdk.supervision.supervisor import Supervised

NEEDED: dict[OpenMethod, str] = {"resume": "sessionCapabilities.resume", "load": "loadSession"}

CANNOT = (CallFailed, CallTimeout, NotAdvertised, BadAnswer)
"""What means that this way to bring a session back is closed, and the next one may be tried."""


class SupervisedSession:
    """Made by `Supervised.new_session`, `load_session` or `resume_session`."""

    def __init__(self, agent: Supervised, session: Session, life: AgentLife, place: SessionPlace) -> None:
        self.agent = agent
        self.place = place
        self.life = life
        """The process that it is in now, dead or alive."""
        self._session = session
        self._mode: str | None = None
        self._options: dict[str, str | bool] = {}
        self._closed = False
        self._lock = asyncio.Lock()

    # What is known of it now.

    @property
    def id(self) -> str:
        """What the agent calls it; another one after its context was lost."""
        return self._session.id

    @property
    def cwd(self) -> str:
        return self.place.cwd

    @property
    def modes(self) -> v1.SessionModeState | None:
        return self._session.modes

    @property
    def config_options(self) -> Sequence[v1.SessionConfigOption]:
        return self._session.config_options

    @property
    def cancelling(self) -> bool:
        return self._session.cancelling

    @property
    def late(self) -> deque[v1.SessionUpdate]:
        """Updates that arrived outside any turn."""
        return self._session.late

    def listen(self) -> AsyncGenerator[v1.SessionUpdate, None]:
        """Each update outside any turn, as it comes, until the process that it is in ends."""
        return self._session.listen()

    # What is done with it.

    def prompt(
        self,
        *content: str | v1.ContentBlock,
        silence: float | None = None,
        first_byte: float | None = None,
        keep_text: bool = True,
    ) -> SupervisedTurn:
        """One turn. Iterate over it for the updates, or await it for the result; nothing happens before
        that.
        """
        blocks = [as_block(block, f"content[{at}]") for at, block in enumerate(content)]
        return SupervisedTurn(self, blocks, silence=silence, first_byte=first_byte, keep_text=keep_text)

    async def cancel(self) -> None:
        """Stop the running turn; nothing runs in an agent that is dead."""
        turn = self._session.turn
        try:
            await self._session.cancel()
        except LinkClosed:
            return  # the turn has failed with the same
        if turn is not None:
            self.expect_end(turn)

    def expect_end(self, turn: PromptTurn) -> None:
        """It was cancelled; should the agent never end it, it is given up."""
        seconds = self.agent.deadlines.cancel
        if seconds is not None:
            why = CallTimeout("the end of a cancelled turn", seconds)
            asyncio.get_running_loop().call_later(seconds, turn.give_up, why)

    async def set_mode(self, mode_id: str) -> None:
        await (await self.ready()).set_mode(mode_id)
        self._mode = mode_id

    async def set_config_option(self, config_id: str, value: str | bool) -> Sequence[v1.SessionConfigOption]:
        options = await (await self.ready()).set_config_option(config_id, value)
        self._options[config_id] = value
        return options

    async def close(self) -> None:
        """Free the session at the agent, if it lives and can."""
        self._closed = True
        try:
            if self.life.is_alive and "sessionCapabilities.close" in self.life.handle.capabilities:
                await self._session.close()
        except LinkClosed:
            pass  # it is as free as can be
        finally:
            self._session.leave()

    # How it comes back.

    async def ready(self) -> Session:
        """The session in a living agent, started and brought back if need be."""
        async with self._lock:
            for left in reversed(range(self.agent.restarts.deaths)):
                if self._closed:
                    raise LocalMistake("this session was closed")
                life = await self.agent.living()
                try:
                    if life is not self.life:
                        await self._bring_back(life)
                    return self._session
                except LinkClosed as error:
                    self.agent.died(life, error)
                    if not left:  # it dies whenever this session is brought back, however slowly
                        raise
            raise LocalMistake("an agent that may not die even once cannot be restarted")

    async def _bring_back(self, life: AgentLife) -> None:
        former, why = self._session, self.life.why_gone()
        ways: tuple[OpenMethod, ...] = ("resume", "load", "new")
        for how in ways:
            if how in NEEDED and NEEDED[how] not in life.handle.capabilities:
                continue
            try:
                again = partial(life.handle.open_session, self.place, how, former.id)
                session = await self.agent.with_login(life, again)
            except CANNOT as error:
                if how == "new" or isinstance(error, LoginRequired):
                    raise
                why = error
                continue
            self.life, self._session = life, session
            self._tell(former, session, how, why)
            await self._set_again(session)
            return

    def _tell(self, former: Session, session: Session, how: OpenMethod, why: DragomanError) -> None:
        """What the agent replayed was seen once already, unless somebody wants it again; what was late before
        is still there.
        """
        replayed = len(session.late) if how == "load" else 0
        if how == "load" and self.agent.replay == "swallow":
            session.late.clear()
        session.late.extendleft(reversed(former.late))
        if how == "new":
            self.agent.report.lost_context(former.id, session.id, why)
        else:
            self.agent.report.resumed(session.id, how, replayed=replayed)

    async def _set_again(self, session: Session) -> None:
        """What was set is set again: an agent need not have stored it."""
        try:
            if self._mode is not None and (
                session.modes is None or session.modes.current_mode_id != self._mode
            ):
                await session.set_mode(self._mode)
            for config_id, value in self._options.items():
                await session.set_config_option(config_id, value)
        except CANNOT as error:
            self.agent.report.noted(f"what was set in the session could not be set again: {error}")
