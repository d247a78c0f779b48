"""An agent of ACPex behind a v1 client."""

from __future__ import annotations

from typing import ClassVar

from msgspec import UNSET

from dragoman.dialect.acpex.client import TAKEN
from dragoman.dialect.acpex.form import AcpexForm
from dragoman.dialect.acpex.initialize import read_introduction
from dragoman.dialect.acpex.ledger_notes import CREDENTIALS, NO_SESSION, NOTIFICATION, REQUEST, SESSION_NAMED
from dragoman.dialect.acpex.overview import OverviewForm
from dragoman.dialect.acpex.shared_edge import SpeakingEdge
from dragoman.dialect.acpex.tools import read_call
from dragoman.dialect.acpex.turn import read_end, turn_error
from dragoman.dialect.acpex.updates import read_update
from dragoman.dialect.acpex.wire import WireForm
from dragoman.dialect.credentials import announce_credentials, take_credentials
from dragoman.dialect.edge import EdgeSettings, Out
from dragoman.dialect.ledger import Ledger
from dragoman.dialect.message import (
    Message,
    Object,
    answer,
    as_object,
    as_text,
    notification,
    refusal,
    update_of,
    with_params,
)
from dragoman.dialect.originals import drop_original
from dragoman.dialect.permission import PERMISSION
from dragoman.dialect.streamed_text import StreamedText, StreamedTurns
from dragoman.wire.codes import INTERNAL_ERROR, INVALID_PARAMS, METHOD_NOT_FOUND

HAD = ("initialize", "authenticate", "session/new", "session/load", "session/prompt", "session/set_mode")
"""Methods that an ACPex agent accepts. The last one is not in the overview, but sessions may have modes."""


class AcpexAgent(SpeakingEdge):
    """Sends the overview's form to the agent, and reads both forms."""

    name: ClassVar[str] = "acpex"
    form: ClassVar[AcpexForm] = OverviewForm()
    has_credentials: ClassVar[bool] = True
    """Whether `authenticate` has a field for credentials."""

    def __init__(self, settings: EdgeSettings, ledger: Ledger) -> None:
        super().__init__(settings, ledger)
        self._streamed_turns = StreamedTurns()
        self._sessions: set[str] = set()

    def from_inside(self, message: Message) -> list[Out]:
        method, params = message.method, as_object(message.params)
        if message.is_answer:
            self._asked_inside.settle(message.id)
            return self.write_answer(message)
        if message.is_notification:
            if method == "session/cancel" or str(method).startswith("_"):
                return [("peer", message)]
            self.note(NOTIFICATION)
            return []
        if method not in HAD and not str(method).startswith("_"):
            self.note(REQUEST)
            why = "Method not found: the agent's dialect does not have it"
            return [("inside", refusal(message.id, METHOD_NOT_FOUND, why))]
        session = as_text(params.get("sessionId"))
        self._asked_peer.owe(message.id, (str(method), session))
        return [("peer", self._call(message, params, session))]

    def _call(self, message: Message, params: Object, session: str) -> Message:
        if message.method == "initialize":
            return with_params(message, self.form.greeting(params, self.note))
        if message.method == "authenticate":
            return with_params(message, self._login(params))
        if message.method == "session/load":
            self._sessions.add(session)
        if message.method == "session/prompt":
            self._streamed_turns.begin(session)
            return with_params(message, self.form.prompt(params, self.note))
        plain = drop_original(params)
        return message if plain is params else with_params(message, plain)

    def _login(self, params: Object) -> Object:
        fields, credentials = take_credentials(drop_original(params))
        if credentials is None:
            return fields
        if self.has_credentials:
            return {**fields, "data": credentials}
        self.note(CREDENTIALS)
        return fields

    def from_peer(self, message: Message) -> list[Out]:
        message = self.tidy(message)
        if message.is_answer:
            return self._on_answer(message, self._asked_peer.settle(message.id))
        if message.method == "session/update" and message.is_notification:
            return self._on_update(message)
        if message.is_request:
            return self._on_agent_request(message)
        return [("inside", message)]

    def _on_agent_request(self, message: Message) -> list[Out]:
        params = as_object(message.params)
        if message.method in TAKEN and type(params.get("sessionId")) is not str:
            if len(self._sessions) != 1:
                self.note(NO_SESSION)
                return [("peer", refusal(message.id, INVALID_PARAMS, "Invalid params: sessionId is missing"))]
            self.note(SESSION_NAMED)
            message = with_params(message, {**params, "sessionId": next(iter(self._sessions))})
        self._asked_inside.owe(message.id, (str(message.method), ""))
        return [("inside", self._with_function(message))]

    def _with_function(self, message: Message) -> Message:
        """A question about a function, in words of v1: its name is the tool, its arguments the input."""
        params = as_object(message.params)
        call = as_object(params.get("toolCall"))
        read = read_call(call, self.note) if "function" in call else None
        if message.method != PERMISSION or read is None:
            return message
        words = {name: value for name, value in read.items() if name != "sessionUpdate"}
        return with_params(message, {**params, "toolCall": {**call, **words}})

    def _on_update(self, message: Message) -> list[Out]:
        params, update = as_object(message.params), update_of(message)
        session = as_text(params.get("sessionId"))
        outs: list[Out] = []
        for read in read_update(update, self.form, self.note):
            if read.get("sessionUpdate") == "agent_message_chunk":
                self._streamed_turns.add(session, read.get("content"))
            same = read is update
            outs.append(("inside", message if same else with_params(message, {**params, "update": read})))
        return outs

    def _on_answer(self, message: Message, pending_request: tuple[str, str] | None) -> list[Out]:
        method, session = pending_request or ("", "")
        result, went_well = as_object(message.result), message.error is UNSET
        if method == "initialize" and went_well:
            read = read_introduction(result, self.form, self.note)
            return [
                ("inside", answer(message.id, announce_credentials(read) if self.has_credentials else read))
            ]
        if method == "session/new" and type(result.get("sessionId")) is str:
            self._sessions.add(result["sessionId"])
        if method == "session/prompt":
            streamed_text = self._streamed_turns.end(session)
            if went_well:
                return self._on_turn_end(message, session, result, streamed_text)
        return self.read_answer(message, pending_request)

    def _on_turn_end(
        self, message: Message, session: str, result: Object, streamed_text: StreamedText
    ) -> list[Out]:
        error = turn_error(result, self.note)
        blocks, end_result = read_end(result, streamed_text, self.form, self.note)
        outs: list[Out] = [("inside", _chunk(session, block)) for block in blocks]
        if error is None:
            return [*outs, ("inside", answer(message.id, end_result))]
        return [*outs, ("inside", refusal(message.id, INTERNAL_ERROR, error["message"], error["data"]))]


def _chunk(session: str, block: Object) -> Message:
    update = {"sessionUpdate": "agent_message_chunk", "content": block}
    return notification("session/update", {"sessionId": session, "update": update})


class AcpexWireAgent(AcpexAgent):
    """Sends the form of ACPex's code."""

    name: ClassVar[str] = "acpex-wire"
    form: ClassVar[AcpexForm] = WireForm()
    has_credentials = False
