"""Translates requests of a v2 agent to a v1 client: permission, questions to the user, and all others
unchanged.

Consent is the client's alone: a question that v1 cannot ask is answered with cancelled, and an answer that is
none of the options is not consent.
"""

from __future__ import annotations

from msgspec import UNSET, Struct

from dragoman.dialect.debts import OwnIds, PendingRequests
from dragoman.dialect.edge import Out
from dragoman.dialect.message import (
    Json,
    Message,
    Object,
    answer,
    as_object,
    as_text,
    refusal,
    with_params,
    without,
)
from dragoman.dialect.permission import CANCELLED
from dragoman.dialect.v2.agent_requests import ForwardedRequests
from dragoman.dialect.v2.agent_session import V2AgentSessions, update_messages
from dragoman.dialect.v2.to_v1 import permission
from dragoman.dialect.v2.to_v1.fields import LossReporter, fits
from dragoman.dialect.v2.to_v1.permission import form
from dragoman.wire.codes import INVALID_PARAMS


class V2AgentQuestion(Struct, frozen=True):
    """A request of the agent that the client has not answered yet."""

    method: str
    option_ids: frozenset[str] = frozenset()


class V2AgentQuestions:
    """The open questions of a conversation."""

    def __init__(self, report: LossReporter, sessions: V2AgentSessions, requests: ForwardedRequests) -> None:
        self._tell = report
        self._sessions = sessions
        self._requests = requests
        self._open: PendingRequests[V2AgentQuestion] = PendingRequests()
        self._fresh = OwnIds("permission")

    def ask(self, message: Message) -> list[Out]:
        params = as_object(message.params)
        if message.method == "session/request_permission":
            return self._permission(message, params)
        if message.method == "elicitation/create":
            return self._elicitation(message, params)
        self._open.owe(message.id, V2AgentQuestion(str(message.method)))
        return [("inside", message)]

    def is_open(self, request_id: Json) -> bool:
        return type(request_id) in (int, str) and self._open.look(request_id) is not None

    def on_answer(self, message: Message) -> list[Out]:
        """Handle an answer of the client."""
        question = self._open.settle(message.id)
        if question is None:
            self._tell.note_loss("an answer to nothing that was asked", "left out")
            return []
        if question.method != "session/request_permission" or message.error is not UNSET:
            return [("peer", message)]
        result = permission.outcome(message.result, set(question.option_ids), self._tell)
        return [("peer", message if result is message.result else answer(message.id, result))]

    def _permission(self, message: Message, params: Object) -> list[Out]:
        session_id = params.get("sessionId")
        if type(session_id) is not str:
            return [("peer", refusal(message.id, INVALID_PARAMS, "Invalid params: sessionId is missing"))]
        options = permission.options(params, self._tell)
        if options is None:
            return [("peer", answer(message.id, CANCELLED))]
        session = self._sessions.of(session_id)
        calls = session.calls
        fresh = self._fresh.next()
        subject = permission.subject(params, fresh)
        outs: list[Out] = []
        is_call = (
            as_object(params.get("subject")).get("type") == "tool_call" and subject["toolCallId"] != fresh
        )
        if is_call and not calls.knows(subject["toolCallId"]):
            outs = update_messages(session, calls.upsert(subject))
        call = {"toolCallId": subject["toolCallId"], **calls.members(subject, made_up=not outs)}
        option_ids = frozenset(option["optionId"] for option in options)
        self._open.owe(message.id, V2AgentQuestion(str(message.method), option_ids))
        return [*outs, ("inside", with_params(message, permission.question(params, call, options)))]

    def _elicitation(self, message: Message, params: Object) -> list[Out]:
        v1_params = form(params, self._tell)
        if fits(v1_params.get("sessionId"), str):
            v1_params = without(v1_params, "requestId") if "requestId" in v1_params else v1_params
        elif "requestId" in v1_params:
            client_id = self._requests.client_id(v1_params["requestId"])
            if client_id is UNSET:
                self._tell.note_loss("a question about a request that is not open", "refused")
                why = "Invalid params: requestId names no open request"
                return [("peer", refusal(message.id, INVALID_PARAMS, why))]
            if client_id != v1_params["requestId"]:
                v1_params = {**v1_params, "requestId": client_id}
        self._open.owe(message.id, V2AgentQuestion(as_text(message.method)))
        return [("inside", message if v1_params is message.params else with_params(message, v1_params))]
