"""A v2 client in front of a v1 agent: passes each message to the part that translates it.

The handshake comes first. What the client sends while it is under way waits for it; what it sends before is
refused. The parts are `client_prompts`, `client_calls`, `client_lifetime` (what the client asks),
`client_questions` (what the agent asks) and `client_session` (what a session tells).
"""

from __future__ import annotations

from typing import Literal

from msgspec import UNSET

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
)
from dragoman.dialect.v2.client_calls import V2ClientCalls
from dragoman.dialect.v2.client_desk import BEGINNINGS, PendingCall, PendingCalls, only_meta, refuse
from dragoman.dialect.v2.client_handshake import VERSION, abilities, initialize_in_v1, initialized_in_v2
from dragoman.dialect.v2.client_lifetime import Lifetime
from dragoman.dialect.v2.client_prompts import V2ClientPrompts
from dragoman.dialect.v2.client_questions import V2ClientQuestions
from dragoman.dialect.v2.to_v1.fields import NAME
from dragoman.dialect.v2.to_v2.ledger_notes import REPEATED, STRANGE_NOTE, WRONG
from dragoman.dialect.v2.to_v2.writer import V2Writer, error_in_v2, is_text
from dragoman.wire.codes import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    VERSION_UNSUPPORTED,
)

ONLY_V1 = frozenset({"authenticate", "logout", "session/load", "session/set_mode", "session/set_model"})
NEVER_OFFERED = frozenset({"tool_call/cancel", "terminal/cancel"})
PASSED_NOTES = frozenset({"auth/status_update", "mcp/message"})


