"""Routes the messages of one client in a cluster: each goes to the node that owns its session.

The client sees one hub. When the node of a session is lost, or gives it to another one, the router finds the
new one, goes on from where the client stands, and asks again for what it still waits for: the client notices
a pause. What it is told passes through unread, but for answers and questions.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Any, Protocol

from msgspec import Raw, to_builtins

from dragoman.errors import CallFailed, DragomanError, LinkClosed
from dragoman.runtime.owner import TaskOwner
from dragoman.transport.contract import Transport
from dragoman.wire import (
    Failure,
    MalformedFrame,
    Notification,
    Request,
    Response,
    decode,
    decode_block,
    error_object,
    failure,
    notification,
    request,
    response,
)
from dragoman.wire.codes import INTERNAL_ERROR, INVALID_REQUEST, NAMES
from dragoman.wire.envelope import Envelope, Id
from dragoman_hub.clients.client import ClientHub
from dragoman_hub.cluster.branches import SPAN, Branch, HomeBranch, LinkBranch
from dragoman_hub.cluster.link_messages import ClientOpening
from dragoman_hub.cluster.links import Links
from dragoman_hub.cluster.owners import Owners
from dragoman_hub.cluster.pending_requests import MAKING, PendingRequest, pending_request
from dragoman_hub.cluster.remote_client import REPLACED
from dragoman_hub.cluster.router_calls import RouterCalls
from dragoman_hub.cluster.session_moves import LONGEST_PAUSE, RoutedSession, SessionMoves
from dragoman_hub.engine.bounds import MIB, size_of_request
from dragoman_hub.engine.ports import Position
from dragoman_hub.gate.admission import Grant
from dragoman_hub.session.frames import encode_json, object_of, ours_in, session_of, value_of

log = logging.getLogger(__name__)

ID = b'{"jsonrpc":"2.0","id":'
WAITED = 1000
"""The most unanswered requests of one client."""
HELD = 200
HELD_BYTES = 4 * MIB
"""The most notifications for one moving session that wait, and their bytes."""
QUESTIONS = 256
"""The most questions of a client to remember; others answer most of them without notice."""
LOST_SECONDS = 60.0
"""The seconds for which a request is sent from node to node."""


GATHER_SECONDS = 5.0
"""The seconds for a node to return its open questions, or to confirm a watch."""


class RouterCluster(Protocol):
    """The cluster, as its clients see it (`cluster.Cluster`)."""

    name: str
    hub: ClientHub
    links: Links
    owners: Owners

    def other_nodes(self) -> list[str]: ...
    def place(self, agent: str, cwd: str) -> str: ...
    async def find(self, session: str) -> str: ...
    def watch_soon(self, router: ClientRouter, node: str) -> None: ...
    def on_client_left(self, router: ClientRouter) -> None: ...


class ClientRouter:
    """The sink of a client's connection and of its branches."""

    def __init__(self, cluster: RouterCluster, transport: Transport, grant: Grant, *, agent: str) -> None:
        self.transport = transport
        self.owner = TaskOwner("cluster client")
        self.watching = False
        self.cluster = cluster
        self._grant = grant
        self._params = b"{}"
        self._numbers = 0
        self.is_closed = False
        self.pending: dict[Id, PendingRequest] = {}
        self._at_home: set[Id] = set()  # requests that our own node alone answers, and has not yet
        self._unanswered_bytes = cluster.hub.bounds.router()
        self.sessions: dict[str, RoutedSession] = {}
        self.questions: dict[int, str] = {}  # what the client was asked: id → session
        self.calls = RouterCalls()
        self._moves = SessionMoves(self)
        self.home = HomeBranch(self, cluster.hub, grant, node=cluster.name, agent=agent)
        self._branches: dict[str, Branch] = {cluster.name: self.home}
        transport.start(self)

    # The client speaks.

    def feed(self, block: bytes) -> None:
        for envelope in decode_block(block):
            try:
                self._take(envelope)
            except LinkClosed:
                return

    def on_oversized(self, size: int) -> None:
        self.home.client.on_oversized(size)

    def on_end(self, reason: BaseException | None) -> None:
        if self.is_closed:
            return
        self.is_closed = True
        for branch in list(self._branches.values()):
            branch.close()
        self._branches.clear()
        self._unanswered_bytes.close()
        self.calls.close()
        self.cluster.on_client_left(self)

    def _take(self, envelope: Envelope) -> None:
        match envelope:
            case Request(request_id, method, params):
                self._on_request(request_id, method, params)
            case Notification(method, params):
                self._on_notification(method, params)
            case Response(request_id, result):
                self._on_answer(request_id, response(request_id, bytes(result)))
            case Failure(request_id, error):
                error_frame = failure(request_id, error_object(error.code, error.message, error.data))
                self._on_answer(request_id, error_frame)
            case MalformedFrame(code=int(code), why=why, id=request_id):
                self.transport.write(failure(request_id, error_object(code, f"{NAMES[code]}: {why}")))

    def _on_request(self, request_id: Id, method: str, params: Raw | None) -> None:
        frame = request(request_id, method, None if params is None else bytes(params))
        if method == "initialize" or not self.home.client.is_initialized:
            if method == "initialize" and params is not None:
                self._params = bytes(params)
            self._ask_home(request_id, frame)
            return
        if len(self.pending) >= WAITED or not self._unanswered_bytes.fits(size_of_request(params or b"")):
            why = "Invalid request: too many requests wait for an answer already"
            self.transport.write(failure(request_id, error_object(INVALID_REQUEST, why)))
            return
        members = object_of(params)
        session = value_of(members.get("sessionId"))
        if method == "session/new":
            pending = pending_request(request_id, method, members, session="", node=self.place_new(members))
            self._ask(pending)
        elif isinstance(session, str) and session:
            self._ask(pending_request(request_id, method, members, session=session, node=""))
        elif method == "_dragoman/hub/inbox":
            self.owner.start(self._gather_inbox(request_id))
        else:
            self._ask_home(request_id, frame)
            if method == "_dragoman/hub/watch":
                self.watching = value_of(members.get("on"), True) is not False
                for node in self.cluster.other_nodes():
                    self.watch(node)

    def _ask_home(self, request_id: Id, frame: bytes) -> None:
        """A request that no other node could answer."""
        self._at_home.add(request_id)
        self.home.say(frame)

    def _ask(self, pending: PendingRequest) -> None:
        self.pending[pending.id] = pending
        self._unanswered_bytes.add(pending.size)
        if pending.session:
            if pending.method == "session/prompt":
                self._find_route(pending.session).own.append(pending.key)
            self._to_session(pending.session, pending.frame, pending)
        else:
            self.branch(pending.node).say(pending.frame)

    def _on_notification(self, method: str, params: Raw | None) -> None:
        members = object_of(params)
        frame = notification(method, None if params is None else bytes(params))
        session = value_of(members.get("sessionId"))
        if method == "$/cancel_request":
            pending = self.pending.get(value_of(members.get("requestId")))
            if pending is not None and pending.session:
                pending.cancel = frame
                self._to_session(pending.session, frame)
        elif isinstance(session, str) and session in self.sessions:
            if method == "session/cancel":
                for pending in self.pending.values():
                    if pending.session == session and pending.method == "session/prompt":
                        pending.cancel = frame
            self._to_session(session, frame)

    def _on_answer(self, request_id: Id, frame: bytes) -> None:
        """An answer goes to the node that asked, if that is still there."""
        if not isinstance(request_id, int):
            return
        self.questions.pop(request_id, None)
        for branch in self._branches.values():
            if branch.number == request_id // SPAN:
                branch.say(frame)

    # Where messages go.

    def branch(self, node: str) -> Branch:
        branch = self._branches.get(node)
        if branch is None:
            self._numbers += 1
            opening = ClientOpening(
                grant=to_builtins(self._grant),
                agent=self.home.client.agent,
                initialize=self._params,
                first_id=self._numbers * SPAN,
                age=asyncio.get_running_loop().time() - self.home.client.since,
            )
            branch = LinkBranch(self, self.cluster.links, node=node, number=self._numbers, opening=opening)
            self._branches[node] = branch
        return branch

    def _find_route(self, session: str) -> RoutedSession:
        route = self.sessions.get(session)
        if route is None:
            node = self.cluster.owners.where(session)
            route = self.sessions[session] = RoutedSession(node or "")
            if node is None:
                self._moves.move(session, route)
        return route

    def _to_session(self, session: str, frame: bytes, pending: PendingRequest | None = None) -> None:
        route = self._find_route(session)
        if route.held_frames is None:
            if pending is not None:
                pending.node = route.node
            self.branch(route.node).say(frame)
        elif pending is None:  # requests are remembered anyway
            if len(route.held_frames) >= HELD or sum(map(len, route.held_frames)) + len(frame) > HELD_BYTES:
                log.warning("session %s is moving to another node: a notification for it is dropped", session)
            else:
                route.held_frames.append(frame)

    def place_new(self, members: dict[str, Raw]) -> str:
        name = ours_in(members).get("agent")
        agent = name if isinstance(name, str) and name else self.home.client.agent
        return self.cluster.place(agent, str(value_of(members.get("cwd"), "")))

    # What branches say.

    def on_block(
        self, branch: Branch, block: bytes, session: str = "", position: Position | None = None
    ) -> None:
        route = self.sessions.get(session) if session else None
        if session and (route is None or route.node != branch.node):
            return  # a node that had the session before: the one that has it now tells all of this
        if route is not None and route.is_resuming:
            return  # the node follows it already, and is asked for all behind where the client stands
        if block.startswith(ID) or b"\n" + ID in block:
            block = self._look_at(branch, block)
        if route is not None:
            route.position = position
        if block:
            self.transport.write(block)

    def _look_at(self, branch: Branch, block: bytes) -> bytes:
        """Notice answers and questions, and keep those of this router."""
        lines: list[bytes] = []
        for line in block.splitlines(keepends=True):
            if line.startswith(ID) and self._is_own_answer(branch, line):
                continue
            lines.append(line)
        return b"".join(lines)

    def _is_own_answer(self, branch: Branch, line: bytes) -> bool:
        message = decode(line)
        if isinstance(message, Request):
            session = session_of(message.params)
            if isinstance(message.id, int) and session:
                self.questions[message.id] = session
                if len(self.questions) > QUESTIONS:
                    del self.questions[next(iter(self.questions))]
        if not isinstance(message, Response | Failure):
            return False
        if self.calls.on_answer(message):
            return True
        pending = self.pending.get(message.id)
        if pending is None:
            return self._is_late(branch, message.id)
        if pending.node != branch.node:
            return True  # of a node that had the session before: the one that has it now answers
        del self.pending[pending.id]
        self._unanswered_bytes.remove(pending.size)
        self._on_pending_answer(branch, pending, message)
        return False

    def _is_late(self, branch: Branch, request_id: Id) -> bool:
        """Whether the request has had its answer, from another node."""
        if branch is not self.home:
            return True
        is_open = request_id is None or request_id in self._at_home
        self._at_home.discard(request_id)
        return not is_open

    def _on_pending_answer(self, branch: Branch, pending: PendingRequest, answer: Response | Failure) -> None:
        session = pending.session
        if pending.method in MAKING and isinstance(answer, Response):
            session = session_of(answer.result)
            self.sessions.setdefault(session, RoutedSession(branch.node)).node = branch.node
        route = self.sessions.get(session)
        if route is not None and pending.key in route.own:
            route.own.remove(pending.key)
        idle = route is not None and route.position is None and route.held_frames is None
        if idle and all(candidate.session != session for candidate in self.pending.values()):
            del self.sessions[session]

    def on_position(self, branch: Branch, session: str, position: Position | None) -> None:
        route = self.sessions.get(session)
        if route is None and position is not None:
            route = self.sessions[session] = RoutedSession(branch.node)
        if route is None or route.node != branch.node:
            return
        if position is not None:
            route.is_resuming = False
        if route.held_frames is None:
            before, route.position = route.position, position
            for pending in self.pending.values():
                if pending.session == session and pending.node == branch.node:
                    if position is None and pending.is_begun:
                        pending.reached = before
                    pending.is_begun = position is not None

    def on_moved(self, branch: Branch, session: str) -> None:
        route = self.sessions.get(session)
        if route is not None and route.node == branch.node:
            if route.held_frames is None:
                self._moves.move(session, route)
            else:
                route.again = True

    def on_elsewhere(self, branch: Branch, request: Id, session: str, node: str) -> None:
        """A request has reached the wrong node."""
        pending = self.pending.get(request)
        if self.calls.on_elsewhere(request, session, node) or pending is None:
            return
        if pending.node != branch.node:
            return  # it was said again to the node that has the session now
        pending.hops += 1
        pending.lost_since = pending.lost_since or asyncio.get_running_loop().time()
        if asyncio.get_running_loop().time() - pending.lost_since > LOST_SECONDS:
            self.fail(pending, "Internal error: no node has the session for long enough")
            return
        route = self.sessions.get(pending.session)
        if not pending.session:
            self.owner.start(self._moves.place_again(pending))
        elif route is not None and route.held_frames is None:
            self._moves.move(pending.session, route, pause=min(LONGEST_PAUSE, 0.01 * 2.0**pending.hops))

    def has(self, branch: Branch) -> bool:
        """Whether this is still the way to its node."""
        return self._branches.get(branch.node) is branch

    def on_broken(self, branch: Branch, why: str) -> None:
        """Its node is gone, or messages were lost on the way."""
        if self.is_closed:
            return
        if self.has(branch):
            del self._branches[branch.node]
        self.calls.on_broken(branch, why)
        if why == REPLACED:
            self.owner.start(self.transport.aclose())
            return
        for session, route in list(self.sessions.items()):
            if route.node == branch.node and route.held_frames is None:
                self._moves.move(session, route)
        for pending in list(self.pending.values()):
            if not pending.session and pending.node == branch.node:
                self.owner.start(self._moves.place_again(pending))
        if self.watching:
            self.cluster.watch_soon(self, branch.node)

    def fail(self, pending: PendingRequest, why: str) -> None:
        if self.pending.pop(pending.id, None) is not None:
            self._unanswered_bytes.remove(pending.size)
        self.tell(failure(pending.id, error_object(INTERNAL_ERROR, why)))

    def tell(self, block: bytes) -> None:
        try:
            self.transport.write(block)
        except LinkClosed:
            pass

    # All nodes.

    def nodes(self) -> list[str]:
        return [self.cluster.name, *self.cluster.other_nodes()]

    async def find_node(self, session: str) -> str:
        return await self.cluster.find(session)

    def watch(self, node: str) -> None:
        """Start or stop watching the events of a node."""
        if not self.is_closed and (self.watching or node in self._branches):
            self.owner.start(self._watch(node))

    async def _watch(self, node: str) -> None:
        if not await self._set_watch(node) and self.watching:
            self.cluster.watch_soon(self, node)

    async def _set_watch(self, node: str) -> bool:
        """Whether the node agreed."""
        try:
            params = {"on": self.watching}
            await self.calls.ask(self.branch(node), "_dragoman/hub/watch", params, GATHER_SECONDS)
        except (DragomanError, TimeoutError):
            return False
        return True

    async def _gather_inbox(self, request_id: Id) -> None:
        """Answer with what is asked at any node."""
        answers = await asyncio.gather(
            *(
                self.calls.ask(self.branch(node), "_dragoman/hub/inbox", {}, GATHER_SECONDS)
                for node in self.nodes()
            ),
            return_exceptions=True,
        )
        requests: list[dict[str, Any]] = []
        denials: list[dict[str, Any]] = []
        for answer in answers:
            if isinstance(answer, CallFailed):
                self.tell(failure(request_id, error_object(answer.code, answer.message, answer.data)))
                return
            if isinstance(answer, Raw):
                inbox = value_of(answer, {})
                requests += inbox.get("requests", [])
                denials += inbox.get("denials", [])
        requests.sort(key=lambda request: request.get("askedAt", 0))
        denials.sort(key=lambda denial: denial.get("time", ""))
        self.tell(response(request_id, encode_json({"requests": requests, "denials": denials})))
