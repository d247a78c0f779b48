"""One client of the hub: reads its messages, and sends it messages.

Its messages are taken in order. What can be done at once is done at once; what has to wait, for an agent or
for the journal, waits in a task of its own, a bounded number of them, and ends with the client. Everything it
may do is bounded by the scopes of the token that it came with.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from typing import Any, Protocol

from msgspec import Raw, Struct

from dragoman.core.connection import Connection
from dragoman.errors import AgentFailed, CallFailed, DragomanError, Elsewhere, ErrorAnswer, LinkClosed
from dragoman.runtime.budget import HeldBytes
from dragoman.runtime.locks import LazyEvent
from dragoman.runtime.owner import TaskOwner
from dragoman.schema.own_names import strip
from dragoman.text.json_values import encode_with_names
from dragoman.transport.contract import Transport
from dragoman.wire import (
    Failure,
    MalformedFrame,
    Notification,
    Request,
    Response,
    decode_block,
    error_object,
    failure,
    response,
)
from dragoman.wire.codes import INTERNAL_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND, NAMES, invalid_request
from dragoman.wire.envelope import Envelope, ErrorObject, Id, JsonObject
from dragoman_hub.agents.installation import AgentInstaller
from dragoman_hub.agents.pool import AgentPool
from dragoman_hub.clients.client_answers import answer_of_guest, has_capability, missing_result, why_of_error
from dragoman_hub.clients.confined_intake import ConfinedIntake
from dragoman_hub.clients.questions import PERMISSION, can_be_asked, is_answer, is_cancelled
from dragoman_hub.clients.request_checks import check_version
from dragoman_hub.engine.bounds import size_of_request
from dragoman_hub.engine.live_session import EngineHub, LiveSession, SessionFollower
from dragoman_hub.engine.ports import BrokerPort, Position
from dragoman_hub.engine.session_reach import reaches
from dragoman_hub.gate.admission import Grant
from dragoman_hub.gate.pairing import Pairings
from dragoman_hub.gate.table import FORBIDDEN, PassedParams, check, session_refusal
from dragoman_hub.lending.turn_changes import TurnChanges
from dragoman_hub.push.notifier import PushNotifier
from dragoman_hub.session.frames import object_of, value_of
from dragoman_hub.session.state import OpenRequest
from dragoman_local.workspace.policy.act import Act

log = logging.getLogger(__name__)

AT_ONCE = 64
"""The most simultaneous requests of one client; prompts are not counted, because they wait in queues."""

LENT = {
    "fs/read_text_file": ("fs", "readTextFile"),
    "fs/write_text_file": ("fs", "writeTextFile"),
    "terminal/create": ("terminal",),
    "terminal/output": ("terminal",),
    "terminal/wait_for_exit": ("terminal",),
    "terminal/kill": ("terminal",),
    "terminal/release": ("terminal",),
}
"""The methods that clients provide for agents, and their capabilities."""


class ClientSeat(Protocol):
    """Tracks a client's position, so that it may continue at another node (see `cluster`)."""

    def stands(self, session: str, position: Position | None, /) -> None:
        """Note that the client follows the session from this position on; None: it no longer does."""

    def tell(self, session: str, position: Position, block: bytes, /) -> None:
        """Send messages that bring the client to the position."""

    def on_session_moved(self, session: str, /) -> None:
        """Drop a session that has moved to another node."""

    def on_replaced(self) -> None:
        """The same client has connected in another way."""

    def elsewhere(self, request: Id, error: Elsewhere, /) -> None:
        """This request must be answered by another node."""