class V2Client(Edge):
    name = NAME

    def __init__(self, settings: EdgeSettings, ledger: Ledger) -> None:
        super().__init__(settings, ledger)
        self._desk = PendingCalls(self, settings.nonce)
        self._calls = V2ClientCalls(self._desk)
        self._prompts = V2ClientPrompts(self._desk)
        self._questions = V2ClientQuestions(self._desk, self)
        self._lifetime = Lifetime(self._desk, self._prompts, self._questions)
        self._phase: Literal["new", "waiting", "ready"] = "new"
        self._waiting: list[Message] = []  # said while the handshake was under way
        self._early: list[Object] = []  # updates of sessions that have no name yet
        self._introduction: Object = {}
        self._may_repeat = True

    def from_peer(self, message: Message) -> list[Out]:
        if message.is_answer:
            return self._questions.on_answer(message)
        if message.is_request and message.id is None:
            return [("peer", refusal(None, INVALID_REQUEST, "Invalid request: an id is text or a number"))]
        if self._phase == "waiting":
            self._waiting.append(message)
            return []
        if message.is_request and message.method == "initialize":
            return self._initialize(message)
        if self._phase == "new":
            early = message.is_request
            return (
                refuse(message, INVALID_REQUEST, "Invalid request: initialize comes first") if early else []
            )
        return (
            self._on_client_request(message) if message.is_request else self._on_client_notification(message)
        )

    def from_inside(self, message: Message) -> list[Out]:
        if message.is_answer:
            return self._on_answer(message)
        if message.is_request:
            return self._questions.ask(message)
        return self._on_agent_notification(message)

    def peer_ended(self) -> list[Out]:
        return self._questions.cancel_all()

    def _initialize(self, message: Message) -> list[Out]:
        version = as_object(message.params).get("protocolVersion")
        if type(version) is not int or not 0 <= version < 2**16:
            return refuse(message, INVALID_PARAMS, "Invalid params: protocolVersion is not a version")
        if self._phase == "ready":
            return self._again(message, version)
        if version < VERSION:
            data = {"requested": version, "supported": [VERSION]}
            return refuse(message, VERSION_UNSUPPORTED, "Unsupported protocol version", data)
        self._phase = "waiting"
        params = as_object(message.params)
        meta = as_object(as_object(params.get("capabilities")).get("_meta"))
        self._desk.shows_usage = as_object(meta.get("dragoman")).get("usage") is True
        self._desk.open.owe(message.id, PendingCall(message.id, "initialize", params))
        return [("inside", request(message.id, "initialize", initialize_in_v1(params)))]

    def _again(self, message: Message, version: int) -> list[Out]:
        """v1 has no second handshake, so the agent hears of the first alone."""
        if version < VERSION or not self._may_repeat:
            return refuse(message, INVALID_REQUEST, "Invalid request: this was agreed upon already")
        self._desk.note(REPEATED)
        return [("peer", answer(message.id, self._introduction))]

    def _on_introduction(self, call: PendingCall, message: Message) -> list[Out]:
        self._phase = "new"
        result = as_object(message.result)
        version = result.get("protocolVersion")
        if message.error is not UNSET:
            outs: list[Out] = [("peer", Message("2.0", call.id, error=error_in_v2(message.error)))]
        elif type(version) is int and version != 1:
            outs = refuse(call, INTERNAL_ERROR, "The agent does not speak version 1")
        else:
            self._phase = "ready"
            self._desk.can = abilities(result)
            self._introduction = initialized_in_v2(result, V2Writer(self))
            outs = [("peer", answer(call.id, self._introduction))]
        waiting, self._waiting = self._waiting, []
        for waiting_message in waiting:
            outs += self.from_peer(waiting_message)
        return outs

    def _on_client_request(self, message: Message) -> list[Out]:
        self._may_repeat = False
        match message.method:
            case "session/prompt":
                return self._prompts.ask(message)
            case "session/resume":
                return self._lifetime.resume(message)
            case "session/close":
                return self._lifetime.close(message)
            case method if method in ONLY_V1:
                return refuse(message, METHOD_NOT_FOUND, "Method not found")
            case method if method in NEVER_OFFERED:
                return refuse(message, INVALID_PARAMS, "Invalid params: this cannot be cancelled alone")
        return self._calls.ask(message)

    def _on_client_notification(self, message: Message) -> list[Out]:
        if message.method == "session/cancel":
            return self._lifetime.cancel(message)
        if message.method == "$/cancel_request":
            return self._on_withdrawal(as_object(message.params))
        return [("inside", message)]

    def _on_withdrawal(self, params: Object) -> list[Out]:
        """The client does not want an answer any more. A prompt that was acknowledged has had its answer."""
        request_id = params.get("requestId")
        outs = self._prompts.withdraw(request_id)
        if outs is not None:
            return outs
        for inner, call in self._desk.open.items():
            if (
                call.id == request_id
                and type(call.id) is type(request_id)
                and not self._is_acknowledged(call)
            ):
                return [
                    ("inside", notification("$/cancel_request", {"requestId": inner, **only_meta(params)}))
                ]
        return []

    def _is_acknowledged(self, call: PendingCall) -> bool:
        turn = self._desk.session(call.session).turn if call.method == "session/prompt" else None
        return turn is not None and turn.is_acknowledged

    def _on_answer(self, message: Message) -> list[Out]:
        call = self._desk.open.settle(message.id)
        if call is None:  # of these, only a complaint about a frame that could not be read means anything
            complaint = message.id is None and message.error is not UNSET
            return [("peer", Message("2.0", None, error=error_in_v2(message.error)))] if complaint else []
        match call.method:
            case "initialize":
                return self._on_introduction(call, message)
            case "session/prompt":
                session = self._desk.session(call.session)
                return [*session.end(message), *self._lifetime.on_turn_end(session)]
            case "session/resume":
                return self._lifetime.on_resume(call, message)
            case "session/close":
                return self._lifetime.on_close(call, message)
        outs = self._calls.on_answer(call, message)
        if call.method in BEGINNINGS:
            early, self._early = self._early, []
            for params in early:
                outs += self._on_update(params)
        return outs

    def _on_update(self, params: Object) -> list[Out]:
        """An update of a session that the client has not heard of waits for the answer that names it."""
        session_id = params["sessionId"]
        if session_id not in self._desk.sessions and self._desk.is_beginning:
            self._early.append(params)
            return []
        fields = as_object(params.get("update"))
        if fields.get("sessionUpdate") == "subagent_update" and is_text(fields.get("sessionId")):
            self._desk.session(fields["sessionId"]).is_child = True
        return self._desk.session(session_id).update(params)

    def _on_agent_notification(self, message: Message) -> list[Out]:
        params = as_object(message.params)
        method = as_text(message.method)
        if method == "session/update":
            if is_text(params.get("sessionId")):
                return self._on_update(params)
            self._desk.note(WRONG)
            return []
        if method == "$/cancel_request":
            return self._questions.withdraw(params)
        if method == "elicitation/complete" and is_text(params.get("elicitationId")):
            completion = {"elicitationId": params["elicitationId"], **only_meta(params)}
            return [("peer", notification(method, completion))]
        if method.startswith("_") or method in PASSED_NOTES:
            return [("peer", message)]
        self._desk.note(STRANGE_NOTE)
        return []
