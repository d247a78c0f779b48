"""A crow agent behind a v1 client."""

from __future__ import annotations

from msgspec import UNSET

from dragoman.dialect.crow.errors import is_complaint, read_error
from dragoman.dialect.crow.handshake import read_welcome, write_hello
from dragoman.dialect.crow.ledger_notes import (
    ANSWER_ODD,
    ANSWER_TO_NOTHING,
    ASKED_BEFORE,
    ASKED_LATER,
    CHOICE_REFUSED,
    NO_METHOD,
    NO_NOTIFICATION,
    NOT_CHOSEN,
    NOT_CROW,
    NOT_CROWS_NOTIFICATION,
    NOT_OFFERED,
    OPTION_KIND,
    QUESTION_ODD,
    UPDATE_ODD,
)
from dragoman.dialect.crow.names import NAME, either
from dragoman.dialect.crow.permission import has_kinds, read_input, read_question, reject_option, write_choice
from dragoman.dialect.crow.questions import CrowPermission, CrowPermissionQueue
from dragoman.dialect.crow.sessions import read_loaded, read_opened, write_load, write_new, write_prompt
from dragoman.dialect.crow.tool_calls import TITLE
from dragoman.dialect.crow.turns import read_end
from dragoman.dialect.crow.updates import QUESTION, read_update
from dragoman.dialect.debts import OwnIds, PendingRequests
from dragoman.dialect.edge import Edge, EdgeSettings, Out
from dragoman.dialect.ledger import Ledger
from dragoman.dialect.message import (
    Message,
    Object,
    answer,
    as_object,
    as_text,
    notification,
    refusal,
    request,
    update_of,
)
from dragoman.wire.codes import INTERNAL_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND

WRITERS = {
    "initialize": write_hello,
    "session/new": write_new,
    "session/load": write_load,
    "session/prompt": write_prompt,
}
OWN = "crow/own"
"""Marks requests that the edge itself sends: their answers stop here."""


