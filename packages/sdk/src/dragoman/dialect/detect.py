"""Edges for peers whose dialect is not configured: they recognise the dialect, then its own edge takes over
for good.

A client shows itself in its first request. An agent is told a v1 `initialize` and shows itself in its answer;
if it did not understand, it is told once more in its own words, and nobody inside hears of the first try.
What the handshake leaves open is passed as v1 until something tells: at the latest the first thing that has
no common form. The edge that takes over learns what was said before its time.

There is no clock here: an agent that never answers is waited for, as it would be without us.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable
from typing import ClassVar, Protocol, runtime_checkable

from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from dragoman.dialect.clues_agent import introduction_clues, later_clues
from dragoman.dialect.clues_client import (
    THREADS_ASKED_OF_AGENT,
    THREADS_ASKED_OF_CLIENT,
    begins_as_koog,
    client_clues,
)
from dragoman.dialect.debts import PendingRequests
from dragoman.dialect.edge import Edge, EdgeSettings, Needles, Out, Signs
from dragoman.dialect.evidence import Clue, Tally
from dragoman.dialect.ledger import DialectDecision, Ledger
from dragoman.dialect.message import (
    Id,
    Message,
    Object,
    answer,
    as_object,
    as_text,
    refusal,
    update_of,
    with_params,
)
from dragoman.dialect.names import AUTO, Position, make_edge
from dragoman.wire.codes import INTERNAL_ERROR


@runtime_checkable
class HasOwnIds(Protocol):
    """An edge that gives its own ids to questions for the peer."""

    def begin_ids_after(self, last: int) -> None: ...


class UndecidedEdge(Edge):
    """Base of both positions: the clues, the messages so far, and the switch to the dialect's edge."""

    name = AUTO
    position: ClassVar[Position]

    def __init__(self, settings: EdgeSettings, ledger: Ledger) -> None:
        super().__init__(settings, ledger)
        self._tally = Tally()
        self._evidence: list[tuple[bool, Message]] = []  # whether it came from the peer, and what
        self._edge: Edge | None = None

    def succeeded_by(self) -> Edge:
        return self if self._edge is None else self._edge.succeeded_by()

    def peer_ended(self) -> list[Out]:
        return [] if self._edge is None else self._edge.peer_ended()

    def from_host(self, message: Message) -> list[Out]:
        return [] if self._edge is None else self._edge.from_host(message)

    def _remember(self, message: Message, *, from_peer: bool) -> None:
        """For the edge that takes over. Notifications leave nothing open, and there may be many."""
        if not message.is_notification:
            self._evidence.append((from_peer, message))

    def _weigh(self, clues: list[Clue]) -> None:
        self._tally.add(clues, frame=self.ledger.frame)

    def _likeliest(self) -> str:
        """At the last call. Not v2: its handshake is another, and theirs is over."""
        dialect = self._tally.last_call()
        return "v1" if dialect == "v2" else dialect

    def _become(self, dialect: str, *, sure: bool, settings: EdgeSettings | None = None) -> Edge:
        """The real edge, which knows what was said. From now on it gets everything."""
        edge = make_edge(dialect, self.position, settings or self.settings, self.ledger)
        decision = DialectDecision(
            peer=self.position,
            dialect=dialect,
            frame=self.ledger.frame,
            sure=sure,
            reasons=tuple(self._tally.reasons),
        )
        self.ledger.note_decision(decision)
        self._edge = edge
        if dialect != "v1":
            ids = catch_up(edge, self._evidence)
            if ids:
                self._edge = RenumberedEdge(edge, ids, peer_answers=self.position == "agent")
        self._evidence.clear()
        return self._edge


