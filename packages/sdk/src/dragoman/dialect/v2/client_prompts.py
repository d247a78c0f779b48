"""Prompts of a v2 client to a v1 agent, which runs one at a time: a second prompt waits, unacknowledged."""

from __future__ import annotations

from dragoman.dialect.edge import Out
from dragoman.dialect.message import Json, Message, Object, as_list, as_object
from dragoman.dialect.v2.client_desk import PendingCall, PendingCalls, no_session, refuse
from dragoman.dialect.v2.client_session import V2ClientSession
from dragoman.dialect.v2.to_v1.content import blocks as blocks_in_v1
from dragoman.dialect.v2.to_v2.content import blocks as blocks_in_v2
from dragoman.wire.codes import CANCELLED, INVALID_PARAMS


class V2ClientPrompts:
    def __init__(self, desk: PendingCalls) -> None:
        self._desk = desk

    def ask(self, message: Message) -> list[Out]:
        params = as_object(message.params)
        session_id = params.get("sessionId")
        if type(session_id) is not str:
            return refuse(message, INVALID_PARAMS, "Invalid params: sessionId is missing")
        session = self._desk.session(session_id)
        if session.is_closed:
            return no_session(message, session_id)
        if session.closing:
            return refuse(message, CANCELLED, "Request cancelled: the session is being closed")
        if session.turn is not None or session.held_prompts or session.loading != "no":
            session.held_prompts.append(message)
            return []
        return self._begin(session, message, params)

    def next(self, session: V2ClientSession) -> list[Out]:
        """Return the held prompts that the agent can run now."""
        outs: list[Out] = []
        while session.held_prompts and session.turn is None and session.loading == "no":
            message = session.held_prompts.popleft()
            outs += self._begin(session, message, as_object(message.params))
        return outs

    def withdraw(self, request_id: Json) -> list[Out] | None:
        """Cancel a held prompt; None if it is not held."""
        for session in self._desk.sessions.values():
            for message in session.held_prompts:
                if message.id == request_id and type(message.id) is type(request_id):
                    session.held_prompts.remove(message)
                    return refuse(message, CANCELLED, "Request cancelled")
        return None

    def _begin(self, session: V2ClientSession, message: Message, params: Object) -> list[Out]:
        v1_blocks = blocks_in_v1(params.get("prompt"), self._desk.report)
        if not v1_blocks or len(v1_blocks) != len(as_list(params.get("prompt"))):
            return refuse(message, INVALID_PARAMS, "Invalid params: a prompt needs content")
        v2_blocks = blocks_in_v2(params.get("prompt"), session.writer)
        message_id, params = self._desk.name_prompt(params)
        session.begin(message.id, v2_blocks, v1_blocks, message_id)
        call = PendingCall(message.id, "session/prompt", params, session.id)
        return [self._desk.forward(call, "session/prompt", {**params, "prompt": v1_blocks})]