class HubClient:
    """A client for the length of its connection."""

    def __init__(
        self, hub: ClientHub, transport: Transport, grant: Grant, *, agent: str = "", first_id: int = 0
    ) -> None:
        self.hub = hub
        self.grant = grant
        self.agent = agent
        """Which agent it means unless it says so."""
        self.cursors = self.events = self.watches = False
        self.name = ""
        """What it calls itself when it comes back; empty if it does not."""
        self.capabilities: JsonObject = {}
        self.unknown_questions: set[str] = set()
        """What agents ask people and it does not know, as it said itself."""
        self.is_initialized = False
        self.seat: ClientSeat | None = None
        self.is_guest = False
        """Whether its connection is another node's, which looks after its token."""
        self.followers: dict[str, SessionFollower] = {}
        self.waiting: dict[tuple[str, str], tuple[Id, ...]] = {}
        """Its prompts that have no answer: session and key → the ids of all requests that have sent it."""
        self.questions: Connection[tuple[LiveSession, int]] = Connection(first_id=first_id + 1)
        """What it was asked: whose request, and which."""
        self._dismissed_ids: set[Id] = set()  # of these, the ones that it may have to answer without a person
        self.since = asyncio.get_running_loop().time()
        """When its connection came, by our clock."""
        self.closed_event = LazyEvent()
        self.transport = transport
        self.unanswered_bytes = hub.bounds.client()
        """Bytes of its requests that have no answer; prompts are counted for their session."""
        self._is_given_up = False
        self._owner = TaskOwner("hub client")
        self._intake = ConfinedIntake(self, self._take, self._owner) if grant.roots else None

    def start(self) -> None:
        self.transport.start(self)

    # Speaking.

    def send(self, block: bytes) -> None:
        """Send a message. Raises `LinkClosed` if the client has left. A client with too many unread bytes is
        disconnected: messages outside the session's stream are not stored elsewhere, and the client can come
        back and ask again.
        """
        if self.transport.pending > self.hub.options.unread:
            self.give_up(f"it has left {self.transport.pending} bytes unread")
            raise LinkClosed("the client does not read")
        self.transport.write(block)

    def show(self, session: str, position: Position, block: bytes) -> None:
        """Send messages that bring the client to a position in a session."""
        if self.seat is None:
            self.transport.write(block)
        else:
            self.seat.tell(session, position, block)

    def tell(self, block: bytes) -> None:
        """Send a message that may be lost with its reader."""
        try:
            self.send(block)
        except LinkClosed:
            pass

    @property
    def is_full(self) -> bool:
        return self.transport.pending > self.transport.limits.high

    async def room(self) -> None:
        await self.transport.drain()

    def wait_for(self, session_id: str, key: str, request_id: Id) -> None:
        """Answer the request with the end of this prompt."""
        self.waiting[session_id, key] = (*self.waiting.get((session_id, key), ()), request_id)
        self.hub.broker.on_prompt_sent(self, session_id, key)

    def forget(self, session_id: str) -> None:
        """Forget a followed session that another node owns now: the answers come from there."""
        self.followers.pop(session_id, None)
        for of, key in list(self.waiting):
            if of == session_id:
                del self.waiting[of, key]
        if self.seat is not None:
            self.seat.on_session_moved(session_id)

    def refuse_waiting(self, session_id: str, error: ErrorObject) -> None:
        """Refuse the client's waiting requests in a session."""
        for (of, key), request_ids in list(self.waiting.items()):
            if of == session_id:
                del self.waiting[of, key]
                for request_id in request_ids:
                    with suppress(LinkClosed):  # its end is on its way
                        self.send(failure(request_id, error))

    def on_session_closed(self, session_id: str) -> None:
        """Stop following a session that is closed."""
        self.followers.pop(session_id, None)
        if self.seat is not None:
            self.seat.stands(session_id, None)

    def give_up(self, why: str) -> None:
        if not self._is_given_up:
            self._is_given_up = True
            log.warning("a client of %s is cut off: %s", self.grant.name, why)
            self._owner.start(self.transport.aclose())

    # Listening: the sink of the transport.

    def feed(self, block: bytes) -> None:
        try:
            if self._intake is not None:
                self._intake.feed(block)
                return
            for envelope in decode_block(block):
                self._take(envelope)
        except LinkClosed:
            pass

    def on_oversized(self, size: int) -> None:
        why = f"Invalid request: the message of {size} bytes is larger than the limit or the free memory"
        self.tell(failure(None, error_object(INVALID_REQUEST, why)))

    def on_end(self, reason: BaseException | None) -> None:
        if not self.closed_event.is_set():
            self.closed_event.set()
            self.hub.on_client_left(self)

    def _take(self, envelope: Envelope) -> None:
        match envelope:
            case Request(request_id, method, params):
                self._asked_by(request_id, method, params)
            case Notification(method, params):
                self._told_by(method, params)
            case Response(request_id, result):
                self._on_answer(request_id, result=answer_of_guest(bytes(result)))
            case Failure(request_id, error):
                strip(error.data, edges=True)
                self._on_answer(request_id, error=error_object(error.code, error.message, error.data))
            case MalformedFrame(code=int(code), why=why, id=request_id):
                self.send(failure(request_id, error_object(code, f"{NAMES[code]}: {why}")))

    def _asked_by(self, request_id: Id, method: str, params: Raw | None) -> None:
        try:
            members = self._pass_gate(method, params)
        except ErrorAnswer as error:
            if error.code == FORBIDDEN:
                self.hub.broker.attempts.write_refusal(method[:80], error.message, person=self.grant.name)
            self.send(failure(request_id, error_object(error.code, error.message, error.data)))
            return
        size = size_of_request(params or b"")
        if method == "session/prompt":  # in order with what comes behind it, such as a cancel
            self._try(request_id, lambda: self.hub.methods.prompt(self, request_id, members))
        elif len(self._owner) >= AT_ONCE or not self.unanswered_bytes.fits(size):
            why = "Invalid request: too many requests wait for an answer already"
            self.send(failure(request_id, error_object(INVALID_REQUEST, why)))
        else:
            self._owner.start(self._answer(request_id, method, members, self.unanswered_bytes.charge(size)))

    def _pass_gate(self, method: str, raw: Raw | None, *, is_request: bool = True) -> PassedParams:
        """Raises the answer to what its token does not allow, or what comes before `initialize`."""
        params = object_of(raw)
        if method == "initialize":
            check_version(params)
        elif not self.is_initialized:
            raise invalid_request("initialize comes first")
        agent = self.agent or self.hub.default_agent
        return check(self.grant, method, params, agent=agent, is_request=is_request)

    def _try(self, request_id: Id, work: Any) -> None:
        try:
            work()
        except ErrorAnswer as error:
            self.send(failure(request_id, error_object(error.code, error.message, error.data)))
        except Elsewhere as error:
            self.elsewhere(request_id, error)

    def elsewhere(self, request_id: Id, error: Elsewhere) -> None:
        if self.seat is not None:
            self.seat.elsewhere(request_id, error)
        else:
            self.tell(failure(request_id, error_object(INTERNAL_ERROR, f"Internal error: {error}")))

    async def _answer(self, request_id: Id, method: str, params: PassedParams, charge: HeldBytes) -> None:
        try:
            with charge:
                result = await self.hub.methods.call(self, method, params, request_id)
            if result is None:  # it was answered, or will be
                return
            answer = response(request_id, result if isinstance(result, bytes) else encode_with_names(result))
        except Elsewhere as error:
            self.elsewhere(request_id, error)
            return
        except (ErrorAnswer, CallFailed) as error:
            answer = failure(request_id, error_object(error.code, error.message, error.data))
        except AgentFailed as error:
            log.info("%s failed: %s", method, error)
            why = f"Internal error: {error}"
            answer = failure(request_id, error_object(INTERNAL_ERROR, why, error.details))
        except (DragomanError, TimeoutError) as error:
            log.info("%s failed: %s", method, error)
            answer = failure(
                request_id, error_object(INTERNAL_ERROR, f"Internal error: {why_of_error(error)}")
            )
        except Exception:  # a mistake of ours must not leave a client waiting
            log.exception("%s failed", method)
            answer = failure(request_id, error_object(INTERNAL_ERROR))
        self.tell(answer)

    def _told_by(self, method: str, params: Raw | None) -> None:
        try:
            members = self._pass_gate(method, params, is_request=False)
        except ErrorAnswer as error:  # a notification has no answer
            log.info("%s: the notification %s was refused: %s", self.grant.name, method[:80], error.message)
            return
        if method == "session/cancel":
            self.hub.methods.cancel(self, members)
        elif method == "$/cancel_request":
            self.hub.methods.cancel_request(self, members)
        else:
            self.hub.methods.on_notification(self, method, members)

    def _on_answer(self, request_id: Id, *, result: Raw | None = None, error: Any = None) -> None:
        call = self.questions.take(request_id)
        if call is None:
            return  # too late, or never asked
        session, sequence = call.context
        request = session.state.visible_request(sequence)
        if request is None:  # somebody else was first
            if not is_cancelled(result):
                self._on_late_answer(session)
            return
        if request_id in self._dismissed_ids and is_cancelled(result):
            self.followers[session.id].ask_anew(sequence)
            return
        if result is not None and bytes(result) == b"null":
            result, error = missing_result(request.method)
        if request.is_question and (error is not None or not is_answer(request, result)):
            self._on_no_answer(request, error)
            return
        if request.is_question:
            self.hub.owner.start(session.answer(sequence, by=self.grant.name, result=result))
        else:
            session.settle(sequence, outcome="answered", by=self.grant.name, result=result, error=error)

    def _on_late_answer(self, session: LiveSession) -> None:
        why = "the question was already answered"
        self.hub.broker.attempts.write_refusal(PERMISSION, why, person=self.grant.name, session=session)

    def _on_no_answer(self, request: OpenRequest, error: ErrorObject | None) -> None:
        """Whoever cannot answer decides nothing: the question stays open for others and for the inbox."""
        if error is not None and error.code == METHOD_NOT_FOUND:
            self.unknown_questions.add(request.method)
        log.info("a client of %s gave no answer to %s; it stays open", self.grant.name, request.method)

    def on_withdrawal(self, session: LiveSession) -> None:
        """Note that the client cancelled its own waiting prompts; the turn of another client continues. The
        protocol requires the client to answer all questions in the session with `cancelled`; these answers
        are not a person's decision.
        """
        calls = self.questions.calls
        waiting = {number for number, call in calls.items() if call.context[0].root is session}
        self._dismissed_ids = waiting | (self._dismissed_ids & calls.keys())

    # Rights.

    def lends(self) -> list[str]:
        """The methods that it announced for agents."""
        return [method for method, path in LENT.items() if has_capability(self.capabilities, path)]

    def can_answer(self, request: OpenRequest) -> bool:
        """Whether it may decide agents' questions, and can ask a person."""
        is_able = request.method not in self.unknown_questions and can_be_asked(self.capabilities, request)
        return is_able and self.grant.may("approve")

    @property
    def usage(self) -> bool:
        """Whether it asked for the usage in answers to prompts."""
        return has_capability(self.capabilities, ("_meta", "dragoman", "usage"))

    @property
    def knows_children(self) -> bool:
        """Whether it accepts messages about child sessions that it has not requested."""
        return isinstance(self.capabilities.get("subagents"), dict)

    @property
    def follows_children(self) -> bool:
        """Whether the client gets the events of child sessions of the sessions that it follows."""
        return self.knows_children or self.events

    def may_reach(self, session: LiveSession) -> None:
        """Raise the error for a session outside the scope of its token."""
        if not reaches(self.grant, session.state):
            raise session_refusal()

    async def session(self, params: dict[str, Raw], *, may_load: bool = False) -> LiveSession:
        """Return the session of a request; `may_load` as in `Hub.session`."""
        session_id = self.text(params, "sessionId")
        session = await self.hub.session(session_id, may_load=may_load)
        if self.grant.paths_to_look_at(session.state.places):
            await self.grant.look_at(session.state.places)
            session = await self.hub.session(session_id, may_load=may_load)  # it may be another one by now
        self.may_reach(session)
        return session

    def text(self, params: dict[str, Raw], name: str) -> str:
        value = value_of(params.get(name))
        if not isinstance(value, str) or not value:
            raise ErrorAnswer(-32602, f"Invalid params: {name} is missing")
        return value

    async def aclose(self) -> None:
        await self._owner.aclose()
        self.unanswered_bytes.close()
        await self.transport.aclose()


