"""Loads or resumes a session in an agent process, by a request of the hub.

That request is in the session's stream before it is sent, and its answer is acknowledged when what came of it
is stored. So a hub that ends meanwhile, killed or told to, leaves the load as it is, and the next one waits
for the same answer: what the process asks while it loads gets its answer, and what it tells of the past is
not taken for something new.

A load that fails is given up in order: what the process has asked is answered by frames of the stream, and
only when the agent's host has them does the stream say that the process does not know the session.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from msgspec import Raw

from dragoman.errors import LinkClosed
from dragoman_hub.session.frames import object_of

if TYPE_CHECKING:
    from dragoman_hub.agents.process import AgentProcess
    from dragoman_hub.engine.live_session import LiveSession

LOAD_SECONDS = 300.0


class SessionLoad:
    """One load, from the request to its answer; ends with `finish` or `give_up`, or with the hub."""

    def __init__(self, session: LiveSession, process: AgentProcess, number: int, method: str) -> None:
        """`number` is the id of the request in the stream."""
        self.session = session
        self.process = process
        self.own = session.state.agent_session
        self.is_first = session.state.is_incomplete
        """Whether the hub has nothing of the session yet: what the process tells of the past is stored."""
        self.answer_number = 0
        """The number of the frame that is the answer."""
        self._number = number
        self._method = method
        self._answer: asyncio.Future[Raw] = process.promise(number, method)
        self._answer.add_done_callback(retrieve_exception)
        process.keep_answer(number)
        process.sessions[self.own] = session
        session.is_replaying = not self.is_first

    async def send(self, params: dict[str, Any]) -> None:
        """Send the request. Before the first use of the session, the next hub finds it, and knows of the
        load.
        """
        try:
            await self.session.hub.will_run(self.session)
            await self.session.wait_until_stored()
            if self.session.state.phase != "open":
                raise LinkClosed("the session was closed before its agent was asked to load it")
        except BaseException:  # nobody waits for an answer to what was not sent
            self.session.leave_load(self.process)
            self._forget()
            raise
        self.process.request_load(self.session, self._number, self._method, params)

    def fail_unsent(self) -> None:
        """Fail a load whose entry the previous hub had stored, but whose request it had not sent."""
        self._fail("the hub ended before it asked the agent for the session")

    def _fail(self, why: str) -> None:
        if not self._answer.done():
            self._answer.set_exception(LinkClosed(why))

    async def result(self) -> dict[str, Any]:
        """Return the answer of the process. Raises the same as `AgentProcess.call`, and `LinkClosed` if the
        session is closed or moves to another node first.
        """
        closed_task = asyncio.get_running_loop().create_task(self.session.closed_event.wait())
        closed_task.add_done_callback(
            lambda _: self._fail("the session was closed while its agent loaded it")
        )
        try:
            answer = await self.process.result(
                self._answer,
                self._method,
                within=LOAD_SECONDS,
                waits_for_person=lambda: self.session.state.waits_for_person,
            )
        finally:
            closed_task.cancel()
        self.answer_number = self.process.number_of_answer(self._number)
        return dict(object_of(answer))

    def finish(self) -> None:
        """Finish the load: the process knows the session."""
        self.session.is_replaying = False
        self._settle_answer()

    async def give_up(self) -> None:
        """Give up the load: the process does not know the session."""
        await self.session.give_up_load(self.process)
        self._forget()

    def _forget(self) -> None:
        session, process = self.session, self.process
        session.is_replaying = False
        # One that is being closed forgets it by itself, and for good.
        if process.sessions.get(self.own) is session and session.process is not process:
            process.forget(session)
        self._settle_answer()

    def _settle_answer(self) -> None:
        self._answer.cancel()
        receipt = self.process.take_answer(self._number)
        if receipt is not None:
            self.session.keep_receipt(self.process, receipt)


def retrieve_exception(future: asyncio.Future[Any]) -> None:
    """Mark a failure as seen, because its waiter may be gone."""
    if not future.cancelled():
        future.exception()
