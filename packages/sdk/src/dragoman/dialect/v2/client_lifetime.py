"""Resumes and closes sessions for a v2 client, even if the v1 agent supports neither."""

from __future__ import annotations

from msgspec import UNSET

from dragoman.dialect.edge import Out
from dragoman.dialect.message import Message, Object, answer, as_object, as_text, notification
from dragoman.dialect.v2.client_calls import setup_in_v1, setup_in_v2
from dragoman.dialect.v2.client_desk import PendingCall, PendingCalls, no_session, only_meta, refuse
from dragoman.dialect.v2.client_prompts import V2ClientPrompts
from dragoman.dialect.v2.client_questions import V2ClientQuestions
from dragoman.dialect.v2.client_session import V2ClientSession
from dragoman.dialect.v2.to_v2.ledger_notes import CANNOT_RESUME, NO_CLOSE, NO_RESUME
from dragoman.dialect.v2.to_v2.writer import V2Writer, error_in_v2
from dragoman.wire.codes import CANCELLED, INVALID_PARAMS, NOT_FOUND


class Lifetime:
    def __init__(self, desk: PendingCalls, prompts: V2ClientPrompts, questions: V2ClientQuestions) -> None:
        self._desk = desk
        self._prompts = prompts
        self._questions = questions

    def resume(self, message: Message) -> list[Out]:
        """Resume a session. With a replay this is v1's load; without one, a load with a hidden replay may be
        necessary.
        """
        params = as_object(message.params)
        session_id, replay = params.get("sessionId"), params.get("replayFrom")
        if type(session_id) is not str:
            return refuse(message, INVALID_PARAMS, "Invalid params: sessionId is missing")
        can = self._desk.can
        if replay is not None and (as_object(replay).get("type") != "start" or not can.load):
            return refuse(message, INVALID_PARAMS, "Invalid params: the agent cannot replay from there")
        plain = setup_in_v1(message, params)
        if type(plain) is list:
            return plain
        if not can.load and not can.resume:
            return self._still_here(message, session_id)
        session = self._desk.session(session_id)
        session.writer = V2Writer(self._desk.report, params["cwd"])
        call = PendingCall(message.id, "session/resume", params, session_id)
        if replay is None and can.resume:
            session.is_closed = False
            return [self._desk.forward(call, "session/resume", plain)]
        if replay is None:
            self._desk.note(NO_RESUME)
        session.load(swallow=replay is None)
        return [self._desk.forward(call, "session/load", plain)]

    def _still_here(self, message: Message, session_id: str) -> list[Out]:
        self._desk.note(CANNOT_RESUME)
        session = self._desk.sessions.get(session_id)
        if session is None or session.is_closed:
            return no_session(message, session_id)
        result: Object = {"configOptions": session.config.listed_options} if session.config.is_known else {}
        return [*session.snapshot(), ("peer", answer(message.id, result))]

    def on_resume(self, call: PendingCall, message: Message) -> list[Out]:
        session = self._desk.session(call.session)
        session.on_load()
        if message.error is not UNSET:
            error = error_in_v2(message.error, call.session)
            outs: list[Out] = [("peer", Message("2.0", call.id, error=error))]
        else:
            result = setup_in_v2(session, as_object(message.result))
            outs = [*session.snapshot(), ("peer", answer(call.id, result))]
        return [*outs, *self._prompts.next(session)]

    def close(self, message: Message) -> list[Out]:
        """Close a session in v2's order: the turn's last updates, idle, the answer; then nothing more."""
        params = as_object(message.params)
        session_id = as_text(params.get("sessionId"))
        session = self._desk.sessions.get(session_id)
        outs = self._stop(session) if session is not None else []
        if self._desk.can.close:
            call = PendingCall(message.id, "session/close", params, session_id)
            return [*outs, self._desk.forward(call, "session/close", message.params)]
        self._desk.note(NO_CLOSE)
        if session is None:
            return [("peer", answer(message.id, {}))]
        if session.turn is not None:
            outs.append(("inside", notification("session/cancel", {"sessionId": session_id})))
        return [*outs, *self._finish(session, answer(message.id, {}))]

    def on_close(self, call: PendingCall, message: Message) -> list[Out]:
        if message.error is not UNSET:
            error = error_in_v2(message.error, call.session)
            if error["code"] != NOT_FOUND:
                return [("peer", Message("2.0", call.id, error=error))]
        reply = answer(call.id, only_meta(as_object(message.result)))
        session = self._desk.sessions.get(call.session)
        return [("peer", reply)] if session is None else self._finish(session, reply)

    def cancel(self, message: Message) -> list[Out]:
        session_id = as_text(as_object(message.params).get("sessionId"))
        session = self._desk.sessions.get(session_id)
        outs: list[Out] = [("inside", message)]
        return [*outs, *self._stop(session)] if session is not None else outs

    def on_turn_end(self, session: V2ClientSession) -> list[Out]:
        """Return the messages that waited for the end of a turn."""
        if not session.closing:
            return self._prompts.next(session)
        outs: list[Out] = [("peer", close_answer) for close_answer in session.closing]
        session.closing.clear()
        session.is_closed = True
        return outs

    def _finish(self, session: V2ClientSession, message: Message) -> list[Out]:
        session.closing.append(message)
        return self.on_turn_end(session) if session.turn is None else []

    def _stop(self, session: V2ClientSession) -> list[Out]:
        """Prompts that are not part of the conversation never will be, and questions are not waited for."""
        outs: list[Out] = []
        for prompt in session.held_prompts:
            outs += refuse(prompt, CANCELLED, "Request cancelled")
        session.held_prompts.clear()
        if session.turn is not None:
            session.turn.is_cancelled = True
        return [*outs, *self._questions.cancel(session.id)]
