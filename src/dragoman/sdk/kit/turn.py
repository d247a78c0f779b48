"""One prompt turn in a durable session: stored as it goes, with tasks and commands of its own.

What is started with `start` and `run` belongs to the turn: it is waited for when the turn ends by itself, and
ended, process trees included, when the turn is cancelled or fails.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Mapping
from typing import TYPE_CHECKING, Generic, TypeVar

from dragoman.core import STOP_REASONS
from dragoman.errors import ErrorAnswer
from dragoman.schema import v1
from dragoman.sdk.agent.turn import Turn
from dragoman.sdk.kit import frames
from dragoman.sdk.kit.recording_speaker import RecordingSpeaker
from dragoman.sdk.kit.usage import TokenUsage

if TYPE_CHECKING:
    from dragoman.core import RunningTurn
    from dragoman.sdk.agent.client_handle import ClientHandle
    from dragoman.sdk.agent.session import AgentSession
    from dragoman.sdk.kit.local import CommandResult
    from dragoman.sdk.kit.log import KitJournal
    from dragoman.sdk.kit.session import KitSession


class StopTurn(Exception):
    """The turn is over, for this reason.

        if tokens > limit:
            raise StopTurn("max_tokens")

    Specification: https://agentclientprotocol.com/protocol/v1/prompt-turn#stop-reasons
    """

    def __init__(self, reason: v1.StopReason) -> None:
        if reason not in STOP_REASONS:
            raise ValueError(f"{reason!r} is no stop reason")
        super().__init__(reason)
        self.reason: v1.StopReason = reason


log = logging.getLogger(__name__)

C = TypeVar("C")
T = TypeVar("T")


class KitTurn(RecordingSpeaker, Turn, Generic[C]):
    """What a prompt handler of a kit gets.

        @kit.prompt
        async def reply(turn: KitTurn[None]) -> None:
            tests = await turn.run("make", "test")
            await turn.say("green" if tests.exit_code == 0 else "red")

    Specification: https://agentclientprotocol.com/protocol/v1/prompt-turn
    """

    session: KitSession[C]

    def __init__(
        self, client: ClientHandle, session: AgentSession, request: v1.PromptRequest, running: RunningTurn
    ) -> None:
        super().__init__(session.client, session, request, running)
        self.number = 0
        """Its number in the session, from 1; set when it begins."""
        self.over: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        """Done when the turn is stored and nothing of it runs any more."""
        self.spent = TokenUsage()
        self.requests = 0
        self.most_requests: int | None = None
        self._tasks: list[asyncio.Task[object]] = []
        self._answered = False

    # Its own tasks and commands.

    def start(self, work: Coroutine[object, None, T]) -> asyncio.Task[T]:
        """Run something beside the handler, within the turn. Its failure, if nobody awaits it, is the
        turn's.
        """
        task = asyncio.get_running_loop().create_task(work, name=f"turn {self.number} of {self.session.id}")
        self._tasks.append(task)
        return task

    async def run(
        self,
        command: str,
        *args: str,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
        output_bytes: int | None = None,
    ) -> CommandResult:
        """Run a command on this machine to its end, in the session's folders. Cancelled, its whole tree
        dies.
        """
        return await self.session.local.run(command, *args, cwd=cwd, env=env, output_bytes=output_bytes)

    async def join(self) -> None:
        """Until all tasks of the turn have ended; raises the first failure."""
        while pending := [task for task in self._tasks if not task.done()]:
            await asyncio.wait(pending, return_when=asyncio.FIRST_EXCEPTION)
            self._raise_failure()
        self._raise_failure()

    async def abort(self) -> None:
        """End all tasks of the turn."""
        pending = [task for task in self._tasks if not task.done()]
        for task in pending:
            task.cancel()
        if pending:
            await asyncio.wait(pending)

    def _raise_failure(self) -> None:
        for task in self._tasks:
            if task.done() and not task.cancelled() and (error := task.exception()) is not None:
                raise error

    # What it uses.

    def count_request(self) -> None:
        """A request to a model is about to be made; ends the turn when it would be one too many."""
        if self.most_requests is not None and self.requests >= self.most_requests:
            raise StopTurn("max_turn_requests")
        self.requests += 1

    async def spend(
        self,
        *,
        input_tokens: int = 0,
        output_tokens: int = 0,
        thought_tokens: int = 0,
        cached_read_tokens: int = 0,
        cached_write_tokens: int = 0,
        cost: float | None = None,
        currency: str = "USD",
        context_used: int | None = None,
        context_size: int | None = None,
    ) -> None:
        """Add to what this turn and its session have used; the client is told where the context is known."""
        spent = TokenUsage(
            input_tokens=input_tokens,
            output_tokens=output_tokens,
            thought_tokens=thought_tokens,
            cached_read_tokens=cached_read_tokens,
            cached_write_tokens=cached_write_tokens,
            cost=cost,
            currency=currency,
        )
        self.spent.add(spent)
        used = self.session.used
        used.spent.add(spent)
        used.context_used = used.context_used if context_used is None else context_used
        used.context_size = used.context_size if context_size is None else context_size
        update = used.update()
        if update is not None:
            await self.update(update)

    # Its place in the log.

    def begin(self) -> None:
        """Its prompt is part of the session from now on."""
        session = self.session
        session.turns += 1
        self.number = session.turns
        session.running.add(self)
        self._log.add("to_agent", frames.prompt_frame(self.number, self.request))

    def end(self, answer: bytes) -> None:
        """Its answer, once; nothing can be said after it."""
        super().close()
        if self.number and not self._answered:
            self._answered = True
            if self.spent != TokenUsage():
                self.session.store_usage()
            self._log.add("to_client", answer)

    def leave(self) -> None:
        """Nothing of it runs any more, and it is stored."""
        self.session.running.discard(self)
        if not self.session.running:
            self.session.lease.drop()
        if not self.over.done():
            self.over.set_result(None)

    def close(self) -> None:
        """Called when the prompt is answered, also without waiting for a handler that does not end."""
        left_behind = bool(self.number) and not self._answered
        self.end(frames.answer_frame(self.number, v1.PromptResponse(stop_reason="cancelled")))
        if left_behind:
            self.session.start(self._settle())

    def when_sent(self, then: Callable[[], None]) -> None:
        """Its last words are stored and sent first."""
        self.session.start(self._send_and(then))

    async def _send_and(self, then: Callable[[], None]) -> None:
        try:
            await self._log.catch_up()
        except ErrorAnswer as error:
            log.warning("the last words of a turn could not be stored: %s", error.message)
        finally:
            then()

    async def _settle(self) -> None:
        try:
            await self._log.flush()
        finally:
            self.leave()

    @property
    def _log(self) -> KitJournal:
        return self.session.log

    def _said(self, update: v1.SessionUpdate) -> None:
        self.session._said(update)