class UndecidedClient(UndecidedEdge):
    """The peer is a client of an unknown dialect."""

    position = "client"
    only_messages = True  # a batch may hold what must not be said on a guess, and is not a message of v1
    # A tool call or a question has another form in each dialect: whoever gets one must be known.
    SIGNS_FROM_INSIDE: ClassVar[Signs] = {"session/update": Needles(b'"tool_call')}

    def __init__(self, settings: EdgeSettings, ledger: Ledger) -> None:
        super().__init__(settings, ledger)
        self._introducing: Id | UnsetType = UNSET  # the `initialize` that is open

    def from_peer(self, message: Message) -> list[Out]:
        if self._edge is not None:
            return self._edge.from_peer(message)
        if message.is_request and message.method == "initialize":
            self._introducing = message.id
        self._weigh(client_clues(message))
        dialect = self._tally.verdict()
        if dialect is not None:
            # As its document has it, turned round: known from what it asks.
            settings = replace(self.settings, as_written=message.method in THREADS_ASKED_OF_CLIENT)
            return self._become_sure(dialect, message, settings).from_peer(message)
        if message.is_request and self._tally.candidates == {"v1"}:
            return self._become_sure("v1", message, self.settings).from_peer(message)
        if message.is_request and message.method in ("session/prompt", "authenticate"):
            dialect = self._likeliest()
            told = self._without_credentials(message, dialect)
            return self._become(dialect, sure=False).from_peer(told)
        self._remember(message, from_peer=True)
        return [("inside", self._without_credentials(message, "v1"))]

    def _without_credentials(self, message: Message, dialect: str) -> Message:
        """What has no place in v1's `authenticate` may be a key, and goes nowhere on a guess."""
        if message.method != "authenticate":
            return message
        params = as_object(message.params)
        names = {"methodId", "_meta", *(("data",) if dialect == "acpex" else ())}
        common = {name: value for name, value in params.items() if name in names}
        if common.keys() == params.keys():
            return message
        self.note_loss("credentials of authenticate", "dropped: nobody knows yet what the client speaks")
        return with_params(message, common)

    def _become_sure(self, dialect: str, message: Message, settings: EdgeSettings) -> Edge:
        """A client of v1 that begins as koog's guide does may be one of koog: its first answer says both."""
        edge = self._become(dialect, sure=True, settings=settings)
        if dialect == "v1" and message.id is not UNSET and begins_as_koog(message):
            edge = self._edge = FirstAnswer(edge, message.id)
        return edge

    def from_inside(self, message: Message) -> list[Out]:
        if self._edge is not None:
            return self._edge.from_inside(message)
        if self._tally.foreign and _has_many_forms(message):
            return self._become(self._likeliest(), sure=False).from_inside(message)
        self._remember(message, from_peer=False)
        if message.is_answer and message.id == self._introducing and type(message.result) is dict:
            self._introducing = UNSET
            return [("peer", answer(message.id, in_words_of(message.result, self._tally.candidates)))]
        return [("peer", message)]


def _has_many_forms(message: Message) -> bool:
    if message.method == "session/request_permission":
        return True
    return update_of(message).get("sessionUpdate") in ("tool_call", "tool_call_update")


LAST_VERSION = 65535
"""The largest possible version: versions are numbers of sixteen bits."""


class _UpdateClues:
    """The sign of updates in which there may be a clue. One pattern for all of it would take ten times as
    long.
    """

    _needles = Needles(b'"@type"', b'"kind"', b'"tool_call', b'"message"')
    _other_type = re.compile(rb'"type"\s*:\s*"(?!text"|content")')

    def search(self, block: bytes) -> bool:
        return (
            self._needles.search(block)
            or self._other_type.search(block) is not None
            or any(line and b'"sessionUpdate"' not in line for line in block.split(b"\n"))
        )


