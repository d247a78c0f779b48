"""Prompt turns of one connection: one at a time per session, each with exactly one stop reason.

A cancel reaches the handler as the cancellation of its task, with time to clean up; whatever it does then,
the answer is `cancelled` and never an error. A handler that does not stop in time is left behind: the turn
is answered without it and it can no longer speak.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dragoman.core import IncomingRequest, RunningTurn, TurnQueue
from dragoman.runtime import Answer
from dragoman.runtime.deferred_module import DeferredModule
from dragoman.schema import v1
from dragoman.schema.steering import STEERING
from dragoman.sdk.agent.agent import Agent
from dragoman.sdk.agent.prompt_rules import CANCELLED, check_blocks, response_to, write_response
from dragoman.sdk.agent.session import AgentSession, ClientHandle, SteerMessage, Turn
from dragoman.sdk.agent.steering import answer_for
from dragoman.wire.codes import invalid_request, method_not_found

if TYPE_CHECKING:
    import asyncio
else:
    asyncio = DeferredModule("asyncio")


class _TaskRunningTurn:
    """A running turn with its task, its timer and its futures."""

    __slots__ = ("end_future", "machine", "patience", "request", "start_future", "task", "turn")

    def __init__(self, incoming: IncomingRequest, machine: RunningTurn, turn: Turn) -> None:
        loop = asyncio.get_running_loop()
        self.request = incoming
        self.machine = machine
        self.turn = turn
        self.task: asyncio.Task[object] | None = None
        self.patience: asyncio.TimerHandle | None = None
        self.start_future: asyncio.Future[None] = loop.create_future()
        self.end_future: asyncio.Future[None] = loop.create_future()


class AgentTurns:
    """Runs the prompt handler."""

    __slots__ = ("_agent", "_client", "_running", "_turns")

    def __init__(self, agent: Agent, client: ClientHandle) -> None:
        self._agent = agent
        self._client = client
        self._turns = TurnQueue()
        self._running: dict[RunningTurn, _TaskRunningTurn] = {}

    def prompt(self, incoming: IncomingRequest, session: AgentSession, request: v1.PromptRequest) -> Answer:
        if "session/prompt" not in self._agent.handlers:
            raise method_not_found("session/prompt")
        check_blocks(self._agent, request)
        machine = self._turns.ask(session.id, may_wait=self._agent.busy == "queue")
        if machine is None:
            raise invalid_request("a turn is running in this session")
        running = _TaskRunningTurn(
            incoming, machine, session.turn_type(self._client, session, request, machine)
        )
        self._running[machine] = running
        if self._turns.running(session.id) is machine:
            running.start_future.set_result(None)
        return self._run(running)

    def steer(self, session: AgentSession, request: v1.PromptRequest, *, prompts_itself: bool) -> Answer:
        """Offer a message to the running turn (`_session/steering`)."""
        check_blocks(self._agent, request)
        machine = self._turns.running(session.id)
        if machine is None or machine.is_cancelled:
            return answer_for(is_taken=False, prompts_itself=prompts_itself)
        message = SteerMessage(prompt=request.prompt, turn=self._running[machine].turn)
        return self._offer(message, prompts_itself=prompts_itself)

    async def _offer(self, message: SteerMessage, *, prompts_itself: bool) -> bytes:
        handler = self._agent.handlers.get(STEERING)
        if handler is not None:
            is_taken = await handler.work(message, self._client) is not False
        else:
            decision: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
            message.turn.inbox.put(
                message, lambda taken: None if decision.done() else decision.set_result(taken)
            )
            is_taken = await decision
        return answer_for(is_taken=is_taken, prompts_itself=prompts_itself)

    def cancel(self, session_id: str) -> list[_TaskRunningTurn]:
        """Cancel every turn requested so far in this session (`session/cancel`)."""
        hit = [self._running[machine] for machine in self._turns.cancel(session_id)]
        for running in hit:
            self._stop(running)
        return hit

    def cancel_request(self, incoming: IncomingRequest) -> bool:
        """Cancel one prompt (`$/cancel_request`)."""
        for running in self._running.values():
            if running.request is incoming:
                running.machine.is_cancelled = True
                self._stop(running)
                return True
        return False

    async def cancel_and_wait(self, session_id: str) -> None:
        self.cancel(session_id)
        waiting = [
            running.end_future
            for running in self._running.values()
            if running.machine.session_id == session_id
        ]
        if waiting:
            await asyncio.wait(waiting)

    async def _run(self, running: _TaskRunningTurn) -> bytes:
        running.task = asyncio.current_task()
        stop_reason = "cancelled"
        try:
            await running.start_future
            if running.machine.is_cancelled:
                return CANCELLED
            response = await self._handle(running)
            stop_reason = response.stop_reason
            return write_response(response, self._client.capabilities)
        except asyncio.CancelledError:
            if not running.machine.is_cancelled:
                raise  # not the client's cancel: the connection is being closed
            return CANCELLED
        except Exception:
            # An abort often surfaces as some library's own exception; after a cancel that is not an error.
            if running.machine.is_cancelled:
                return CANCELLED
            raise
        finally:
            self._finish(running, stop_reason)

    async def _handle(self, running: _TaskRunningTurn) -> v1.PromptResponse:
        handler = self._agent.handlers.get("session/prompt")
        assert handler is not None
        outcome = await handler.work(running.turn, self._client)
        return response_to(outcome, is_cancelled=running.machine.is_cancelled)

    def _finish(self, running: _TaskRunningTurn, stop_reason: str) -> None:
        running.turn.close()
        if running.patience is not None:
            running.patience.cancel()
        self._running.pop(running.machine, None)
        if not running.end_future.done():
            running.end_future.set_result(None)
        following = self._turns.end(running.machine, stop_reason)
        # One that is done was cancelled while it waited, and is about to hear of it.
        if following is not None and not (start_future := self._running[following].start_future).done():
            start_future.set_result(None)

    def _stop(self, running: _TaskRunningTurn) -> None:
        if running.task is None:
            return  # not started: it sees the mark when it does
        running.task.cancel()
        loop = asyncio.get_running_loop()
        running.patience = loop.call_later(self._client.limits.cancel_seconds, self._leave_behind, running)

    def _leave_behind(self, running: _TaskRunningTurn) -> None:
        if running.end_future.done() or self._client.link.close_reason is not None:
            return
        self._finish(running, "cancelled")
        running.turn.when_sent(lambda: self._client.link.settle(running.request, CANCELLED))
