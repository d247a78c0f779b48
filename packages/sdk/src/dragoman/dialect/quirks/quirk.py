"""A quirk: repairs one known deviation of one real agent or client, at the edge next to it.

A quirk is an edge that speaks v1 on both sides. It is switched on by the name under which its peer introduces
itself, and by nothing else: what one program does wrong may be what another one means.
"""

from __future__ import annotations

import re
from typing import ClassVar

from dragoman.dialect.debts import PendingRequests
from dragoman.dialect.edge import NO_SIGN, Edge, EdgeSettings, Out, Signs
from dragoman.dialect.ledger import Ledger
from dragoman.dialect.message import Message, Object, as_object, with_params
from dragoman.dialect.names import Position


class Quirk(Edge):
    """Base of quirks. Remembers open requests, because nearly all quirks are about answers."""

    name = "quirks"
    title: ClassVar[str]
    """The name of the quirk, as the docs list it."""
    position: ClassVar[Position]
    """The role of the peer with the quirk."""
    who: ClassVar[re.Pattern[str]]
    """The names of the programs with the quirk."""
    what: ClassVar[str]
    """The ledger's name for the quirk."""
    action: ClassVar[str]
    """The action, as the ledger describes it."""
    fix: ClassVar[str]
    """Advice for the author of the program."""

    # Updates pass undecoded, unless a quirk wants to see some.
    SIGNS_FROM_PEER: ClassVar[Signs] = {"session/update": NO_SIGN, "session/cancel": NO_SIGN}
    SIGNS_FROM_INSIDE: ClassVar[Signs] = {"session/update": NO_SIGN, "session/cancel": NO_SIGN}

    def __init__(self, settings: EdgeSettings, ledger: Ledger) -> None:
        super().__init__(settings, ledger)
        self._asked_by_peer: PendingRequests[Message] = PendingRequests()
        self._asked_by_inside: PendingRequests[Message] = PendingRequests()

    def from_peer(self, message: Message) -> list[Out]:
        if message.is_request:
            self._asked_by_peer.owe(message.id, message)
            return self.on_peer_request(message)
        if message.is_answer:
            request = self._asked_by_inside.settle(message.id)
            return [("inside", message if request is None else self.on_peer_answer(request, message))]
        notification = self.on_peer_notification(message)
        return [] if notification is None else [("inside", notification)]

    def from_inside(self, message: Message) -> list[Out]:
        if message.is_request:
            self._asked_by_inside.owe(message.id, message)
            return [("peer", self.on_inside_request(message))]
        if message.is_answer:
            request = self._asked_by_peer.settle(message.id)
            return [("peer", message if request is None else self.on_inside_answer(request, message))]
        notification = self.on_inside_notification(message)
        return [] if notification is None else [("peer", notification)]

    def repair(self) -> None:
        self.note_repair(self.what, self.action)

    # What a quirk says otherwise. Whatever comes back as the same object passes as the same bytes.

    def on_peer_request(self, message: Message) -> list[Out]:
        return [("inside", message)]

    def on_peer_notification(self, message: Message) -> Message | None:
        """Change a notification of the peer; None drops it. Called for the updates in `SIGNS_FROM_PEER`."""
        return message

    def on_inside_request(self, message: Message) -> Message:
        return message

    def on_inside_notification(self, message: Message) -> Message | None:
        """Change a notification to the peer; None drops it."""
        return message

    def on_peer_answer(self, incoming: Message, message: Message) -> Message:
        return message

    def on_inside_answer(self, incoming: Message, message: Message) -> Message:
        return message


def with_update(message: Message, update: Object) -> Message:
    """Return the same notification with another update."""
    return with_params(message, {**as_object(message.params), "update": update})


def session_of(message: Message) -> str:
    session = as_object(message.params).get("sessionId")
    return session if type(session) is str else ""


def error_text(error: Object) -> str:
    """Return the text of an error for people, from any field that has it."""
    data = error.get("data")
    details = as_object(data).get("details") or as_object(data).get("error") or data
    return " ".join(text for text in (error.get("message"), details) if type(text) is str)
