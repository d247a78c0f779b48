"""Translates requests of a v1 agent to a v2 client: permissions, forms, and extension methods.

A permission is given by the client alone, and only by naming an option that was offered, in answer to a
question that is still open. Whatever else it says is no, or no answer where other clients are asked the same
(`Settings.answers_for_peer`).
"""

from __future__ import annotations

import msgspec
from msgspec import UNSET, Struct, UnsetType

from dragoman.dialect.debts import OwnIds, PendingRequests
from dragoman.dialect.edge import Edge, Out
from dragoman.dialect.message import (
    Id,
    Json,
    Message,
    Object,
    answer,
    as_object,
    as_text,
    notification,
    refusal,
    request,
)
from dragoman.dialect.permission import CANCELLED, answer_unchosen, is_choice
from dragoman.dialect.v2.client_desk import PendingCalls, only_meta
from dragoman.dialect.v2.to_v1.permission import outcome
from dragoman.dialect.v2.to_v2 import questions
from dragoman.dialect.v2.to_v2.ledger_notes import FILES, FORM_VALUE, NO_OPTIONS, NO_SCOPE, STRANGE_REQUEST
from dragoman.dialect.v2.to_v2.writer import V2Writer, error_in_v2, is_object, is_texts
from dragoman.wire.codes import INVALID_PARAMS, METHOD_NOT_FOUND

DISMISSED: Object = {"action": "cancel"}
ACTIONS = ("accept", "decline", "cancel")


class V2ClientQuestion(Struct, frozen=True):
    """A request of the agent that the client has not answered yet."""

    id: Id | UnsetType
    """The agent's id for the request."""
    method: str
    session: str = ""
    option_ids: frozenset[str] = frozenset()


