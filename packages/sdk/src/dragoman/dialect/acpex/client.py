"""A client of ACPex in front of a v1 agent."""

from __future__ import annotations

from typing import ClassVar

from dragoman.dialect.acpex.blocks import read_blocks
from dragoman.dialect.acpex.codes import MISSING
from dragoman.dialect.acpex.form import AcpexForm
from dragoman.dialect.acpex.initialize import read_greeting
from dragoman.dialect.acpex.ledger_notes import CREDENTIALS, NOTIFICATION, PERMISSION, REQUEST, SESSION_FIELDS
from dragoman.dialect.acpex.overview import OverviewForm
from dragoman.dialect.acpex.shared_edge import SpeakingEdge
from dragoman.dialect.acpex.tools import AcpexToolCalls, note_changes
from dragoman.dialect.acpex.turn import was_failed
from dragoman.dialect.acpex.wire import WireForm
from dragoman.dialect.credentials import add_credentials, take_credentials, takes_credentials
from dragoman.dialect.debts import OwnIds
from dragoman.dialect.edge import EdgeSettings, Out
from dragoman.dialect.ledger import Ledger, ignore_note
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
from dragoman.dialect.permission import NOTICE, answer_unasked, question_in
from dragoman.wire.codes import METHOD_NOT_FOUND

NOT_TAKEN = (
    "Authentication failed: the agent takes no credentials in `authenticate`; "
    "give them to it in its environment, or start the interpreter with --credentials"
)

TAKEN = (
    "fs/read_text_file",
    "fs/write_text_file",
    "terminal/create",
    "terminal/output",
    "terminal/wait_for_exit",
    "terminal/kill",
    "terminal/release",
)
"""Methods that an agent may call at an ACPex client."""