class UndecidedAgent(UndecidedEdge):
    """The peer is an agent of an unknown dialect."""

    position = "agent"
    SIGNS_FROM_PEER: ClassVar[Signs] = {"session/update": _UpdateClues()}

    def __init__(self, settings: EdgeSettings, ledger: Ledger) -> None:
        super().__init__(settings, ledger)
        self._introducing: Message | None = None  # the `initialize` that is open
        self._held_messages: list[Message] = []  # what the inside said meanwhile
        self._requests: PendingRequests[str] = PendingRequests()

    def from_inside(self, message: Message) -> list[Out]:
        if self._edge is not None:
            return self._edge.from_inside(message)
        if message.is_answer:
            return [("peer", message)]
        if self._introducing is not None and not _takes_back(message, self._introducing):
            self._held_messages.append(message)
            return []
        if message.is_request and message.method == "initialize":
            self._introducing = message
            return [("peer", _in_version_1(message))]
        return self._pass_on(message)

    @property
    def holding(self) -> bool:
        return bool(self._held_messages)

    def _pass_on(self, message: Message) -> list[Out]:
        self._remember(message, from_peer=False)
        if message.is_request:
            self._requests.owe(message.id, str(message.method))
        return [("peer", message)]

    def from_peer(self, message: Message) -> list[Out]:
        if self._edge is not None:
            return self._edge.from_peer(message)
        first = self._introducing
        if first is not None and message.is_answer and message.id == first.id:
            self._introducing = None
            return self._on_introduction(first, message)
        request_method = self._requests.settle(message.id) if message.is_answer else None
        self._weigh(later_clues(message, request_method or ""))
        dialect = self._tally.verdict()
        if dialect is not None or request_method == "session/prompt" or _has_no_form_in_v1(message):
            return self._decide_early(message, dialect or self._likeliest(), sure=dialect is not None)
        self._remember(message, from_peer=True)
        return [("inside", read_undecided(message, request_method or "", self._tally.candidates, self))]

    def _decide_early(self, message: Message, dialect: str, *, sure: bool) -> list[Out]:
        """It showed itself in something else than its answer to `initialize`."""
        # As its document has it, turned round: known from what it asks.
        settings = replace(self.settings, as_written=message.method in THREADS_ASKED_OF_AGENT)
        first, self._introducing = self._introducing, None
        if first is not None and dialect != "threads":  # its answer is still to come
            self._evidence.append((False, first))
        edge = self._become(dialect, sure=sure, settings=settings)
        if isinstance(edge, HasOwnIds) and first is not None and isinstance(first.id, int):
            edge.begin_ids_after(max(first.id, 0))  # it may still refuse our `initialize`
        outs = edge.from_inside(first) if first is not None and dialect == "threads" else []
        return [*outs, *self._release_held(), *edge.from_peer(message)]

    def _on_introduction(self, first: Message, message: Message) -> list[Out]:
        self._weigh(introduction_clues(message))
        dialect = self._tally.verdict()
        if dialect is None:
            self._evidence += [(False, first), (True, message)]
            read = read_undecided(message, "initialize", self._tally.candidates, self)
            return [("inside", read), *self._release_held()]
        if dialect == "v1" or (message.error is UNSET and dialect != "v2"):
            self._evidence.append((False, first))
            outs = self._become(dialect, sure=True).from_peer(message)
        else:  # it did not understand: once more, in its own words
            settings = self.settings if self.settings.as_written else replace(self.settings, as_written=None)
            outs = self._become(dialect, sure=True, settings=settings).from_inside(first)
        return [*outs, *self._release_held()]

    def _release_held(self) -> list[Out]:
        """What waited for the handshake, as it would have gone without waiting."""
        messages, self._held_messages = self._held_messages, []
        return [out for message in messages for out in self.from_inside(message)]

    def peer_ended(self) -> list[Out]:
        messages, self._held_messages = self._held_messages, []
        reason = "Internal error: the agent ended before it introduced itself"
        refusals: list[Out] = [
            ("inside", refusal(message.id, INTERNAL_ERROR, reason))
            for message in messages
            if message.is_request
        ]
        return refusals + super().peer_ended()


def _takes_back(message: Message, request: Message) -> bool:
    """Whether the client no longer waits for the answer to this: then there is nothing to hold it for."""
    cancels = message.is_notification and message.method == "$/cancel_request"
    return cancels and as_object(message.params).get("requestId") == request.id


def _in_version_1(message: Message) -> Message:
    """An agent that is offered a later version may take it; the inside of an interpreter is version 1. What
    is not a version at all is the agent's to refuse.
    """
    params: Object = as_object(message.params)
    version = params.get("protocolVersion")
    if type(version) is int and 1 < version <= LAST_VERSION:
        return with_params(message, {**params, "protocolVersion": 1})
    return message


def _has_no_form_in_v1(message: Message) -> bool:
    if message.method == "session/request_permission":
        return message.is_notification
    return message.method == "session/update" and type(update_of(message).get("sessionUpdate")) is not str


