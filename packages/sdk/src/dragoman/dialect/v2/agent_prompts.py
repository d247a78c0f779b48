"""Turns prompts of a v1 client into turns of a v2 agent. The agent's state ends each turn.

The agent tells of the prompt itself as a message of the user, which a v1 client has shown already. Which
message that is, the acknowledgement says; it may come after the message. So from the first message of the
user on, updates wait for the acknowledgement.
"""

from __future__ import annotations

from dragoman.dialect.edge import Out
from dragoman.dialect.message import (
    Id,
    Message,
    Object,
    as_object,
    as_text,
    notification,
    refusal,
    with_params,
)
from dragoman.dialect.v2.agent_requests import ForwardedRequests
from dragoman.dialect.v2.agent_session import V2AgentSession, V2AgentSessions, update_messages
from dragoman.dialect.v2.agent_turns import V2AgentTurn, cancelled_answer, outcome
from dragoman.dialect.v2.to_v1.fields import LossReporter
from dragoman.dialect.v2.to_v2.content import blocks
from dragoman.dialect.v2.to_v2.writer import V2Writer
from dragoman.wire.codes import CANCELLED, INVALID_PARAMS, NAMES


class V2AgentPrompts:
    """The turns of all sessions."""

    def __init__(self, report: LossReporter, sessions: V2AgentSessions, requests: ForwardedRequests) -> None:
        self._tell = report
        self._sessions = sessions
        self._requests = requests

    def on_prompt(self, message: Message) -> list[Out]:
        """Handle a `session/prompt` of the client."""
        params = as_object(message.params)
        session = self._sessions.of(as_text(params.get("sessionId")))
        prompt = blocks(params.get("prompt"), V2Writer(self._tell, session.cwd))
        if not prompt:
            return [("inside", refusal(message.id, INVALID_PARAMS, "Invalid params: the prompt is empty"))]
        if prompt != params["prompt"]:
            message = with_params(message, {**params, "prompt": prompt})
        turn = V2AgentTurn(message)
        if session.turns.add(turn):
            return [self._send(session, turn)]
        self._tell.note_repair("a prompt while another is open", "sent when the other has ended")
        return []

    def on_acknowledgement(self, turn: V2AgentTurn, session: V2AgentSession, result: Object) -> list[Out]:
        """Note that the agent has accepted the prompt."""
        session.turns.acknowledge(turn, as_text(result.get("messageId")))
        if not turn.message_id:  # an older draft; what was held is the prompt, as far as anybody can know
            session.turns.take_for_echo()
        outs = self.let_go(session)
        if turn.idle_update is not None:
            outs += self.on_turn_end(session, outcome(turn, turn.idle_update, self._tell))
        return outs

    def on_failure(self, session: V2AgentSession, sorry: Message) -> list[Out]:
        """Note that the agent has refused the prompt."""
        return [*self.let_go(session), *self.on_turn_end(session, sorry)]

    def changed_state(self, session: V2AgentSession, update: Object) -> list[Out]:
        """Handle a `state_update`."""
        outs = update_messages(session, session.calls.rest())
        if update.get("background"):
            self._tell.note_loss("work in the background", "not sent: a session of v1 has none")
        turn = session.turns.running
        if update.get("state") != "idle":
            if turn is not None:
                turn.ran = True
            elif update.get("state") == "running":
                self._tell.note_repair("work that no prompt asked for", "its updates go on outside of a turn")
        elif session.turns.ends(update) and turn is not None:
            outs += self.on_turn_end(session, outcome(turn, update, self._tell))
        return outs

    def on_turn_end(self, session: V2AgentSession, result: Message) -> list[Out]:
        """End the running turn, and the turns that were cancelled while they waited."""
        outs: list[Out] = [("inside", result)]
        self._requests.forget(result.id)
        turn = session.turns.next()
        while turn is not None and turn.is_cancelled:
            outs.append(("inside", cancelled_answer(turn)))
            turn = session.turns.next()
        return outs if turn is None else [*outs, self._send(session, turn)]

    def on_close(self, session: V2AgentSession) -> list[Out]:
        """Cancel the client's open prompts, because the session is closed."""
        outs = self.let_go(session)
        session.turns.cancel()
        if session.turns.running is not None:
            outs += self.on_turn_end(session, cancelled_answer(session.turns.running))
        return outs

    def withdraw(self, request_id: Id) -> list[Out] | None:
        """Cancel this prompt, because the client no longer needs its answer; None if the
        prompt is not open.
        """
        for session in self._sessions.all():
            turn = session.turns.find(request_id)
            if turn is None:
                continue
            if not turn.is_sent:
                session.turns.withdraw(turn)
                return [("inside", refusal(request_id, CANCELLED, NAMES[CANCELLED]))]
            if turn.is_acknowledged:  # for the agent its request is over; the turn is not
                return [("peer", notification("session/cancel", {"sessionId": session.id}))]
        return None

    def let_go(self, session: V2AgentSession) -> list[Out]:
        """Return the messages that waited until the prompt's message was known."""
        outs: list[Out] = []
        for update in session.turns.let_go():
            if not session.turns.is_echo(update):
                outs += update_messages(session, session.updates(update))
        return outs

    def _send(self, session: V2AgentSession, turn: V2AgentTurn) -> Out:
        message = turn.message
        return self._requests.send(message, "session/prompt", message.params, session.id, turn=turn)
