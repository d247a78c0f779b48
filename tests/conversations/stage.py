"""Plays a script between an agent and a client of ours, and holds the play to what is promised.

Whatever the interleaving: nobody waits for ever, every request is answered once, every turn has one stop
reason, updates arrive in order and before the answer that follows them, and nothing is left behind.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from dragoman import AgentHandle, Limits, Session, connect
from dragoman.errors import CallFailed, CallTimeout, LinkClosed, LocalMistake
from dragoman.runtime import Link
from dragoman.sdk.agent.side import AgentSide
from dragoman.sdk.agent.turns import AgentTurns
from dragoman.sdk.client.side import ClientSide
from dragoman.sdk.serve import ServeContext, serving
from dragoman.transport.memory import memory_pair
from tests.conversations.actors import Played, make_agent, make_client, spin, text_of
from tests.conversations.scripts import SESSIONS, Op, Program, Script
from tests.conversations.tap import Tap, check_answers

LIMITS = Limits(backlog_bytes=20_000, backlog_hard_bytes=600_000, call_seconds=300.0)
LONG = 1000.0
"""Seconds after which everything that ends by itself has ended."""


class Reading:
    """One turn as its reader saw it."""

    def __init__(self, session: Session, played: Played) -> None:
        self.session = session
        self.played = played
        self.texts: list[str] = []
        self.left_early = False
        self.outcome: object = None
        self.not_handled: list[str] = []
        """What the update handler had not finished with when the result was seen."""


class Stage:
    """One performance."""

    def __init__(self, script: Script) -> None:
        self.script = script
        self.played: list[Played] = []
        self.readings: list[Reading] = []
        self.handled: dict[str, list[str]] = {}
        self.decisions: list[bool] = []
        self.allowed = 0
        self.asked_in_vain = 0
        self.tasks: list[asyncio.Task[None]] = []
        self.cut = False
        ours, theirs = memory_pair()
        self.client_end, self.agent_end = Tap(ours), Tap(theirs)
        self.served: ServeContext
        self.agent_link: Link
        self.handle: AgentHandle
        self.sessions: list[Session] = []

    async def play(self) -> None:
        self.served = serving(make_agent(self), self.agent_end, limits=LIMITS)
        async with self.served as self.agent_link:
            async with connect(self.client_end, client=make_client(self), limits=LIMITS) as self.handle:
                self.sessions = [await self.handle.new_session(cwd="/tmp") for _ in range(SESSIONS)]
                for number, step in enumerate(self.script.steps):
                    if self.script.cut is not None and self.script.cut[0] == number:
                        await self._cut(self.script.cut[1])
                    await self._do(step)
                await self._come_to_rest()
                if not self.cut:
                    self._check_rest()
            assert not self.handle.link.connection.calls
        check_answers(self.client_end, self.agent_end, cut=self.cut)
        check_answers(self.agent_end, self.client_end, cut=self.cut)
        for reading in self.readings:
            self._check_reading(reading)
        self._check_handled()
        assert sum(self.decisions) <= self.allowed, "a tool ran that nobody allowed"
        assert not self.asked_in_vain, "the user was asked in a turn that had been cancelled"

    def asked_in(self, session_id: str) -> None:
        self.asked_in_vain += self.handle.side.sessions[session_id].cancelling

    # What the user does.

    async def _do(self, step: Op) -> None:
        match step:
            case ("prompt", int(session), Program() as program, how):
                played = Played(len(self.played), program)
                self.played.append(played)
                self._start(self._read(self.sessions[session], played, how))
            case ("turns", int(count)):
                await spin(count)
            case ("sleep", float(seconds)):
                await asyncio.sleep(seconds)
            case ("cancel", int(session)):
                await self._unless_gone(self.sessions[session].cancel)
            case ("abandon", int(number)):
                if number < len(self.tasks):
                    self.tasks[number].cancel()
            case ("call", deadline, cancel_after):
                self._start(self._call(deadline, cancel_after))
            case ("close", int(session)):
                self._start(self._unless_gone(self.sessions[session].close))
            case _:
                raise AssertionError(step)

    def _start(self, work: Any) -> None:
        self.tasks.append(asyncio.create_task(work))

    async def _cut(self, whose: str) -> None:
        self.cut = True
        match whose:
            case "client":
                await self.handle.link.aclose()
            case "agent":
                await self.agent_link.aclose()
            case "client's transport":
                await self.client_end.aclose()
            case _:
                await self.agent_end.aclose()

    @staticmethod
    async def _unless_gone(work: Callable[[], Awaitable[object]]) -> None:
        try:
            await work()
        except (LinkClosed, CallFailed):
            pass

    async def _call(self, deadline: float | None, cancel_after: int | None) -> None:
        current = asyncio.current_task()
        assert current is not None
        loop = asyncio.get_running_loop()
        if cancel_after is not None:
            loop.call_later(cancel_after * 0.1, current.cancel)
        try:
            assert await self.handle.call("_agent", "x", deadline=deadline) == "x"
        except (LinkClosed, CallTimeout):
            pass
        except CallFailed as failed:
            if not self.cut or failed.code != -32800:  # an agent that is being closed may still say so
                raise

    async def _read(self, session: Session, played: Played, how: Op) -> None:
        reading = Reading(session, played)
        self.readings.append(reading)
        # A handler that runs already when the prompt is sent may be overtaken by the answer (ADR 4).
        strict = self.script.updates != "none" and not self.handle.link.lanes and session.turn is None
        turn = session.prompt(str(played.number))
        try:
            reading.left_early = True  # until it is known better
            async for update in turn:
                if text := text_of(update):
                    reading.texts.append(text)
                if not await self._between(how, len(reading.texts)):
                    return
            reading.left_early = False
            reading.outcome = turn.result.stop_reason
            if strict:
                handled = set(self.handled.get(session.id, ()))
                reading.not_handled = [text for text in reading.texts if text not in handled]
        except (CallFailed, LinkClosed, LocalMistake) as error:
            reading.left_early = False
            reading.outcome = error

    async def _between(self, how: Op, count: int) -> bool:
        match how:
            case ("slow", int(turns)):
                await spin(turns)
            case ("break", int(after)):
                return count < after
            case ("call", int(after)) if count == after:
                await self._unless_gone(lambda: self.handle.call("_agent", "y"))
            case ("pause", float(seconds)) if count == 1:
                await asyncio.sleep(seconds)
        return True

    async def _come_to_rest(self) -> None:
        """What ends by itself ends; what waits for the user's word is cancelled."""
        await asyncio.sleep(LONG)
        for session in self.sessions:
            await self._unless_gone(session.cancel)
        if self.tasks:
            _, hanging = await asyncio.wait(self.tasks, timeout=LONG)
            assert not hanging, f"still waiting: {hanging}"
        for task in self.tasks:
            if not task.cancelled():
                assert task.exception() is None, task.exception()
        await asyncio.sleep(LONG)

    # What must hold.

    def _check_rest(self) -> None:
        for link in (self.handle.link, self.agent_link):
            connection = link.connection
            assert not connection.calls, f"{link.name} still waits for {list(connection.calls.values())}"
            assert not connection.incoming_requests, (
                f"{link.name} still owes {list(connection.incoming_requests.values())}"
            )
            assert not link.lanes, f"{link.name} has busy lanes"
            assert link.lanes.size == 0, f"{link.name} counts {link.lanes.size} bytes in lanes"
            assert not link.on_hold, f"{link.name} does not read: {link._holds}"
            assert not link.outbox.buffer, f"{link.name} has unsent bytes"
            assert link.transport.pending == 0
        side = self.agent_link._router
        assert isinstance(side, AgentSide)
        turns = side._turns
        assert isinstance(turns, AgentTurns)
        assert not turns._running, "a turn is still known to the agent"
        assert not turns._turns._running, "a turn is still running"
        assert not turns._turns._waiting, "a turn is still waiting"
        client = self.handle.side
        assert isinstance(client, ClientSide)
        assert not client._permissions, "a question is still open"
        assert not client._behind, "a reader is still behind"
        assert all(session.turn is None for session in self.sessions), "a session still has a turn"

    def _check_reading(self, reading: Reading) -> None:
        played, outcome = reading.played, reading.outcome
        assert reading.texts == played.said[: len(reading.texts)], "updates out of order, or of another turn"
        if self.cut or reading.left_early or isinstance(outcome, LocalMistake):
            return  # an agent that is being closed answers as its handlers take it
        assert reading.not_handled == [], "the answer overtook the handlers of updates before it"
        if isinstance(outcome, CallFailed) and outcome.code == -32002:
            assert not played.began, "a turn of a closed session was played"
            return
        assert reading.texts == played.said, "an update was lost, or came after the answer"
        if not played.began or played.cancelled_at_end or played.left_behind:
            assert outcome == "cancelled", f"a cancelled turn ended with {outcome}"
        elif played.program.ending in ("raise", "error"):
            assert isinstance(outcome, CallFailed)
            assert outcome.code == (-32603 if played.program.ending == "raise" else -32099)
        else:
            assert outcome == played.program.ending

    def _check_handled(self) -> None:
        """Every update reached the handler once, in the order in which the agent said it."""
        if self.script.updates == "none":
            return
        for session in self.sessions:
            handled = [text for text in self.handled.get(session.id, ()) if text]
            said = self._said_in(session)
            assert handled == said[: len(handled)], "updates were handled out of order"
            if not self.cut and not self._was_closed(session):
                assert handled == said, "an update never reached its handler"

    def _said_in(self, session: Session) -> list[str]:
        notes = [frame["params"] for frame in self.agent_end.said if frame.get("method") == "session/update"]
        chunks = [note["update"] for note in notes if note["sessionId"] == session.id]
        return [chunk["content"]["text"] for chunk in chunks if "chunk" in chunk["sessionUpdate"]]

    def _was_closed(self, session: Session) -> bool:
        return session.id not in self.handle.side.sessions
