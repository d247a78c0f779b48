"""One client of a node in a cluster: gives each of its messages to the node of the session it is about.

The client sees one hub. When the node of a session is lost, or gives it to another one, the front finds the
new one, goes on from where the client stands, and asks again for what it still waits for: the client notices
a pause. What it is told passes through unread, but for answers and questions.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from msgspec import Raw

from dragoman.errors import LinkClosed
from dragoman.hub.cluster.branches import SPAN, Branch, HomeBranch, LinkBranch
from dragoman.hub.cluster.guest import REPLACED
from dragoman.hub.cluster.inside import Inside, gather_inbox, watch_node
from dragoman.hub.cluster.moving import LONGEST_PAUSE, Followed, Moves
from dragoman.hub.cluster.remembering import Waited, waited
from dragoman.hub.engine.bounds import MIB, size_of_request
from dragoman.hub.session.frames import object_of, ours_in, session_of, value_of
from dragoman.runtime.owner import TaskOwner
from dragoman.wire import (
    Failure,
    Malformed,
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

if TYPE_CHECKING:
    from dragoman.hub.clients.rendering import Position
    from dragoman.hub.cluster.cluster import Cluster
    from dragoman.hub.gate.admission import Grant
    from dragoman.transport.contract import Transport
    from dragoman.wire.envelope import Envelope, Id

log = logging.getLogger(__name__)

ID = b'{"jsonrpc":"2.0","id":'
WAITED = 1000
"""Requests of one client that may be without an answer."""
HELD = 200
HELD_BYTES = 4 * MIB
"""Notifications for one session that wait while it moves, and their bytes."""
QUESTIONS = 256
"""What a client was asked and is remembered; most are answered by others, of which we hear nothing."""
LOST_SECONDS = 60.0
"""How long a request is carried from node to node."""


class Front:
    """The sink of a client's connection, and the ear of its branches."""

    def __init__(self, cluster: Cluster, transport: Transport, grant: Grant, *, agent: str) -> None:
        self.transport = transport
        self.owner = TaskOwner("cluster front")
        self.watching = False
        self.cluster = cluster
        self._grant = grant
        self._params = b"{}"
        self._numbers = 0
        self.closed = False
        self.waited: dict[Id, Waited] = {}
        self._unanswered = cluster.hub.bounds.front()
        self.sessions: dict[str, Followed] = {}
        self.questions: dict[int, str] = {}  # what the client was asked: id → session
        self.inside = Inside()
        self._moves = Moves(self)
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

    def oversized(self, size: int) -> None:
        self.home.client.oversized(size)

    def ended(self, reason: BaseException | None) -> None:
        if self.closed:
            return
        self.closed = True
        for branch in list(self._branches.values()):
            branch.close()
        self._branches.clear()
        self._unanswered.close()
        self.inside.close()
        self.cluster.left(self)

    def _take(self, envelope: Envelope) -> None:
        match envelope:
            case Request(request_id, method, params):
                self._asked(request_id, method, params)
            case Notification(method, params):
                self._said(method, params)
            case Response(request_id, result):
                self._answered(request_id, response(request_id, bytes(result)))
            case Failure(request_id, error):
                told = failure(request_id, error_object(error.code, error.message, error.data))
                self._answered(request_id, told)
            case Malformed(code=int(code), why=why):
                self.transport.write(failure(None, error_object(code, f"{NAMES[code]}: {why}")))

    def _asked(self, request_id: Id, method: str, params: Raw | None) -> None:
        frame = request(request_id, method, None if params is None else bytes(params))
        if method == "initialize" or not self.home.client.initialized:
            if method == "initialize" and params is not None:
                self._params = bytes(params)
            self.home.say(frame)
            return
        if len(self.waited) >= WAITED or not self._unanswered.fits(size_of_request(params or b"")):
            why = "Invalid request: too many requests wait for an answer already"
            self.transport.write(failure(request_id, error_object(INVALID_REQUEST, why)))
            return
        members = object_of(params)
        session = value_of(members.get("sessionId"))
        if method == "session/new":
            one = waited(request_id, method, members, session="", node=self.place_new(members))
            self._ask(one)
        elif isinstance(session, str) and session:
            self._ask(waited(request_id, method, members, session=session, node=""))
        elif method == "_dragoman/hub/inbox":
            self.owner.start(gather_inbox(self, request_id))
        else:
            self.home.say(frame)
            if method == "_dragoman/hub/watch":
                self.watching = value_of(members.get("on"), True) is not False
                for node in self.cluster.others():
                    self.watch(node)

    def _ask(self, one: Waited) -> None:
        self.waited[one.id] = one
        self._unanswered.add(one.size)
        if one.session:
            if one.method == "session/prompt":
                self._followed(one.session).own.append(one.key)
            self._to_session(one.session, one.frame, one)
        else:
            self.branch(one.node).say(one.frame)

    def _said(self, method: str, params: Raw | None) -> None:
        members = object_of(params)
        frame = notification(method, None if params is None else bytes(params))
        session = value_of(members.get("sessionId"))
        if method == "$/cancel_request":
            one = self.waited.get(value_of(members.get("requestId")))
            if one is not None and one.session:
                one.cancel = frame
                self._to_session(one.session, frame)
        elif isinstance(session, str) and session in self.sessions:
            if method == "session/cancel":
                for one in self.waited.values():
                    if one.session == session and one.method == "session/prompt":
                        one.cancel = frame
            self._to_session(session, frame)

    def _answered(self, request_id: Id, frame: bytes) -> None:
        """An answer goes to the node that asked, if that is still there."""
        if not isinstance(request_id, int):
            return
        self.questions.pop(request_id, None)
        for branch in self._branches.values():
            if branch.number == request_id // SPAN:
                branch.say(frame)

    # Where messages go.

    def branch(self, node: str) -> Branch:
        found = self._branches.get(node)
        if found is None:
            self._numbers += 1
            found = LinkBranch(
                self,
                self.cluster.switch,
                node=node,
                number=self._numbers,
                grant=self._grant,
                agent=self.home.client.agent,
                params=self._params,
                age=asyncio.get_running_loop().time() - self.home.client.since,
            )
            self._branches[node] = found
        return found

    def _followed(self, session: str) -> Followed:
        found = self.sessions.get(session)
        if found is None:
            node = self.cluster.owners.where(session)
            found = self.sessions[session] = Followed(node or "")
            if node is None:
                self._moves.move(session, found)
        return found

    def _to_session(self, session: str, frame: bytes, one: Waited | None = None) -> None:
        followed = self._followed(session)
        if followed.held is None:
            if one is not None:
                one.node = followed.node
            self.branch(followed.node).say(frame)
        elif one is None:  # requests are remembered anyway
            if len(followed.held) >= HELD or sum(map(len, followed.held)) + len(frame) > HELD_BYTES:
                log.warning("session %s is moving to another node: a notification for it is dropped", session)
            else:
                followed.held.append(frame)

    def place_new(self, members: dict[str, Raw]) -> str:
        wanted = ours_in(members).get("agent")
        agent = wanted if isinstance(wanted, str) and wanted else self.home.client.agent
        return self.cluster.place(agent, str(value_of(members.get("cwd"), "")))

    # What branches say.

    def told(self, branch: Branch, block: bytes, session: str = "", position: Position | None = None) -> None:
        followed = self.sessions.get(session) if session else None
        if session and (followed is None or followed.node != branch.node):
            return  # a node that had the session before: the one that has it now tells all of this
        if block.startswith(ID) or b"\n" + ID in block:
            block = self._look_at(branch, block)
        if followed is not None:
            followed.position = position
        if block:
            self.transport.write(block)

    def _look_at(self, branch: Branch, block: bytes) -> bytes:
        """Notice answers and questions, and keep what is our own."""
        kept: list[bytes] = []
        for line in block.splitlines(keepends=True):
            if line.startswith(ID) and self._is_inside(branch, line):
                continue
            kept.append(line)
        return b"".join(kept)

    def _is_inside(self, branch: Branch, line: bytes) -> bool:
        message = decode(line)
        if isinstance(message, Request):
            session = session_of(message.params)
            if isinstance(message.id, int) and session:
                self.questions[message.id] = session
                if len(self.questions) > QUESTIONS:
                    del self.questions[next(iter(self.questions))]
        if not isinstance(message, Response | Failure):
            return False
        if self.inside.answered(message):
            return True
        one = self.waited.pop(message.id, None)
        if one is None:
            # Our own node alone has requests that we do not remember; this one has had its answer.
            return branch is not self.home
        self._unanswered.remove(one.size)
        self._done(branch, one, message)
        return False

    def _done(self, branch: Branch, one: Waited, answer: Response | Failure) -> None:
        session = one.session
        if one.method in ("session/new", "session/fork") and isinstance(answer, Response):
            session = session_of(answer.result)
            self.sessions.setdefault(session, Followed(branch.node)).node = branch.node
        followed = self.sessions.get(session)
        if followed is not None and one.key in followed.own:
            followed.own.remove(one.key)
        idle = followed is not None and followed.position is None and followed.held is None
        if idle and all(other.session != session for other in self.waited.values()):
            del self.sessions[session]

    def stands(self, branch: Branch, session: str, position: Position | None) -> None:
        followed = self.sessions.get(session)
        if followed is None and position is not None:
            followed = self.sessions[session] = Followed(branch.node)
        if followed is not None and followed.held is None and followed.node == branch.node:
            followed.position = position

    def moved(self, branch: Branch, session: str) -> None:
        followed = self.sessions.get(session)
        if followed is not None and followed.node == branch.node:
            if followed.held is None:
                self._moves.move(session, followed)
            else:
                followed.again = True

    def elsewhere(self, branch: Branch, request: Id, session: str, node: str) -> None:
        """A request came to the wrong node."""
        one = self.waited.get(request)
        if self.inside.elsewhere(request, session, node) or one is None:
            return
        one.hops += 1
        one.lost_since = one.lost_since or asyncio.get_running_loop().time()
        if asyncio.get_running_loop().time() - one.lost_since > LOST_SECONDS:
            self.fail(one, "Internal error: no node has the session for long enough")
            return
        followed = self.sessions.get(one.session)
        if not one.session:
            self.owner.start(self._moves.place_again(one))
        elif followed is not None and followed.held is None:
            self._moves.move(one.session, followed, pause=min(LONGEST_PAUSE, 0.01 * 2.0**one.hops))

    def has(self, branch: Branch) -> bool:
        """Whether it is still the way to its node."""
        return self._branches.get(branch.node) is branch

    def broken(self, branch: Branch, why: str) -> None:
        """Its node is gone, or words were lost on the way."""
        if self.closed:
            return
        if self.has(branch):
            del self._branches[branch.node]
        self.inside.broken(branch, why)
        if why == REPLACED:
            self.owner.start(self.transport.aclose())
            return
        for session, followed in list(self.sessions.items()):
            if followed.node == branch.node and followed.held is None:
                self._moves.move(session, followed)
        for one in list(self.waited.values()):
            if not one.session and one.node == branch.node:
                self.owner.start(self._moves.place_again(one))
        if self.watching:
            self.cluster.watch_soon(self, branch.node)

    def fail(self, one: Waited, why: str) -> None:
        if self.waited.pop(one.id, None) is not None:
            self._unanswered.remove(one.size)
        self.tell(failure(one.id, error_object(INTERNAL_ERROR, why)))

    def tell(self, block: bytes) -> None:
        try:
            self.transport.write(block)
        except LinkClosed:
            pass

    # All nodes.

    def nodes(self) -> list[str]:
        return [self.cluster.name, *self.cluster.others()]

    def watch(self, node: str) -> None:
        """Hear of what happens at a node, or no more."""
        if not self.closed and (self.watching or node in self._branches):
            self.owner.start(self._watch(node))

    async def _watch(self, node: str) -> None:
        if not await watch_node(self, node, on=self.watching) and self.watching:
            self.cluster.watch_soon(self, node)