class ClientMethods(Protocol):
    """Handles a client's messages (`methods.Methods`)."""

    async def call(
        self, client: HubClient, method: str, params: PassedParams, request_id: Id
    ) -> JsonObject | bytes | None: ...
    def introduce(self, client: HubClient, params: PassedParams) -> JsonObject: ...
    def prompt(self, client: HubClient, request_id: Id, params: PassedParams) -> None: ...
    def cancel(self, client: HubClient, params: PassedParams) -> None: ...
    def cancel_request(self, client: HubClient, params: PassedParams) -> None: ...
    def on_notification(self, client: HubClient, method: str, params: PassedParams) -> None: ...


class Denial(Struct):
    """A denial without a rule, and the rule that would allow it, after a person has seen it."""

    act: Act
    """What was denied last under this command line."""
    shown: JsonObject
    """Its text in the inbox."""
    rule: str = ""
    is_kept: bool = False
    may_retry: bool = False
    """Whether `act` is all that was judged, and its next try can be recognized."""
    is_retried: bool = False
    """Whether a person has allowed its next try, and it was not denied since."""

    @property
    def row(self) -> JsonObject:
        return {**self.shown, "once": self.may_retry}


class ClientDenials(Protocol):
    async def find(self, session: LiveSession, remedy: str) -> Denial | None: ...