class AcpexClient(SpeakingEdge):
    """Sends the overview's form to the client, and reads both forms."""

    name: ClassVar[str] = "acpex"
    form: ClassVar[AcpexForm] = OverviewForm()
    asks_permission = False

    def __init__(self, settings: EdgeSettings, ledger: Ledger) -> None:
        super().__init__(settings, ledger)
        self.calls = AcpexToolCalls()
        self._agent_takes_credentials = False

    def from_peer(self, message: Message) -> list[Out]:
        message = self.tidy(message)
        if message.is_answer:
            return self.read_answer(message, self._asked_peer.settle(message.id))
        if message.is_notification:
            return [("inside", message)]
        params = as_object(message.params)
        self._asked_inside.owe(message.id, (str(message.method), as_text(params.get("sessionId"))))
        if message.method == "initialize":
            read = read_greeting(params, self.form, self.note)
            return [("inside", with_params(message, self.announce_limits(read)))]
        if message.method == "authenticate":
            return self._login(message, params)
        if message.method in ("session/new", "session/load"):
            return [("inside", self._session(message, params))]
        if message.method == "session/prompt":
            return [("inside", with_params(message, self._prompt(params)))]
        return [("inside", message)]

    def from_inside(self, message: Message) -> list[Out]:
        if message.is_answer:
            return self._on_answer(message)
        if message.is_request:
            return self._on_client_request(message)
        if message.method == "session/update":
            return self._on_update(message)
        if message.method == NOTICE:
            return self._show_call(question_in(message))
        if str(message.method).startswith("_"):
            return [("peer", message)]
        self.note(NOTIFICATION)
        return []

    def _login(self, message: Message, params: Object) -> list[Out]:
        """Credentials have no place in v1. They go on only to an agent that has said that it takes them."""
        fields = {name: value for name, value in params.items() if name != "data"}
        if not params.get("data"):
            return [("inside", with_params(message, fields) if "data" in params else message)]
        if not self._agent_takes_credentials:
            self.note(CREDENTIALS)
            self._asked_inside.settle(message.id)
            return [("peer", refusal(message.id, MISSING, NOT_TAKEN))]
        return [("inside", with_params(message, add_credentials(fields, params["data"])))]

    def _session(self, message: Message, params: Object) -> Message:
        missing: Object = {}
        if type(params.get("cwd")) is not str:
            missing["cwd"] = self.settings.cwd
        if type(params.get("mcpServers")) is not list:
            missing["mcpServers"] = list(self.settings.mcp_servers)
        if not missing:
            return message
        self.note(SESSION_FIELDS)
        return with_params(message, {**params, **missing})

    def _prompt(self, params: Object) -> Object:
        content = params.get("content", params.get("prompt"))
        rest = {name: value for name, value in params.items() if name not in ("content", "prompt")}
        return {**rest, "prompt": read_blocks(content, self.form, self.note)}

    def _on_client_request(self, message: Message) -> list[Out]:
        method = str(message.method)
        if method == "session/request_permission":
            outs = [] if self.settings.answers_for_peer else self._show_call(as_object(message.params))
            if self.settings.answers_for_peer:
                self.note(PERMISSION)
            return [*outs, ("inside", answer_unasked(message, self))]
        if method not in TAKEN and not method.startswith("_"):
            self.note(REQUEST)
            why = "Method not found: the client's dialect does not have it"
            return [("inside", refusal(message.id, METHOD_NOT_FOUND, why))]
        self._asked_peer.owe(message.id, (method, ""))
        return [("peer", message)]

    def _show_call(self, question: Object) -> list[Out]:
        """Somebody else is asked about a tool call. The client sees the call, unless it has seen it before:
        the dialect says of a call only that it begins and how it ends.
        """
        call, session = as_object(question.get("toolCall")), as_text(question.get("sessionId"))
        if not as_text(call.get("toolCallId")) or self.calls.is_open(session, call):
            return []
        updates = self.convert_update(session, {**call, "sessionUpdate": "tool_call"})
        params = [{"sessionId": session, "update": update} for update in updates]
        return [("peer", notification("session/update", param)) for param in params]

    def _on_answer(self, message: Message) -> list[Out]:
        method, session = self._asked_inside.settle(message.id) or ("", "")
        if method == "session/prompt":
            self.calls.forget(session)
            if was_failed(message.error):
                result = self.form.end({"stopReason": "error"}, lambda phrase: None)
                return [("peer", answer(message.id, result))]
        result = as_object(message.result)
        if method == "initialize" and result:
            self._agent_takes_credentials = takes_credentials(result)
            result, _ = take_credentials(result)
            return [("peer", answer(message.id, self.form.introduction(result, self.note)))]
        if method == "session/prompt" and result:
            return [("peer", answer(message.id, self.form.end(result, self.note)))]
        return self.write_answer(message)

    def _on_update(self, message: Message) -> list[Out]:
        params = as_object(message.params)
        updates = self.convert_update(as_text(params.get("sessionId")), update_of(message))
        return [("peer", with_params(message, {**params, "update": update})) for update in updates]

    def convert_update(self, session: str, update: Object) -> list[Object]:
        """Return the update in the overview's form, which reports a tool call when it begins and when it
        ends.
        """
        kind = update.get("sessionUpdate")
        if kind not in ("tool_call", "tool_call_update"):
            return [
                written_update
                for written_update in (self.form.update(update, self.note),)
                if written_update is not None
            ]
        updates = [self.form.update(update, self.note)] if kind == "tool_call" else []
        if kind == "tool_call_update":
            note_changes(update, self.note)
        last_update = self.calls.end_of(session, update, self.note)
        if last_update is not None:
            updates.append(self.form.update(last_update, self.note))
        return [written_update for written_update in updates if written_update is not None]


class AcpexWireClient(AcpexClient):
    """Sends the form of ACPex's code."""

    name: ClassVar[str] = "acpex-wire"
    form: ClassVar[AcpexForm] = WireForm()

    def __init__(self, settings: EdgeSettings, ledger: Ledger) -> None:
        super().__init__(settings, ledger)
        self._ids = OwnIds("update")

    def convert_update(self, session: str, update: Object) -> list[Object]:
        """Give each update its own id, as the schemas demand."""
        if update.get("sessionUpdate") in ("tool_call", "tool_call_update"):
            self.calls.end_of(session, update, ignore_note)
        written_update = self.form.update(update, self.note)
        if written_update is None:
            return []
        return [
            written_update
            if "sessionUpdate" in written_update
            else {**written_update, "sessionUpdate": self._ids.next()}
        ]
