"""A session that survives its agent's process.

It knows what it takes to have it again: its id, its folders and servers, and what was set in it. When the
process is another one than last time, it is resumed, or else loaded, or else made anew, which is told as
`lost_context` because the agent then knows nothing of what was said before.

A turn starts a dead agent again and brings its session back before it begins. A turn whose agent dies fails
with `PeerDied` and is not repeated, because nobody knows how much of it was done. A turn in which nothing was
heard for too long fails with its deadline, and the agent, which hangs, is ended. A prompt that is refused for
want of a login is sent once more after the login.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Mapping, Sequence
from contextlib import aclosing
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias, TypeVar

from dragoman.errors import (
    BadAnswer,
    CallFailed,
    CallTimeout,
    DragomanError,
    FirstByteTimeout,
    LinkClosed,
    LocalMistake,
    LoginRequired,
    NotAdvertised,
    SilenceTimeout,
)
from dragoman.schema import v1
from dragoman.schema.steering import SteerFallback, SteerOutcome
from dragoman.sdk.client.agent_handle import AgentHandle, Session
from dragoman.sdk.client.prompt import PromptTurn, TurnResult
from dragoman.sdk.login import needs_login
from dragoman.sdk.outbound import as_block
from dragoman.sdk.session_opener import OpenMethod, SessionPlace
from dragoman.sdk.supervision.deadlines import Deadlines
from dragoman.sdk.supervision.events import EventReporter
from dragoman.sdk.supervision.life import AgentLife
from dragoman.sdk.supervision.restarts import Restarts

if TYPE_CHECKING:
    from dragoman.sdk.client.agent_handle import SessionRouter


NEEDED: dict[OpenMethod, str] = {"resume": "sessionCapabilities.resume", "load": "loadSession"}

CANNOT = (CallFailed, CallTimeout, NotAdvertised, BadAnswer)
"""Errors after which the next way to bring a session back is tried."""

T = TypeVar("T")

Replay: TypeAlias = Literal["swallow", "keep"]


class SessionSupervisor(Protocol):
    """The parts of a supervisor that its sessions use; `SupervisedAgent` implements it."""

    deadlines: Deadlines
    restarts: Restarts
    replay: Replay
    report: EventReporter
    turns: int
    """The number of running turns."""

    @property
    def handle(self) -> AgentHandle:
        """The current agent, dead or alive."""

    @property
    def info(self) -> v1.Implementation | None: ...

    def forgive(self) -> None:
        """Forget the crashes so far."""

    async def living_agent(self) -> AgentLife:
        """Return the running agent; start one if the last has ended."""

    def on_death(self, life: AgentLife, error: DragomanError) -> None:
        """Report that a process has ended."""

    async def with_login(self, life: AgentLife, attempt: Callable[[], Awaitable[T]]) -> T:
        """Return the result of `attempt`, after a login if the agent requires one."""

    async def log_in(self, refusal: CallFailed, *, tried_method: str | None) -> str:
        """Log in after a refusal, if there is a method that was not tried before."""


class SupervisedSession:
    """A session that survives crashes, made by `Supervised.new_session`, `load_session` or
    `resume_session`.
    """

    def __init__(
        self, agent: SessionSupervisor, session: Session, life: AgentLife, place: SessionPlace
    ) -> None:
        self.agent = agent
        self.place = place
        self.life = life
        """The process that it is in now, dead or alive."""
        self._session = session
        self._mode: str | None = None
        self._options: dict[str, str | bool] = {}
        self._is_closed = False
        self._lock = asyncio.Lock()

    # What is known of it now.

    @property
    def id(self) -> str:
        """The agent's id of the session; it changes when the context is lost."""
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
        """Yield each update outside any turn as it arrives, until the agent's process ends."""
        return self._session.listen()

    # What is done with it.

    def prompt(
        self,
        *content: str | v1.ContentBlock,
        silence: float | None = None,
        first_byte: float | None = None,
        keep_text: bool = True,
        meta: Mapping[str, Any] | None = None,
    ) -> SupervisedTurn:
        """Run one turn. Iterate over it for its updates, or await it for the result; nothing happens before
        that. `meta` is the `_meta` of the prompt.
        """
        blocks = [as_block(block, f"content[{at}]") for at, block in enumerate(content)]
        return SupervisedTurn(
            self, blocks, silence=silence, first_byte=first_byte, keep_text=keep_text, meta=meta
        )

    async def steer(
        self, *content: str | v1.ContentBlock, otherwise: SteerFallback = "restart"
    ) -> SteerOutcome:
        """Send a message while a turn runs; see `PromptTurn.steer`."""
        return await self._session.steer(*content, otherwise=otherwise)

    async def cancel(self) -> None:
        """Stop the running turn, if the agent is alive."""
        turn = self._session.turn
        try:
            await self._session.cancel()
        except LinkClosed:
            return  # the turn has failed with the same
        if turn is not None:
            self.expect_end(turn)

    def expect_end(self, turn: PromptTurn) -> None:
        """Note that the turn was cancelled; if the agent never ends it, the call is given up."""
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
        """Free the session at the agent, if the agent is alive and supports it."""
        self._is_closed = True
        try:
            if self.life.is_alive and "sessionCapabilities.close" in self.life.handle.capabilities:
                await self._session.close()
        except LinkClosed:
            pass  # it is as free as can be
        finally:
            self._session.leave()

    # How it comes back.

    async def ready(self) -> Session:
        """Return the session in a running agent, which is started and resumed if necessary."""
        async with self._lock:
            for attempts_left in reversed(range(self.agent.restarts.deaths)):
                if self._is_closed:
                    raise LocalMistake("this session was closed")
                life = await self.agent.living_agent()
                try:
                    if life is not self.life:
                        await self._bring_back(life)
                    return self._session
                except LinkClosed as error:
                    self.agent.on_death(life, error)
                    if not attempts_left:  # it dies whenever this session is brought back, however slowly
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
        replay_count = len(session.late) if how == "load" else 0
        if how == "load" and self.agent.replay == "swallow":
            session.late.clear()
        session.late.extendleft(reversed(former.late))
        if how == "new":
            self.agent.report.on_context_lost(former.id, session.id, why)
        else:
            self.agent.report.on_resume(session.id, how, replayed=replay_count)

    async def _set_again(self, session: Session) -> None:
        """Set mode and options again: the agent may not have stored them."""
        try:
            if self._mode is not None and (
                session.modes is None or session.modes.current_mode_id != self._mode
            ):
                await session.set_mode(self._mode)
            for config_id, value in self._options.items():
                await session.set_config_option(config_id, value)
        except CANNOT as error:
            self.agent.report.note(f"the session's settings could not be restored: {error}")