class CrowAgent(Edge):
    """Turns the agent's questions into requests, and the client's cancel into a request `cancel`."""

    name = NAME

    def __init__(self, settings: EdgeSettings, ledger: Ledger) -> None:
        super().__init__(settings, ledger)
        self._pending_requests: PendingRequests[tuple[str, str]] = (
            PendingRequests()
        )  # what the agent was asked, and for which session
        self._extensions: PendingRequests[str] = PendingRequests()  # what the agent asked beyond the protocol
        self._wishes: PendingRequests[CrowPermission] = (
            PendingRequests()
        )  # what the client was asked for the agent
        self._waiting = CrowPermissionQueue()
        self._replays: dict[str, set[str]] = {}  # sessions that are being loaded: the tool calls told so far
        self._requests = OwnIds("crow")
        self._permissions = OwnIds("crow-permission")

    # From the client.

    def from_inside(self, message: Message) -> list[Out]:
        method, params = message.method, as_object(message.params)
        if method is UNSET:
            return self._on_client_answer(message)
        if method == "session/cancel":
            return self._cancel(as_text(params.get("sessionId")))
        if method == "$/cancel_request":
            request_method, session = self._pending_requests.look(_id(params.get("requestId"))) or ("", "")
            return self._cancel(session) if request_method == "session/prompt" else []
        if message.is_notification and not method.startswith("_"):
            self.note(NO_NOTIFICATION)
            return []
        if message.is_notification:
            return [("peer", message)]
        return self._on_request(message, method, params)

    def _on_request(self, message: Message, method: str, params: Object) -> list[Out]:
        if self._pending_requests.look(message.id) is not None:
            return [("inside", refusal(message.id, INVALID_REQUEST, "Invalid request: this id is in use"))]
        write = WRITERS.get(method)
        if write is None and not method.startswith("_"):
            self.note(NO_METHOD)
            return [("inside", refusal(message.id, METHOD_NOT_FOUND, "Method not found"))]
        self._pending_requests.owe(message.id, (method, as_text(params.get("sessionId"))))
        if write is None:
            return [("peer", message)]
        if method == "session/load":
            self._replays[as_text(params.get("sessionId"))] = set()
        return [("peer", request(message.id, method, write(params, self.note)))]

    def _cancel(self, session: str) -> list[Out]:
        """Questions that the client has not even seen are answered for it."""
        unseen = [write_choice(session, wish.call_id, None) for wish in self._waiting.give_up(session)]
        answers = [self._own("permission_response", choice) for choice in unseen]
        return [self._own("cancel", {"session_id": session}), *answers]

    def _own(self, method: str, params: Object) -> Out:
        own = self._requests.next()
        while self._pending_requests.look(own) is not None:
            own = self._requests.next()
        self._pending_requests.owe(own, (OWN, method))
        return ("peer", request(own, method, params))

    def _on_client_answer(self, message: Message) -> list[Out]:
        """The client's answer: to a question of the agent, or to an extension."""
        wish = self._wishes.settle(message.id)
        if wish is None:
            if self._extensions.settle(message.id) is not None or is_complaint(message):
                return [("peer", message)]
            self.note(ANSWER_TO_NOTHING)
            return []
        choice = self._choice(message, wish)
        outs = [self._own("permission_response", write_choice(wish.session, wish.call_id, choice))]
        following = self._waiting.leave(wish)
        return outs if following is None else [*outs, self._put(following)]

    def _choice(self, message: Message, wish: CrowPermission) -> str | None:
        outcome = as_object(as_object(message.result).get("outcome"))
        option_id = outcome.get("optionId")
        if outcome.get("outcome") != "selected" or type(option_id) is not str:
            if outcome.get("outcome") != "cancelled":
                self.note(NOT_CHOSEN)
            return None
        if option_id not in wish.options:
            self.note(NOT_OFFERED)
            return None
        return option_id

    # From the agent.

    def from_peer(self, message: Message) -> list[Out]:
        method = message.method
        if method is UNSET:
            return self._on_answer(message)
        if method == "session/update" and message.is_notification:
            return self._on_update(message)
        if method.startswith("_"):
            return self._on_extension(message, method)
        if message.is_notification:
            self.note(NOT_CROWS_NOTIFICATION)
            return []
        self.note(NOT_CROW)
        return [("peer", refusal(message.id, METHOD_NOT_FOUND, "Method not found"))]

    def _on_extension(self, message: Message, method: str) -> list[Out]:
        if message.is_request:
            if self._extensions.look(message.id) is not None or self._wishes.look(message.id) is not None:
                return [("peer", refusal(message.id, INVALID_REQUEST, "Invalid request: this id is in use"))]
            self._extensions.owe(message.id, method)
        return [("inside", message)]

    def _on_update(self, message: Message) -> list[Out]:
        session = either(as_object(message.params), "sessionId", "session_id")
        update = update_of(message)
        if type(session) is not str:
            self.note(UPDATE_ODD)
            return []
        if update.get("@type") == QUESTION:
            return (
                self._replay_question(session, update)
                if self._is_history(session)
                else self._ask(session, update)
            )
        fields = read_update(update, self.note)
        if fields is None:
            return []
        if self._replays and fields.get("sessionUpdate") == "tool_call":
            fields = self._announce_once(session, fields)
        return [("inside", notification("session/update", {"sessionId": session, "update": fields}))]

    def _is_history(self, session: str) -> bool:
        """While a session is loaded its past is told. A turn that runs meanwhile has a present, too."""
        runs = any(request == ("session/prompt", session) for _, request in self._pending_requests.items())
        return session in self._replays and not runs

    def _replay_question(self, session: str, update: Object) -> list[Out]:
        """A question of the past is shown as its tool call: nobody is asked, and nothing is answered."""
        call_id, title = either(update, "tool_call_id", "toolCallId"), update.get("title")
        if type(call_id) is not str:
            self.note(UPDATE_ODD)
            return []
        self.note(ASKED_BEFORE)
        fields: Object = {"sessionUpdate": "tool_call", "toolCallId": call_id}
        fields["title"] = title if type(title) is str else TITLE
        if update.get("arguments") is not None:
            fields["rawInput"] = read_input(update["arguments"])
        fields = self._announce_once(session, fields)
        return [("inside", notification("session/update", {"sessionId": session, "update": fields}))]

    def _announce_once(self, session: str, fields: Object) -> Object:
        """A replay may tell of a call in its start and in its question; the second is news of the first."""
        call_ids = self._replays.get(session)
        if call_ids is None:
            return fields
        if fields["toolCallId"] in call_ids:
            return {**fields, "sessionUpdate": "tool_call_update"}
        call_ids.add(fields["toolCallId"])
        return fields

    def _ask(self, session: str, update: Object) -> list[Out]:
        params = read_question(update, session, self.note)
        if params is None:
            self.note(QUESTION_ODD if has_kinds(update) else OPTION_KIND)
            call_id = either(update, "tool_call_id", "toolCallId")
            if type(call_id) is not str:
                return []  # there is no way to answer it
            rejection = write_choice(session, call_id, reject_option(update))
            return [self._own("permission_response", rejection)]
        options = frozenset(option["optionId"] for option in params["options"])
        call_id = params["toolCall"]["toolCallId"]
        wish = CrowPermission(session=session, call_id=call_id, params=params, options=options)
        if self._waiting.enter(wish):
            return [self._put(wish)]
        self.note(ASKED_LATER)
        return []

    def _put(self, wish: CrowPermission) -> Out:
        own = self._permissions.next()
        while self._extensions.look(own) is not None:
            own = self._permissions.next()
        self._wishes.owe(own, wish)
        return ("inside", request(own, "session/request_permission", wish.params))

    def _on_answer(self, message: Message) -> list[Out]:
        method, session = self._pending_requests.settle(message.id) or ("", "")
        if method == "session/load":
            self._replays.pop(session, None)
        if method == OWN:
            if session == "permission_response" and message.error is not UNSET:
                self.note(CHOICE_REFUSED)
            return []
        if not method and is_complaint(message):
            return [("inside", message)]
        if not method:
            self.note(ANSWER_TO_NOTHING)
            return []
        if method == "session/prompt":
            return [("inside", read_end(message, self.note))]
        if method.startswith("_"):
            return [("inside", message)]
        if message.error is not UNSET:
            return [("inside", read_error(message, self.note))]
        return [("inside", self._result(message, method))]

    def _result(self, message: Message, method: str) -> Message:
        result = message.result
        if method == "initialize" and type(result) is dict:
            return answer(message.id, read_welcome(result, self.note))
        if method == "session/load":
            return answer(message.id, read_loaded(result, self.note))
        session = read_opened(result, self.note) if method == "session/new" else None
        if session is not None:
            return answer(message.id, session)
        self.note(ANSWER_ODD)
        return refusal(message.id, INTERNAL_ERROR, "Internal error: the agent's answer makes no sense")

    def peer_ended(self) -> list[Out]:
        """Answer the client's open requests, because the agent is gone."""
        reason = "Internal error: the agent has ended"
        waiting = [request_id for request_id, (method, _) in self._pending_requests.items() if method != OWN]
        for request_id in waiting:
            self._pending_requests.settle(request_id)
        return [("inside", refusal(request_id, INTERNAL_ERROR, reason)) for request_id in waiting]


def _id(value: object) -> int | str | None:
    return value if isinstance(value, int | str) else None
