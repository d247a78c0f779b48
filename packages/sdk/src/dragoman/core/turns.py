"""State machine of turns: a session runs one turn at a time, and a cancel affects only the turns requested
before it.

    asked ──▶ running ──▶ over          cancel marks what is running or waiting at that moment,
      └──▶ waiting ──▶ running          and nothing that is asked for later

A prompt that arrives while another runs waits its turn (or is refused, when the agent prefers that). It
also waits while a cancelled turn is still cleaning up, so that "cancel, then prompt again" never fails.
"""

from __future__ import annotations

from collections import deque
from enum import Enum

STOP_REASONS = frozenset({"end_turn", "max_tokens", "max_turn_requests", "refusal", "cancelled"})


class TurnState(Enum):
    WAITING = "waiting"
    RUNNING = "running"
    OVER = "over"


class RunningTurn:
    """One prompt, from its arrival to its answer."""

    __slots__ = ("is_cancelled", "session_id", "state", "stop_reason")

    def __init__(self, session_id: str) -> None:
        self.session_id = session_id
        self.state = TurnState.WAITING
        self.is_cancelled = False
        self.stop_reason: str | None = None


class TurnQueue:
    """All turns of one connection."""

    __slots__ = ("_limit", "_running", "_waiting")

    def __init__(self, *, waiting_limit: int = 64) -> None:
        self._limit = waiting_limit
        self._running: dict[str, RunningTurn] = {}
        self._waiting: dict[str, deque[RunningTurn]] = {}

    def ask(self, session_id: str, *, may_wait: bool = True) -> RunningTurn | None:
        """Add a prompt. The returned turn is running or waiting; None means that it is refused."""
        turn = RunningTurn(session_id)
        current = self._running.get(session_id)
        if current is None:
            turn.state = TurnState.RUNNING
            self._running[session_id] = turn
            return turn
        queue = self._waiting.setdefault(session_id, deque())
        # Behind cancelled turns everybody may wait. Behind one that will run, a patient agent's prompt only.
        if len(queue) >= self._limit or not (
            may_wait or all(ahead.is_cancelled for ahead in (current, *queue))
        ):
            return None
        queue.append(turn)
        return turn

    def running(self, session_id: str) -> RunningTurn | None:
        return self._running.get(session_id)

    def cancel(self, session_id: str) -> list[RunningTurn]:
        """Mark every turn requested so far as cancelled; return those that were not cancelled before."""
        current = self._running.get(session_id)
        turns = [current, *self._waiting.get(session_id, ())] if current else []
        hit = [turn for turn in turns if not turn.is_cancelled]
        for turn in hit:
            turn.is_cancelled = True
        return hit

    def end(self, turn: RunningTurn, stop_reason: str) -> RunningTurn | None:
        """Note that the turn was answered. Return the next turn, if one was waiting."""
        if turn.state is TurnState.OVER:
            return None
        was_running = turn.state is TurnState.RUNNING
        turn.state, turn.stop_reason = TurnState.OVER, stop_reason
        queue = self._waiting.get(turn.session_id)
        if not was_running:
            if queue is not None:
                queue.remove(turn)
            return None
        self._running.pop(turn.session_id, None)
        if not queue:
            self._waiting.pop(turn.session_id, None)
            return None
        following = queue.popleft()
        following.state = TurnState.RUNNING
        self._running[turn.session_id] = following
        return following
