"""A crow client in front of a v1 agent."""

from __future__ import annotations

from msgspec import UNSET

from dragoman.dialect.crow.errors import ParamError, invalid_params, is_complaint, write_error
from dragoman.dialect.crow.handshake import read_hello, write_welcome
from dragoman.dialect.crow.ledger_notes import (
    ANSWER_ODD,
    ANSWER_TO_NOTHING,
    ASKED_AGAIN,
    NO_METHOD,
    NO_NOTIFICATION,
    NOT_ASKED,
    NOT_CHOSEN,
    NOT_CROW,
    NOT_CROWS_NOTIFICATION,
    NOT_OFFERED,
)
from dragoman.dialect.crow.names import NAME, either
from dragoman.dialect.crow.permission import read_choice, write_question
from dragoman.dialect.crow.questions import CrowQuestion, OpenQuestions
from dragoman.dialect.crow.sessions import (
    ParamsOrErrors,
    read_load,
    read_new,
    read_prompt,
    write_loaded,
    write_opened,
)
from dragoman.dialect.crow.turns import write_end
from dragoman.dialect.crow.updates import write_update
from dragoman.dialect.debts import PendingRequests
from dragoman.dialect.edge import Edge, EdgeSettings, Out
from dragoman.dialect.ledger import Ledger
from dragoman.dialect.message import (
    Json,
    Message,
    Object,
    answer,
    as_object,
    notification,
    refusal,
    request,
)
from dragoman.dialect.permission import CANCELLED
from dragoman.wire.codes import INTERNAL_ERROR, INVALID_PARAMS, INVALID_REQUEST, METHOD_NOT_FOUND

READERS = {"session/new": read_new, "session/load": read_load, "session/prompt": read_prompt}
ANSWER = "permission_response"


