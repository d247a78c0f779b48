"""Prompt turns whose handlers have threads: one at a time in a session, each with exactly one stop reason.

A cancel reaches the handler by the call that it is in, or makes next. Whatever it does then, the answer is
`cancelled` and never an error. A handler that does not stop in time is left behind: the turn is answered
without it and it can no longer speak.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from dragoman.blocking.signals import WakeGate
from dragoman.blocking.speaker import ThreadTurn
from dragoman.blocking.worker import Worker, current_worker
from dragoman.core import IncomingRequest, RunningTurn, TurnQueue
from dragoman.errors import Cancelled
from dragoman.schema.steering import STEERING
from dragoman.sdk.agent.prompt_rules import CANCELLED, check_blocks, response_to, write_response
from dragoman.sdk.agent.session import SteerMessage
from dragoman.sdk.agent.steering import answer_for
from dragoman.wire.codes import invalid_request, method_not_found

if TYPE_CHECKING:
    from dragoman.blocking.agent_link import AgentLink
    from dragoman.runtime import Answer
    from dragoman.schema.v1 import PromptRequest, PromptResponse
    from dragoman.sdk.agent.agent import Agent
    from dragoman.sdk.agent.session import AgentSession, ClientHandle


class _ThreadRunningTurn:
    """What belongs to a turn while it lasts."""

    __slots__ = ("answered", "machine", "over", "request", "start_gate", "turn", "worker")

    def __init__(self, incoming: IncomingRequest, machine: RunningTurn, turn: ThreadTurn) -> None:
        self.request = incoming
        self.machine = machine
        self.turn = turn
        self.worker: Worker | None = None  # once its handler runs
        self.start_gate = WakeGate()
        self.over = threading.Event()


class ThreadTurns:
    """Runs the prompt handler, in the thread that the link gives to each prompt."""

    def __init__(self, agent: Agent, client: ClientHandle, link: AgentLink) -> None:
        self._agent = agent
        self._client = client
        self._link = link
        self._turns = TurnQueue()
        self._running: dict[RunningTurn, _ThreadRunningTurn] = {}
        self._lock = threading.RLock()  # of the two above; a cancel may end a turn

    def prompt(self, incoming: IncomingRequest, session: AgentSession, request: PromptRequest) -> Answer:
        if "session/prompt" not in self._agent.handlers:
            raise method_not_found("session/prompt")
        check_blocks(self._agent, request)
        with self._lock:
            machine = self._turns.ask(session.id, may_wait=self._agent.busy == "queue")
            if machine is None:
                raise invalid_request("a turn is running in this session")
            running = _ThreadRunningTurn(
                incoming, machine, ThreadTurn(self._client, session, request, machine)
            )
            self._running[machine] = running
            if self._turns.running(session.id) is machine:
                running.start_gate.open()
        return self._run(running)

    def steer(self, session: AgentSession, request: PromptRequest, *, prompts_itself: bool) -> Answer:
        """Offer the running turn a message (`_session/steering`)."""
        check_blocks(self._agent, request)
        return self._offer(session, request, prompts_itself=prompts_itself)

    async def _offer(self, session: AgentSession, request: PromptRequest, *, prompts_itself: bool) -> bytes:
        """In the thread of the request, which waits for the turn."""
        decided, decisions = threading.Event(), list[bool]()

        def decide(is_taken: bool) -> None:
            decisions.append(is_taken)
            decided.set()

        with self._lock:  # the turn's end closes the inbox under the same lock
            machine = self._turns.running(session.id)
            if machine is None or machine.is_cancelled:
                return answer_for(is_taken=False, prompts_itself=prompts_itself)
            turn = self._running[machine].turn
            message = SteerMessage(prompt=request.prompt, turn=turn)
            handler = self._agent.handlers.get(STEERING)
            if handler is None:
                turn.inbox.put(message, decide)
        if handler is not None:
            decide(await handler.work(message, self._client) is not False)
        decided.wait()  # until the turn takes it, or ends
        return answer_for(is_taken=decisions[0], prompts_itself=prompts_itself)

    def cancel(self, session_id: str) -> None:
        """`session/cancel`: every turn asked for so far in this session."""
        with self._lock:
            hit = [self._running[machine] for machine in self._turns.cancel(session_id)]
        for running in hit:
            self._stop(running)

    def cancel_request(self, incoming: IncomingRequest) -> bool:
        """`$/cancel_request` for a prompt means the same, for this prompt alone."""
        for running in tuple(self._running.values()):
            if running.request is incoming:
                running.machine.is_cancelled = True
                self._stop(running)
                return True
        return False

    async def cancel_and_wait(self, session_id: str) -> None:
        """In the thread of whoever closes the session."""
        self.cancel(session_id)
        for running in tuple(self._running.values()):
            if running.machine.session_id == session_id:
                running.over.wait()

    async def _run(self, running: _ThreadRunningTurn) -> bytes:
        stop_reason = "cancelled"
        try:
            running.start_gate.wait()
            response = await self._handle(running)
            stop_reason = response.stop_reason
            return write_response(response, self._client.capabilities)
        except Cancelled:
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

    async def _handle(self, running: _ThreadRunningTurn) -> PromptResponse:
        handler = self._agent.handlers.get("session/prompt")
        assert handler is not None
        outcome = None
        running.worker = current_worker()
        # Looked at after the worker is shown: a cancel that did not see it has set the mark before.
        if not running.machine.is_cancelled:
            outcome = await handler.work(running.turn, self._client)
        return response_to(outcome, is_cancelled=running.machine.is_cancelled)

    def _finish(self, running: _ThreadRunningTurn, stop_reason: str) -> None:
        with self._lock:
            running.turn.close()
            self._running.pop(running.machine, None)
            following = self._turns.end(running.machine, stop_reason)
            if following is not None:
                self._running[following].start_gate.open()
        running.over.set()

    def _stop(self, running: _ThreadRunningTurn) -> None:
        if running.worker is None:
            running.start_gate.open()  # it waits its turn, and need not any more
            return
        running.worker.cancel()
        self._link.later(self._client.limits.cancel_seconds, lambda: self._leave_behind(running))

    def _leave_behind(self, running: _ThreadRunningTurn) -> None:
        if not running.over.is_set() and self._link.close_reason is None:
            self._finish(running, "cancelled")
            self._link.settle(running.request, CANCELLED)