# An edge that takes over in the middle of a conversation: it maps the ids of open requests, which the edge
# before it has sent under other ids.


def catch_up(edge: Edge, messages: Iterable[tuple[bool, Message]]) -> dict[Id, Id]:
    """Feed an edge the earlier messages. The edge answers none of them, and the ledger gets no entry.

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
    """Wraps an edge until its last renumbered request is answered."""

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


# Messages to a peer whose dialect is still unknown, written so that every possible dialect understands them.
#
# An agent's words become valid v1 without a decision: blocks and capabilities that v1 calls otherwise, codes
# of errors that mean something else there. A client's first answer holds the words of every dialect that the
# client may speak; v1 lets a reader ignore what it does not know.

ACPEX = frozenset({"acpex", "acpex-wire"})


def read_undecided(message: Message, request_method: str, candidates: frozenset[str], edge: Edge) -> Message:
    """Read an agent's message as valid v1; `request_method` is the method that it answers, if it is an
    answer.
    """
    if message.method == "session/update":
        return _with_valid_block(message, edge)
    if request_method == "initialize" and message.error is UNSET:
        return _with_capabilities(message)
    # Where it may as well be v1, its codes mean what they mean there: a login is wanted, a session not found.
    if message.is_answer and message.error is not UNSET and candidates & ACPEX and "v1" not in candidates:
        return _with_valid_code(message, request_method, edge)
    return message


def _with_valid_block(message: Message, edge: Edge) -> Message:
    update = update_of(message)
    kind = as_text(update.get("sessionUpdate"))
    if not kind.endswith("_chunk") or as_object(update.get("content")).get("type") in ("text", None):
        return message
    from dragoman.dialect.haven.content import read_block  # few conversations get here

    block = read_block(update["content"], edge)
    if block is update["content"]:
        return message
    return with_params(message, {**as_object(message.params), "update": {**update, "content": block}})


def _with_capabilities(message: Message) -> Message:
    """`capabilities` is what haven calls v1's; a list of tools in it is koog's, and no capability of v1."""
    result = as_object(message.result)
    capabilities = result.get("capabilities")
    if type(capabilities) is not dict or "agentCapabilities" in result or "tools" in capabilities:
        return message
    return answer(message.id, {**result, "agentCapabilities": capabilities})


def _with_valid_code(message: Message, request_method: str, edge: Edge) -> Message:
    from dragoman.dialect.acpex.codes import read_error  # few conversations get here

    error = read_error(
        message.error, request_method, lambda phrase: edge.note_repair(phrase.what, phrase.action)
    )
    return Message("2.0", message.id, UNSET, UNSET, UNSET, error)


def in_words_of(result: Object, candidates: Container[str]) -> Object:
    """Return the `initialize` answer for a client that may speak any of these dialects, or v1."""
    fields = result
    if "acpex" in candidates or "acpex-wire" in candidates:
        from dragoman.dialect.acpex.overview import OverviewForm

        theirs = OverviewForm().introduction(result, lambda phrase: None)
        able = {**as_object(theirs.get("agentCapabilities")), **as_object(result.get("agentCapabilities"))}
        fields = {**theirs, **fields, "agentCapabilities": able}
    if "haven" in candidates:
        # v1 leaves them out where there are none; haven always has them.
        fields = {**fields, "capabilities": as_object(result.get("agentCapabilities"))}
    elif "koog" in candidates:
        from dragoman.dialect.koog.client import server_words

        fields = {**fields, **server_words(result)}
    return fields


class FirstAnswer(Edge):
    """The edge for a v1 client that may be koog: koog speaks v1, but expects other fields in the first
    answer.
    """

    def __init__(self, following: Edge, request_id: Id) -> None:
        super().__init__(following.settings, following.ledger)
        self._following = following
        self._request_id = request_id
        self._is_answered = False

    def succeeded_by(self) -> Edge:
        return self._following if self._is_answered else self

    def from_inside(self, message: Message) -> list[Out]:
        if self._is_answered or not message.is_answer or message.id != self._request_id:
            return [("peer", message)]
        self._is_answered = True
        result = as_object(message.result)
        return [("peer", answer(message.id, in_words_of(result, {"koog"})) if result else message)]
