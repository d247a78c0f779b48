"""A process brings a session back: it loads or resumes it, by a request of the hub's.

That request is in the session's stream before it is sent, and its answer is acknowledged when what came of it
is stored. So a hub that is killed meanwhile is followed by one that waits for the same answer: what the
process asks while it loads gets its answer, and what it tells of the past is not taken for something new.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from msgspec import Raw

from dragoman.hub.session.frames import object_of

if TYPE_CHECKING:
    from dragoman.hub.agents.process import AgentProcess
    from dragoman.hub.engine.live_session import LiveSession

LOAD_SECONDS = 300.0


class SessionLoad:
    """`with SessionLoad(…) as load:`; the session is bound to the process behind it if `is_done` is set."""

    def __init__(self, session: LiveSession, process: AgentProcess, number: int, method: str) -> None:
        """`number` is the id of the request, which is in the stream."""
        self.session = session
        self.process = process
        self.own = session.state.agent_session
        self.heard = 0
        """The number of the frame that is the answer."""
        self.is_done = False
        self._number = number
        self._method = method
        self._answer: asyncio.Future[Raw] = process.promise(number, method)
        process.keep_answer(number)
        process.sessions[self.own] = session
        session.is_replaying = True  # what it tells of the past is in the stream already

    def __enter__(self) -> SessionLoad:
        return self

    async def send(self, params: dict[str, Any]) -> None:
        """The next hub looks for the session, and knows of the load, before anything can be asked in it."""
        await self.session.hub.will_run(self.session)
        await self.session.stored()
        self.process.request(self._number, self._method, params)

    async def result(self) -> dict[str, Any]:
        """What the process answers. Raises what `AgentProcess.call` does."""
        made = await self.process.result(self._answer, self._method, within=LOAD_SECONDS)
        self.heard = self.process.number_of_answer(self._number)
        return dict(object_of(made))

    def __exit__(self, *_: object) -> None:
        session, process = self.session, self.process
        session.is_replaying = False
        if not self.is_done:
            process.sessions.pop(self.own, None)
            process.bound.pop(session.id, None)
            session.give_up_load(process)
        self._answer.cancel()
        receipt = process.take_answer(self._number)
        if receipt is not None:
            session.keep_receipt(process, receipt)