class ClientBroker(BrokerPort[LiveSession], Protocol):
    """The approvals, as clients see them (`judge.broker.ApprovalBroker`)."""

    def on_client_arrival(self, client: HubClient) -> None: ...
    def on_prompt_sent(self, client: HubClient, session_id: str, key: str) -> None: ...
    def inbox(self, client: HubClient) -> list[JsonObject]: ...
    @property
    def denials(self) -> ClientDenials: ...
    async def denied(self, client: HubClient) -> list[JsonObject]: ...
    def terminal(self, session: LiveSession, terminal_id: str) -> JsonObject | None: ...


class ClientHub(EngineHub, Protocol):
    """The hub, as its clients, the judge, the cluster and the API see it (`hub.Hub`)."""

    clients: set[HubClient]
    default_agent: str
    pairings: Pairings | None
    installer: AgentInstaller | None
    push: PushNotifier | str
    route: Callable[[Transport, Grant, str], HubClient] | None

    @property
    def pool(self) -> AgentPool: ...
    @property
    def broker(self) -> ClientBroker: ...
    @property
    def changes(self) -> TurnChanges: ...
    @property
    def methods(self) -> ClientMethods: ...
    def accept(self, transport: Transport, grant: Grant, *, agent: str = "") -> HubClient: ...
    def on_client_left(self, client: HubClient) -> None: ...
    def begin_draining(self) -> None: ...
    def attach(
        self,
        client: HubClient,
        session: LiveSession,
        position: Position,
        *,
        own: Iterable[str] = (),
        through: SessionFollower | None = None,
    ) -> SessionFollower: ...
    def detach(self, client: HubClient, session: LiveSession) -> None: ...
    async def ask(self, session: LiveSession, method: str, params: dict[str, Raw]) -> Raw: ...
    def pass_on(self, session: LiveSession, method: str, params: dict[str, Raw]) -> None: ...
    def tell(self, session: LiveSession, update: JsonObject, *, note: bytes = b"") -> None: ...
    def check_rate(self, client: HubClient) -> None: ...
    async def introduction(self, agent: str, *, start: bool) -> JsonObject: ...
    def status(self) -> Awaitable[Any]: ...
