"""One edge of an interpreter: it speaks a peer's dialect on the outside and canonical v1 on the inside.

For each dialect there are two edges: one whose peer is a client, one whose peer is an agent. An edge is pure:
a message in, any number out, each with where it goes. It has no clock and does no IO; what it remembers is in
plain sight on itself. Edges of both sides do not know of each other: between them is v1.

    peer ──from_peer──▶ edge ──"inside"──▶ v1
    peer ◀──"peer"───── edge ◀─from_inside─ v1
                         └──"host"──▶ whoever runs the interpreter, for what takes IO; its answers come
                                      back through `from_host`

What an edge promises: each request gets exactly one answer, from the other side or from the edge itself;
messages keep their order; ids are kept unless the dialect cannot hold them; no input makes it raise. What it
gives to the inside is valid v1, what it gives to the peer is what the dialect can say.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Literal, Protocol, TypeAlias

from msgspec import Struct

from dragoman.dialect.ledger import Ledger, LedgerNote
from dragoman.dialect.message import Message, Object, as_object

Toward: TypeAlias = Literal["inside", "peer", "host"]
Out: TypeAlias = tuple[Toward, Message]


class Needles:
    """Byte strings to search for. A plain search is many times as fast as a pattern, and it runs on every
    frame.
    """

    def __init__(self, *needles: bytes) -> None:
        self.needles = needles

    def search(self, block: bytes) -> bool:
        return any(needle in block for needle in self.needles)


class Sign(Protocol):
    """A pattern, or needles; only their presence in a block matters."""

    def search(self, block: bytes, /) -> object: ...


Signs: TypeAlias = dict[str, Sign]
"""By method: the sign of notifications that an edge must see. Notifications without the sign pass undecoded.
A sign matches the form of a notification, never a word in a text.
"""

Consent: TypeAlias = Callable[[Object], str | None]
"""Decides a permission request (its v1 params) when the peer can't: the id of an option, or None.

It is asked only where a dialect cannot carry the question. None means no.
"""


def nobody_consents(question: Object) -> str | None:
    """The default consent: without a decision, nothing is allowed."""
    return None


class EdgeSettings(Struct, frozen=True, kw_only=True):
    """Settings of an edge, for things that its dialect can't express."""

    cwd: str = "/"
    """The folder of sessions, for dialects whose messages name no folder."""
    mcp_servers: tuple[dict[str, Any], ...] = ()
    """The MCP servers of sessions, for dialects whose messages name none."""
    consent: Consent = nobody_consents
    answers_for_peer: bool = True
    """Whether an edge answers questions for a client that has left, that chose nothing, or whose dialect
    can't ask. False where other clients see the same question, as at a hub: there only a person answers. See
    `permission`.
    """
    policy: str = ""
    """For the host: the file of rules that apply before the project's and the user's rules."""
    clock: Callable[[], str] | None = None
    """The time now, in RFC 3339, for dialects with times: an edge has no clock of its own."""
    as_written: bool | None = False
    """Threads only: use the directions in the dialect's document, which are the reverse of those in its code.
    None: detect the directions. A client shows them in its first request.
    """
    credentials: bool = False
    """For the host: whether an agent may get credentials of `authenticate` in its environment or typed into
    its login command. An agent whose dialect has credentials gets them anyway.
    """
    client_tools: bool = False
    """V2 agents only: whether the host provides the client's files and terminals as tools."""
    nonce: str = ""
    """A part of generated ids that must outlive the conversation, such as ids of messages. Give each
    conversation a different value.
    """


class Edge:
    """Passes everything unchanged; a dialect overrides what it changes. An edge that overrides nothing is
    free.
    """

    name: ClassVar[str] = "v1"
    asks_permission: ClassVar[bool] = True
    """Whether a client of the dialect can be asked for permission, and can answer."""

    SIGNS_FROM_PEER: ClassVar[Signs] = {}
    SIGNS_FROM_INSIDE: ClassVar[Signs] = {}

    only_messages: ClassVar[bool] = False
    """Whether a frame of the peer that is not a message is answered here and not passed on."""

    def __init__(self, settings: EdgeSettings, ledger: Ledger) -> None:
        self.settings = settings
        self.ledger = ledger

    @property
    def signs_from_peer(self) -> Signs:
        """Notifications of these methods need a change only if their bytes hold the sign; a block of
        others is passed on without decoding. Methods that are not listed are always read.
        """
        return self.SIGNS_FROM_PEER

    @property
    def signs_from_inside(self) -> Signs:
        """The same for messages from the other side."""
        return self.SIGNS_FROM_INSIDE

    def from_peer(self, message: Message) -> list[Out]:
        """Translate a message of the peer from its dialect."""
        return [("inside", message)]

    def from_inside(self, message: Message) -> list[Out]:
        """Translate a v1 message of the other side."""
        return [("peer", message)]

    def from_host(self, message: Message) -> list[Out]:
        """Handle the host's answer to a request."""
        return []

    def peer_ended(self) -> list[Out]:
        """Answer the open requests of the v1 side, because the peer is gone. Not called where an edge does
        not answer for its peer: there the end of the connection is the answer.
        """
        return []

    @property
    def holding(self) -> bool:
        """Whether the edge holds messages that it sends as soon as the peer has sent its next one."""
        return False

    def succeeded_by(self) -> Edge:
        """Return the edge for the next block: an edge that only detects a dialect hands over to that
        dialect's edge.
        """
        return self

    def announce_limits(self, params: Object) -> Object:
        """Change the v1 params of the client's `initialize`: a client that can't be asked for permission
        announces that, and gets notices of questions instead.
        """
        if self.asks_permission or self.settings.answers_for_peer:
            return params
        capabilities = as_object(params.get("clientCapabilities"))
        meta = as_object(capabilities.get("_meta"))
        ours = {**as_object(meta.get("dragoman")), "permission": "told"}
        return {**params, "clientCapabilities": {**capabilities, "_meta": {**meta, "dragoman": ours}}}

    def note(self, note: LedgerNote) -> None:
        """Record a loss or a repair in the ledger."""
        (self.note_loss if note.outcome == "lost" else self.note_repair)(note.what, note.action)

    def note_loss(self, what: str, action: str) -> None:
        self.ledger.note_loss(what, action, dialect=self.name)

    def note_repair(self, what: str, action: str) -> None:
        self.ledger.note_repair(what, action, dialect=self.name)


NO_SIGN = Needles()
"""As a pattern of `signs_from_…`: notifications of this method never need a change."""
