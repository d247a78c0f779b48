"""Code that both ACPex edges share: reading ACPex frames, and answering requests for a peer that is gone."""

from __future__ import annotations

from typing import ClassVar

from msgspec import UNSET, UnsetType

from dragoman.dialect.acpex.codes import read_error, write_error
from dragoman.dialect.acpex.form import AcpexForm
from dragoman.dialect.acpex.ledger_notes import NO_JSONRPC, SNAKE_CASE, TRUNCATED, UNASKED
from dragoman.dialect.debts import PendingRequests
from dragoman.dialect.edge import Edge, EdgeSettings, Out
from dragoman.dialect.ledger import Ledger
from dragoman.dialect.message import Id, Message, Object, as_object, rename_members
from dragoman.dialect.originals import drop_original
from dragoman.wire.codes import INTERNAL_ERROR

SNAKE = {
    "session_id": "sessionId",
    "terminal_id": "terminalId",
    "tool_call_id": "toolCallId",
    "stop_reason": "stopReason",
    "exit_code": "exitCode",
    "exit_status": "exitStatus",
    "method_id": "methodId",
    "mcp_servers": "mcpServers",
    "protocol_version": "protocolVersion",
    "client_info": "clientInfo",
    "client_capabilities": "clientCapabilities",
    "agent_capabilities": "agentCapabilities",
    "auth_methods": "authMethods",
    "authentication_methods": "authenticationMethods",
    "output_byte_limit": "outputByteLimit",
}
"""Maps whose keys keep their form: Elixir programs use snake_case names in them."""

EMPTY_ANSWERS = ("fs/write_text_file", "terminal/kill", "terminal/release", "session/load", "authenticate")
"""Methods with empty answers; some programs answer null."""


class SpeakingEdge(Edge):
    """Tracks the open requests of both sides."""

    form: ClassVar[AcpexForm]

    def __init__(self, settings: EdgeSettings, ledger: Ledger) -> None:
        super().__init__(settings, ledger)
        self._asked_peer: PendingRequests[tuple[str, str]] = (
            PendingRequests()
        )  # method and session, by the inside
        self._asked_inside: PendingRequests[tuple[str, str]] = PendingRequests()  # and by the peer

    def peer_ended(self) -> list[Out]:
        sorry = {"code": INTERNAL_ERROR, "message": "Internal error: the other side has ended"}
        open_ids = [request_id for request_id, _ in self._asked_peer.items()]
        for request_id in open_ids:
            self._asked_peer.settle(request_id)
        return [("inside", _failure(request_id, sorry)) for request_id in open_ids]

    def tidy(self, message: Message) -> Message:
        """Return the same message with `jsonrpc` and in camelCase; the same object if nothing changes."""
        params, result = self._camel(message.params), self._camel(message.result)
        # An error of null beside a result is none.
        error = UNSET if message.error is None and result is not UNSET else message.error
        if message.jsonrpc != "2.0":
            self.note(NO_JSONRPC)
        elif params is message.params and result is message.result and error is message.error:
            return message
        return Message("2.0", message.id, message.method, params, result, error)

    def _camel(self, value: object) -> object:
        if type(value) is not dict or not SNAKE.keys() & value.keys():
            return value
        self.note(SNAKE_CASE)
        return rename_members(value, SNAKE)

    def read_answer(self, message: Message, pending_request: tuple[str, str] | None) -> list[Out]:
        """Read an answer of the peer that has no rule of its own."""
        method, _ = pending_request or ("", "")
        if pending_request is None and message.id is not None:
            # Nobody waits for it. To hand it on could answer a question that the policy has answered.
            self.note(UNASKED)
            return []
        if message.error is not UNSET:
            return [("inside", _failure(message.id, read_error(message.error, method, self.note)))]
        result = as_object(message.result)
        if method == "terminal/output" and "truncated" not in result and "output" in result:
            self.note(TRUNCATED)
            result = {**result, "truncated": False}
        elif type(message.result) is dict or method not in EMPTY_ANSWERS:
            return [("inside", message)]
        return [("inside", Message("2.0", message.id, UNSET, UNSET, result))]

    def write_answer(self, message: Message) -> list[Out]:
        """Write an answer to the peer that has no rule of its own."""
        if message.error is not UNSET:
            error = write_error(message.error, self.note)
            return [("peer", message if error == message.error else _failure(message.id, error))]
        result = message.result
        if type(result) is dict and drop_original(result) is not result:
            return [("peer", Message("2.0", message.id, UNSET, UNSET, drop_original(result)))]
        return [("peer", message)]


def _failure(request_id: Id | UnsetType, error: Object) -> Message:
    return Message("2.0", request_id, UNSET, UNSET, UNSET, error)
