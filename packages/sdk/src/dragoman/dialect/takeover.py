"""An edge that takes over in the middle of a conversation: it maps the ids of open requests, which the
edge before it has sent under other ids.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import UNSET

from dragoman.dialect.edge import Edge, Out
from dragoman.dialect.message import Id, Message


def catch_up(edge: Edge, messages: Iterable[tuple[bool, Message]]) -> dict[Id, Id]:
    """Feed an edge the messages before its time: it answers none of them, and the ledger gets no entry.

    `messages` are pairs: whether the peer sent it, and the message. Returns the ids of requests that are
    still open and that the edge would have sent under another id: their id, and the id that the edge expects.
    """
    ids: dict[Id, Id] = {}
    with edge.ledger.mute():
        for from_peer, message in messages:
            if message.is_answer and message.id in ids:
                message = _under(message, ids.pop(message.id))
            outs = edge.from_peer(message) if from_peer else edge.from_inside(message)
            edge_id = next((out.id for _, out in outs if out.is_request), message.id)
            if message.is_request and message.id is not UNSET and edge_id != message.id:
                ids[message.id] = None if edge_id is UNSET else edge_id
    return ids


class RenumberedEdge(Edge):
    """Wraps such an edge until the last of those requests is answered."""

    name = "auto"

    def __init__(self, edge: Edge, ids: dict[Id, Id], *, peer_answers: bool) -> None:
        super().__init__(edge.settings, edge.ledger)
        self._inner = edge
        self._ids = ids
        self._peer_answers = peer_answers

    def succeeded_by(self) -> Edge:
        return self if self._ids else self._inner.succeeded_by()

    def from_peer(self, message: Message) -> list[Out]:
        return self._inner.from_peer(self._renumber(message) if self._peer_answers else message)

    def from_inside(self, message: Message) -> list[Out]:
        return self._inner.from_inside(message if self._peer_answers else self._renumber(message))

    def from_host(self, message: Message) -> list[Out]:
        return self._inner.from_host(message)

    def peer_ended(self) -> list[Out]:
        return self._inner.peer_ended()

    def _renumber(self, message: Message) -> Message:
        if message.is_answer and message.id is not UNSET and message.id in self._ids:
            return _under(message, self._ids.pop(message.id))
        return message


def _under(message: Message, new_id: Id) -> Message:
    return Message("2.0", new_id, message.method, message.params, message.result, message.error)