class V2ClientQuestions:
    def __init__(self, desk: PendingCalls, edge: Edge) -> None:
        self._desk = desk
        self._edge = edge
        self._open: PendingRequests[V2ClientQuestion] = PendingRequests()
        self._ids = OwnIds("dragoman-question")

    def ask(self, message: Message) -> list[Out]:
        method, params = str(message.method), as_object(message.params)
        if method == "session/request_permission":
            return self._permission(message, params)
        if method == "elicitation/create":
            return self._elicitation(message, params)
        if method.startswith("_") or method == "mcp/message":
            return [self._put(V2ClientQuestion(message.id, method), method, message.params)]
        if method.startswith(("fs/", "terminal/")):
            self._desk.note(FILES)
            session = self._desk.sessions.get(as_text(params.get("sessionId")))
            outs = session.acknowledge() if session is not None else []
            return [*outs, *_no(message, METHOD_NOT_FOUND, "The client lends no files and no terminals")]
        self._desk.note(STRANGE_REQUEST)
        return _no(message, METHOD_NOT_FOUND, "Method not found")

    def on_answer(self, message: Message) -> list[Out]:
        """Handle the client's answer. An answer to a question that is not open is ignored."""
        question = self._open.settle(message.id)
        if question is None:
            return []
        return [("inside", self._answer(question, message)), *self._after_answer(question.session)]

    def withdraw(self, params: Object) -> list[Out]:
        """Withdraw a question that the agent has cancelled."""
        request_id = params.get("requestId")
        for outer, question in self._open.items():
            if question.id == request_id and type(question.id) is type(request_id):
                cancel = notification("$/cancel_request", {"requestId": outer, **only_meta(params)})
                if self._answers_for_peer:  # the agent waits for an answer still
                    return [("peer", cancel)]
                self._open.settle(outer)
                return [("peer", cancel), *self._after_answer(question.session)]
        return []

    def cancel(self, session_id: str) -> list[Out]:
        """Cancel the questions of a cancelled turn, and tell the client to stop asking. If other clients see
        the question too, the party that settles the question reports it.
        """
        if not self._answers_for_peer:
            return []
        outs: list[Out] = []
        for outer, question in self._open.items():
            if question.session == session_id:
                self._open.settle(outer)
                outs.append(("inside", _cancelled_answer(question)))
                outs.append(("peer", notification("$/cancel_request", {"requestId": outer})))
        return [*outs, *self._after_answer(session_id)] if outs else []

    def cancel_all(self) -> list[Out]:
        """Cancel all questions, because the client is gone."""
        return [("inside", _cancelled_answer(question)) for _, question in self._open.items()]

    def _permission(self, message: Message, params: Object) -> list[Out]:
        session_id = params.get("sessionId")
        if type(session_id) is not str:
            return _no(message, INVALID_PARAMS, "Invalid params: sessionId is missing")
        session = self._desk.session(session_id)
        is_cancelled = session.turn is not None and session.turn.is_cancelled and self._answers_for_peer
        if session.is_closed or is_cancelled:
            return [("inside", answer_unchosen(message.id, self._edge))]
        v2_params = questions.permission(params, session.writer)
        if v2_params is None:
            if self._answers_for_peer:
                self._desk.note(NO_OPTIONS)
            return [("inside", answer_unchosen(message.id, self._edge))]
        option_ids = frozenset(option["optionId"] for option in v2_params["options"])
        question = V2ClientQuestion(message.id, str(message.method), session_id, option_ids)
        outs = [*session.acknowledge(), *session.move("requires_action")]
        return [*outs, self._put(question, question.method, v2_params)]

    def _elicitation(self, message: Message, params: Object) -> list[Out]:
        scope = self._scope(params)
        v2_params = questions.elicitation(params, V2Writer(self._desk.report))
        if scope is None or v2_params is None:
            self._desk.note(NO_SCOPE)
            return _no(message, INVALID_PARAMS, "Invalid params: no form, or one that belongs to nothing")
        outs: list[Out] = []
        session_id = as_text(scope.get("sessionId"))
        if session_id:
            session = self._desk.session(session_id)
            outs = [*session.acknowledge(), *session.move("requires_action")]
        question = V2ClientQuestion(message.id, str(message.method), session_id)
        return [*outs, self._put(question, question.method, {**v2_params, **scope})]

    def _scope(self, params: Object) -> Object | None:
        """v2 wants one of two; a prompt that was acknowledged is not an open request to the client any
        more."""
        if type(params.get("sessionId")) is str:
            return {"sessionId": params["sessionId"]}
        request_id = params.get("requestId")
        call = self._desk.open.look(request_id) if type(request_id) in (int, str) else None
        if call is None:
            return None
        return {"sessionId": call.session} if call.method == "session/prompt" else {"requestId": call.id}

    @property
    def _answers_for_peer(self) -> bool:
        return self._edge.settings.answers_for_peer

    def _put(self, question: V2ClientQuestion, method: str, params: Json | UnsetType) -> Out:
        """v2 takes no null for an id; and an id that is open cannot be used again."""
        outer = question.id
        if outer is None or self._open.look(outer) is not None:
            outer = self._ids.next()
        self._open.owe(outer, question)
        return ("peer", request(outer, method, params))

    def _after_answer(self, session_id: str) -> list[Out]:
        session = self._desk.sessions.get(session_id)
        if session is None or any(question.session == session_id for _, question in self._open.items()):
            return []
        return session.settle()

    def _answer(self, question: V2ClientQuestion, message: Message) -> Message:
        if message.error is not UNSET:
            return Message("2.0", question.id, error=error_in_v2(message.error))
        result = as_object(message.result)
        if question.method == "session/request_permission":
            if not self._answers_for_peer and not is_choice(result, question.option_ids):
                return answer_unchosen(question.id, self._edge)
            return answer(question.id, outcome(result, set(question.option_ids), self._desk.report))
        if question.method == "elicitation/create":
            if result.get("action") not in ACTIONS:
                return answer_unchosen(question.id, self._edge, DISMISSED)
            return answer(question.id, self._filled_in(result))
        return answer(question.id, message.result)

    def _filled_in(self, result: Object) -> Object:
        """Unlike v2, v1 knows no nested values; and no other action than these."""
        if result["action"] != "accept":
            return {"action": result["action"]}
        v1_result: Object = {"action": "accept"}
        if is_object(result.get("content")):
            content = result["content"].items()
            v1_result["content"] = {name: self._value(value) for name, value in content if value is not None}
        return {**v1_result, "_meta": result["_meta"]} if is_object(result.get("_meta")) else v1_result

    def _value(self, value: Json) -> Json:
        if type(value) in (str, int, float, bool) or is_texts(value):
            return value
        self._desk.note(FORM_VALUE)
        return msgspec.json.encode(value).decode()


def _cancelled_answer(question: V2ClientQuestion) -> Message:
    if question.method == "session/request_permission":
        return answer(question.id, CANCELLED)
    if question.method == "elicitation/create":
        return answer(question.id, DISMISSED)
    return refusal(question.id, METHOD_NOT_FOUND, "Nobody is there to answer")


def _no(message: Message, code: int, why: str) -> list[Out]:
    return [("inside", refusal(message.id, code, why))]