class CrowClient(Edge):
    """Answers the client's `cancel` at once, and turns its `permission_response` into an
    answer to the agent.
    """

    name = NAME

    def __init__(self, settings: EdgeSettings, ledger: Ledger) -> None:
        super().__init__(settings, ledger)
        self._requests: PendingRequests[str] = PendingRequests()  # what the client asked
        self._extensions: PendingRequests[str] = PendingRequests()  # what the agent asked beyond the protocol
        self._questions = OpenQuestions()

    # From the client.

    def from_peer(self, message: Message) -> list[Out]:
        if message.is_answer:
            if self._extensions.settle(message.id) is not None or is_complaint(message):
                return [("inside", message)]
            self.note(ANSWER_TO_NOTHING)
            return []
        method, params = str(message.method), as_object(message.params)
        if method in ("cancel", "session/cancel"):
            return self._cancel(message, params)
        if method == ANSWER:
            return self._set_model(message, params)
        if message.is_notification and method.startswith("_"):
            return [("inside", message)]
        if message.is_notification:
            self.note(NOT_CROWS_NOTIFICATION)
            return []
        return self._on_request(message, method, params)

    def _on_request(self, message: Message, method: str, params: Object) -> list[Out]:
        if self._requests.look(message.id) is not None:
            return [("peer", refusal(message.id, INVALID_REQUEST, "Invalid request: this id is in use"))]
        if method.startswith("_"):
            self._requests.owe(message.id, method)
            return [("inside", message)]
        if method == "initialize":
            v1_params: ParamsOrErrors = read_hello(params, self.note)
        elif method in READERS:
            v1_params = READERS[method](params, self.settings, self.note)
        else:
            self.note(NOT_CROW)
            return [("peer", refusal(message.id, METHOD_NOT_FOUND, "Method not found"))]
        if isinstance(v1_params, list):
            return [("peer", invalid_params(message.id, *v1_params))]
        self._requests.owe(message.id, method)
        return [("inside", request(message.id, method, v1_params))]

    def _cancel(self, message: Message, params: Object) -> list[Out]:
        """The client may ask for it; v1 only tells. Whoever cancels a turn answers its questions too, unless
        the turn may be another client's.
        """
        session = either(params, "session_id", "sessionId")
        if type(session) is not str:
            missing = ParamError("session_id", "is missing or no string")
            return self._answer_if_request(message, invalid_params(message.id, missing))
        outs: list[Out] = [("inside", notification("session/cancel", {"sessionId": session}))]
        if self.settings.answers_for_peer:
            outs += [_cancel_question(question) for question in self._questions.of_session(session)]
        return outs + self._answer_if_request(message, answer(message.id, {}))

    def _set_model(self, message: Message, params: Object) -> list[Out]:
        session = either(params, "session_id", "sessionId")
        call_id = either(params, "tool_call_id", "toolCallId")
        has_names = type(session) is str and type(call_id) is str
        question = self._questions.look(session, call_id) if has_names else None
        if question is None:
            self.note(NOT_ASKED)
            field = "tool_call_id" if type(session) is str else "session_id"
            unknown = ParamError(field, "names no open permission request")
            return self._answer_if_request(message, invalid_params(message.id, unknown))
        choice = read_choice(params)
        is_cancelled = choice is None and params.get("outcome") in ("cancelled", {"outcome": "cancelled"})
        if choice not in question.options and not is_cancelled:
            return self._on_wrong_choice(message, question, call_id, choice)
        self._questions.settle(session, call_id)
        if is_cancelled:
            return [_cancel_question(question), *self._answer_if_request(message, _empty_answer(message))]
        outcome = {"outcome": {"outcome": "selected", "optionId": choice}}
        return [
            ("inside", answer(question.request_id, outcome)),
            *self._answer_if_request(message, _empty_answer(message)),
        ]

    def _on_wrong_choice(
        self, message: Message, question: CrowQuestion, name: str, choice: str | None
    ) -> list[Out]:
        """The client chose nothing that was offered. Where others are asked too, its question stays open."""
        wrong_option = ParamError("option_id", "is none of the options that were offered")
        refusals = self._answer_if_request(message, invalid_params(message.id, wrong_option))
        if not self.settings.answers_for_peer:
            return refusals
        self._questions.settle(question.session, name)
        self.note(NOT_CHOSEN if choice is None else NOT_OFFERED)
        return [_cancel_question(question), *refusals]

    def _answer_if_request(self, message: Message, incoming: Message) -> list[Out]:
        """Who asked is answered; who only told something is not."""
        return [("peer", incoming)] if message.is_request else []

    # From the agent.

    def from_inside(self, message: Message) -> list[Out]:
        method = message.method
        if method == "session/update":  # first, because nearly everything is one
            return self._on_update(message)
        if method is UNSET:
            return self._on_answer(message)
        if method == "session/request_permission" and message.is_request:
            return self._ask(message)
        if method == "$/cancel_request":
            return self._on_withdrawal(as_object(message.params).get("requestId"))
        if method.startswith("_"):
            if message.is_request:
                self._extensions.owe(message.id, method)
            return [("peer", message)]
        if message.is_notification:
            self.note(NO_NOTIFICATION)
            return []
        self.note(NO_METHOD)
        return [("inside", refusal(message.id, METHOD_NOT_FOUND, "Method not found"))]

    def _on_withdrawal(self, request_id: Json) -> list[Out]:
        """A question is answered elsewhere. The client is told in the word that it would have used."""
        questions = self._questions.withdraw(request_id)
        outs: list[Out] = [
            _cancel_question(question_of_id)
            for _, question_of_id in questions
            if self.settings.answers_for_peer
        ]
        for name, question in questions:
            update = {"@type": ANSWER, "tool_call_id": name, "outcome": "settled"}
            outs.append(
                ("peer", notification("session/update", {"sessionId": question.session, "update": update}))
            )
        return outs

    def _on_update(self, message: Message) -> list[Out]:
        params = as_object(message.params)
        value = params.get("update")
        update = write_update(value if type(value) is dict else {}, self.note)
        if update is None:
            return []
        update_params = {"sessionId": params.get("sessionId"), "update": update}
        return [("peer", Message("2.0", UNSET, "session/update", update_params))]

    def _ask(self, message: Message) -> list[Out]:
        params = as_object(message.params)
        session, call_id = params.get("sessionId"), as_object(params.get("toolCall")).get("toolCallId")
        if type(session) is not str or type(call_id) is not str or message.id is UNSET:
            why = "Invalid params: sessionId or toolCall.toolCallId is missing"
            return [("inside", refusal(message.id, INVALID_PARAMS, why))]
        name = self._questions.name(session, call_id)
        update = write_question(params, name, self.note)
        if update is None:
            why = "Invalid params: an option has no optionId"
            return [("inside", refusal(message.id, INVALID_PARAMS, why))]
        if name != call_id:
            self.note(ASKED_AGAIN)
        options = frozenset(option["optionId"] for option in params["options"])
        self._questions.open(name, CrowQuestion(request_id=message.id, session=session, options=options))
        return [("peer", notification("session/update", {"sessionId": session, "update": update}))]

    def _on_answer(self, message: Message) -> list[Out]:
        method = self._requests.settle(message.id)
        if method is None and is_complaint(message):
            return [("peer", message)]
        if method is None:
            self.note(ANSWER_TO_NOTHING)
            return []
        if method == "session/prompt":
            return [("peer", write_end(message, self.note))]
        if method.startswith("_"):
            return [("peer", message)]
        if message.error is not UNSET:
            return [("peer", write_error(message, self.note))]
        return [("peer", self._result(message, method))]

    def _result(self, message: Message, method: str) -> Message:
        result = as_object(message.result)
        if method == "initialize" and "protocolVersion" in result:
            return answer(message.id, write_welcome(result, self.note))
        if method == "session/load":
            return answer(message.id, write_loaded(result, self.note))
        session = write_opened(result, self.note) if method == "session/new" else None
        if session is not None:
            return answer(message.id, session)
        self.note(ANSWER_ODD)
        return refusal(message.id, INTERNAL_ERROR, "Internal error: the agent's answer makes no sense")

    def peer_ended(self) -> list[Out]:
        return [_cancel_question(question) for question in self._questions.all()]


def _cancel_question(question: CrowQuestion) -> Out:
    return ("inside", answer(question.request_id, CANCELLED))


def _empty_answer(message: Message) -> Message:
    return answer(message.id, {})
