"""The turns of one session: v1's prompt stays open until the v2 session reports that it is idle.

In v2 the answer to a prompt only acknowledges it, and names the message that the prompt became. One prompt at
a time goes to the agent; v2's state speaks of the session as a whole, so two at once could not be told apart.
"""

from __future__ import annotations

from collections import deque

from msgspec import UNSET, Struct

from dragoman.dialect.message import Id, Message, Object, answer, as_object, as_text, refusal
from dragoman.dialect.v2.to_v1.fields import LossReporter, fits, with_originals
from dragoman.schema.v1.prompt import STOP_REASONS
from dragoman.wire.codes import INTERNAL_ERROR

HELD = 1000
"""The most updates to hold until a prompt is acknowledged. An agent that sends more before the
acknowledgement will not say which message was the prompt.
"""


class V2AgentTurn(Struct):
    """A prompt of the client."""

    message: Message
    """The request in the agent's form."""
    is_sent: bool = False
    is_acknowledged: bool = False
    message_id: str = ""
    ran: bool = False
    """Whether the session reported work after the prompt was sent."""
    has_stirred: bool = False
    """Whether the session has sent anything since then."""
    idle_update: Object | None = None
    """The idle state that came before the acknowledgement."""
    is_cancelled: bool = False
    over: bool = False
    """Whether the client has its answer, even if the agent sends more messages."""


class V2AgentTurns:
    """The running turn, and the waiting turns."""

    def __init__(self) -> None:
        self.running: V2AgentTurn | None = None
        self.waiting: deque[V2AgentTurn] = deque()
        self.held_updates: list[Object] = []
        """Updates that came before the agent said which message is the prompt itself, from the first that
        may be that message on.
        """
        self._echoes: set[str] = set()
        self._last_idle: Object | None = None

    def add(self, turn: V2AgentTurn) -> bool:
        """Add a turn; return whether it runs now."""
        if self.running is not None:
            self.waiting.append(turn)
            return False
        self._start(turn)
        return True

    def next(self) -> V2AgentTurn | None:
        """Return the next turn after the end of a turn, if it can start now."""
        if self.running is not None:
            self.running.over = True
        self.running = None
        if not self.waiting:
            return None
        self._start(self.waiting.popleft())
        return self.running

    def stir(self) -> None:
        if self.running is not None:
            self.running.has_stirred = True

    def ends(self, idle: Object) -> bool:
        """Whether this state ends the running turn. States are snapshots and may be repeated: a state
        equal to the last one, with nothing in between, belongs to the turn before.
        """
        turn, is_repeated = self.running, idle == self._last_idle
        self._last_idle = idle
        if turn is None:
            return False
        if turn.is_acknowledged:
            return turn.ran or turn.has_stirred or not is_repeated
        if turn.ran or self.held_updates:
            turn.idle_update = idle
        return False

    def cancel(self) -> None:
        """Drop the waiting turns: the agent will not get them."""
        for turn in self.waiting:
            turn.is_cancelled = True

    def find(self, request_id: Id) -> V2AgentTurn | None:
        turns = [self.running, *self.waiting]
        return next((turn for turn in turns if turn is not None and turn.message.id == request_id), None)

    def withdraw(self, turn: V2AgentTurn) -> None:
        self.waiting.remove(turn)

    def pop_unanswered(self) -> list[V2AgentTurn]:
        """Remove and return the client's open prompts for which the agent has no open request."""
        turns = [turn for turn in (self.running, *self.waiting) if turn is not None]
        self.running = None
        self.waiting.clear()
        return [turn for turn in turns if turn.is_acknowledged or not turn.is_sent]

    def is_echo(self, update: Object) -> bool:
        """Whether this is the prompt itself, which the client already shows."""
        return as_text(update.get("messageId")) in self._echoes

    def holds(self, update: Object) -> bool:
        """Hold an update until the prompt is acknowledged, if necessary; return whether it is held."""
        turn = self.running
        if turn is None or turn.is_acknowledged or len(self.held_updates) >= HELD:
            return False
        kind = update.get("sessionUpdate")
        if not self.held_updates and kind not in ("user_message", "user_message_chunk"):
            return False
        self.held_updates.append(update)
        return True

    def acknowledge(self, turn: V2AgentTurn, message_id: str) -> None:
        turn.is_acknowledged = True
        turn.message_id = message_id
        if message_id:
            self._echoes.add(message_id)

    def take_for_echo(self) -> None:
        """Count the held user messages as the prompt, when the caller can't wait for the acknowledgement."""
        for update in self.held_updates:
            if update.get("sessionUpdate") in ("user_message", "user_message_chunk"):
                self._echoes.add(as_text(update.get("messageId")))

    def forget_echoes(self) -> None:
        """Prepare for a replay of the whole conversation, prompts included."""
        self._echoes.clear()

    def let_go(self) -> list[Object]:
        updates, self.held_updates = self.held_updates, []
        return updates

    def _start(self, turn: V2AgentTurn) -> None:
        turn.is_sent = True
        self.running = turn
        self.held_updates = []


def outcome(turn: V2AgentTurn, idle: Object, report: LossReporter) -> Message:
    """Return the answer to the client's prompt, from the state that ended its turn."""
    reason = idle.get("stopReason")
    if reason == "error":
        return _failure(turn, as_object(idle.get("error")))
    if reason is None:
        report.note_repair("a turn that ended without a reason", "said as end_turn")
    result: Object = {"stopReason": reason if fits(reason, str) and reason in STOP_REASONS else "end_turn"}
    if type(idle.get("_meta")) is dict:
        result["_meta"] = idle["_meta"]
    if reason is not None and result["stopReason"] != reason:
        report.note_loss("a stop reason that v1 does not know", "said as end_turn, the original in _meta")
        result = with_originals(result, {"stopReason": reason})
    usage = _usage(idle.get("usage"))
    return answer(turn.message.id, {**result, "usage": usage} if usage else result)


def cancelled_answer(turn: V2AgentTurn) -> Message:
    return answer(turn.message.id, {"stopReason": "cancelled"})


def _failure(turn: V2AgentTurn, error: Object) -> Message:
    code, why = error.get("code"), error.get("message")
    if type(code) is not int or type(why) is not str:
        return refusal(turn.message.id, INTERNAL_ERROR, "Internal error: the agent failed")
    return refusal(turn.message.id, code, why, error.get("data", UNSET))


def _usage(value: object) -> Object | None:
    """v1 may have it in the answer; counts only."""
    counts = {name: count for name, count in as_object(value).items() if type(count) is int and count >= 0}
    required_counts = ("totalTokens", "inputTokens", "outputTokens")
    return counts if all(name in counts for name in required_counts) else None