class SupervisedTurn:
    """A turn, made by `SupervisedSession.prompt`. Iterate over it once, or await it."""

    def __init__(
        self,
        session: SupervisedSession,
        blocks: Sequence[v1.ContentBlock],
        *,
        silence: float | None,
        first_byte: float | None,
        keep_text: bool,
        meta: Mapping[str, Any] | None,
    ) -> None:
        self._meta = meta
        self._session = session
        self._blocks = blocks
        self._silence = silence
        self._first_byte = first_byte
        self._keep_text = keep_text
        self._turn: PromptTurn | None = None
        self._is_started = False

    @property
    def result(self) -> TurnResult:
        if self._turn is None:
            raise LocalMistake("the turn has no result before its last update was handled")
        return self._turn.result

    async def steer(
        self, *content: str | v1.ContentBlock, otherwise: SteerFallback = "restart"
    ) -> SteerOutcome:
        """Send a message while the turn runs; see `PromptTurn.steer`."""
        if self._turn is None:
            raise LocalMistake("no turn is running that could be steered; send a prompt")
        return await self._turn.steer(*content, otherwise=otherwise)

    def __aiter__(self) -> AsyncGenerator[v1.SessionUpdate, None]:
        return self._updates()

    def batches(self, *, keep_text: bool = False) -> AsyncGenerator[list[v1.SessionUpdate], None]:
        """Yield the updates in lists of those that arrived together, see `PromptTurn.batches`."""
        return self._read(keep_text=keep_text)

    def __await__(self) -> Generator[object, None, TurnResult]:
        return self._drain().__await__()

    async def texts(self) -> AsyncGenerator[str, None]:
        """Yield the agent's text, piece by piece; the turn itself yields all updates."""
        async with aclosing(self._updates()) as updates:
            async for update in updates:
                if isinstance(update, v1.AgentMessageChunk) and isinstance(update.content, v1.TextContent):
                    yield update.content.text

    async def _drain(self) -> TurnResult:
        async for _ in self:
            pass
        return self.result

    async def _updates(self) -> AsyncGenerator[v1.SessionUpdate, None]:
        async with aclosing(self._read(keep_text=self._keep_text)) as batches:
            async for batch in batches:
                for update in batch:
                    yield update

    async def _read(self, *, keep_text: bool) -> AsyncGenerator[list[v1.SessionUpdate], None]:
        if self._is_started:
            raise LocalMistake("a turn can be iterated only once")
        self._is_started = True
        tried_method: str | None = None
        while True:
            has_updates = False
            try:
                async with aclosing(self._once(keep_text=keep_text)) as batches:
                    async for batch in batches:
                        has_updates = True
                        yield batch
                return
            except CallFailed as refusal:
                if has_updates or not needs_login(refusal):
                    raise
                tried_method = await self._session.agent.log_in(refusal, tried_method=tried_method)

    async def _once(self, *, keep_text: bool) -> AsyncGenerator[list[v1.SessionUpdate], None]:
        session = await self._session.ready()
        turn = self._turn = session.prompt(*self._blocks, silence=self._silence, meta=self._meta)
        supervisor, life = self._session.agent, self._session.life
        watch = self._watch_first_byte(turn)
        supervisor.turns += 1
        try:
            async with aclosing(turn.batches(keep_text=keep_text)) as batches:
                async for batch in batches:
                    yield batch
        except (SilenceTimeout, FirstByteTimeout) as error:
            life.condemn(error)  # nothing at all was heard: the whole process hangs, not this turn alone
            raise
        except LinkClosed as error:
            supervisor.on_death(life, error)  # it knows by itself, but not that this turn was running
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
    """Gives up a turn if the agent sends nothing after the prompt."""

    __slots__ = ("_received_before", "_seconds", "_side", "_timer", "_turn")

    def __init__(self, turn: PromptTurn, side: SessionRouter, seconds: float) -> None:
        self._turn = turn
        self._side = side
        self._seconds = seconds
        self._wait()

    def cancel(self) -> None:
        self._timer.cancel()

    def _wait(self) -> None:
        self._received_before = self._side.received_bytes
        self._timer = asyncio.get_running_loop().call_later(self._seconds, self._look)

    def _look(self) -> None:
        if not self._turn.is_open:
            self._wait()  # it still waits for the end of the turn before it, and was not sent yet
        elif self._side.received_bytes == self._received_before:
            self._turn.give_up(FirstByteTimeout("the first word after a prompt", self._seconds))
