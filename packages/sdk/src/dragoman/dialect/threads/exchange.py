"""Code that all edges of this dialect share: its envelope, its ids, and the open requests.

On this wire a message has no `jsonrpc`, ids are integers, `params` is always there and may be null, an error
is a code and a message. There are no notifications. Whatever an edge asks, of either side, it asks under an
id of its own, together with what is to be done with the answer; the ids of both sides never meet.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TypeAlias

from msgspec import UNSET, UnsetType

from dragoman.dialect.debts import OwnIds, PendingRequests
from dragoman.dialect.edge import Edge, EdgeSettings, Out
from dragoman.dialect.ledger import Ledger
from dragoman.dialect.message import Id, Json, Message, Object, answer, as_object, as_text, refusal, request
from dragoman.dialect.threads.ledger_notes import Lost, RepairNotes
from dragoman.wire.codes import INTERNAL_ERROR, METHOD_NOT_FOUND

NAME = "threads"

CODE = "threadsCode"
"""The field for a code that has another meaning in v1."""

GONE = "the peer is gone"

Then: TypeAlias = Callable[[Message], list[Out]]
"""The function that handles an answer."""


class ThreadsEdge(Edge, ABC):
    """Sorts incoming messages; a subclass handles requests and notifications."""

    name = NAME

    def __init__(self, settings: EdgeSettings, ledger: Ledger) -> None:
        super().__init__(settings, ledger)
        self._last_number = 0  # ids that this edge has given to its peer: all from 1 to here
        self._given_before = 0  # of these, the ones that were given before its time
        self._own_ids = OwnIds(NAME)
        self.of_peer: PendingRequests[Then] = PendingRequests()
        self.of_inside: PendingRequests[Then] = PendingRequests()
        self.of_host: PendingRequests[Then] = PendingRequests()

    # What a subclass has to say.

    @abstractmethod
    def on_peer_request(self, message: Message) -> list[Out]:
        """Handle a request of the peer."""

    @abstractmethod
    def on_inside_request(self, message: Message) -> list[Out]:
        """Handle a v1 request."""

    @abstractmethod
    def on_inside_notification(self, message: Message) -> list[Out]:
        """Handle a v1 notification."""

    # What comes in.

    def from_peer(self, message: Message) -> list[Out]:
        if message.is_request:
            return self.on_peer_request(message)
        if message.is_notification:
            self.note(Lost.NOTIFICATIONS)
            return []
        then = self.of_peer.settle(message.id)
        if then is not None:
            return then(message)
        number = message.id if isinstance(message.id, int) else 0
        if not 0 < number <= self._last_number:
            self.note(Lost.STRAY_ANSWERS)
        elif message.error is not UNSET and number > self._given_before:
            self.note(Lost.REFUSED_CHUNKS)
        return []

    def from_inside(self, message: Message) -> list[Out]:
        if message.is_request:
            return self.on_inside_request(message)
        if message.is_notification:
            return self.on_inside_notification(message)
        then = self.of_inside.settle(message.id)
        if then is None:
            self.note(Lost.STRAY_ANSWERS)
            return []
        return then(message)

    def from_host(self, message: Message) -> list[Out]:
        then = self.of_host.settle(message.id)
        return [] if then is None else then(message)

    def peer_ended(self) -> list[Out]:
        """Fail all requests to the peer, because it is gone; one answer may cause the next request."""
        outs: list[Out] = []
        while len(self.of_peer):
            for request_id, then in self.of_peer.items():
                self.of_peer.settle(request_id)
                outs += then(refusal(request_id, INTERNAL_ERROR, GONE))
        return [out for out in outs if out[0] == "inside"]

    @property
    def last_id(self) -> int:
        """The id of the last request to the peer."""
        return self._last_number

    def begin_ids_after(self, last: int) -> None:
        """Skip ids up to this one, which another edge has used, so that late answers to them match
        nothing.
        """
        self._last_number = self._given_before = last

    # What goes out.

    def ask_peer(self, method: str, params: Object | None, then: Then | None) -> Out:
        """Send the peer a request. Without `then` the answer is ignored and nothing is remembered."""
        self._last_number += 1
        if then is not None:
            self.of_peer.owe(self._last_number, then)
        return ("peer", Message(UNSET, self._last_number, method, params))

    def ask_inside(self, method: str, params: Object, then: Then) -> Out:
        own = self._own_ids.next()
        self.of_inside.owe(own, then)
        return ("inside", request(own, method, params))

    def ask_host(self, method: str, params: Object, then: Then) -> Out:
        own = self._own_ids.next()
        self.of_host.owe(own, then)
        return ("host", request(own, method, params))

    def tell_peer(self, request_id: Id | UnsetType, result: Json) -> Out:
        return ("peer", Message(UNSET, request_id, UNSET, UNSET, result))

    def refuse_peer(self, request_id: Id | UnsetType, code: int, why: str) -> Out:
        error = {"code": code, "message": why}
        return ("peer", Message(UNSET, request_id, UNSET, UNSET, UNSET, error))

    def tell_inside(self, request_id: Id | UnsetType, result: Object) -> Out:
        return ("inside", answer(request_id, result))

    def refuse_inside(
        self, request_id: Id | UnsetType, code: int, why: str, data: Json | UnsetType = UNSET
    ) -> Out:
        return ("inside", refusal(request_id, code, why, data))

    def no_such_method(self, message: Message, *, by: str) -> list[Out]:
        why = f"Method not found - '{str(message.method)[:200]}'"
        refuse = self.refuse_peer if by == "peer" else self.refuse_inside
        return [refuse(message.id, METHOD_NOT_FOUND, why)]

    # Errors that pass through.

    def fail_peer(self, request_id: Id | UnsetType, error: Json) -> Out:
        """Send a v1 error to the peer."""
        fields = as_object(error)
        data = as_object(fields.get("data"))
        if type(data.get(CODE)) is int:  # the peer's own kind said so
            return self.refuse_peer(request_id, data[CODE], as_text(fields.get("message")))
        if fields.get("data") is not None:
            self.note(Lost.ERROR_DATA)
        code = fields.get("code")
        why = as_text(fields.get("message")) or "Internal error"
        return self.refuse_peer(request_id, code if type(code) is int else INTERNAL_ERROR, why)

    def fail_inside(self, request_id: Id | UnsetType, error: Json) -> Out:
        """Send the peer's error to the v1 side. Codes beyond those of JSON-RPC are replaced: they mean
        nothing in the dialect but something in v1, such as -32000 for a login.
        """
        fields = as_object(error)
        code, why = fields.get("code"), as_text(fields.get("message")) or "Internal error"
        if type(code) is not int or not -(2**31) <= code < 2**31:
            return self.refuse_inside(request_id, INTERNAL_ERROR, why)
        if code in JSON_RPC or not -32899 <= code <= -31900:
            return self.refuse_inside(request_id, code, why)
        self.note(RepairNotes.CODES)
        return self.refuse_inside(request_id, INTERNAL_ERROR, why, {CODE: code})

    def now(self) -> str:
        """Return the time, if the host of this edge provides a clock."""
        return "" if self.settings.clock is None else self.settings.clock()


JSON_RPC = frozenset({-32700, -32600, -32601, -32602, -32603})
