"""A running client: handles the messages of one agent, in one connection.

Updates are the hot path: each is read once, put into its session's list, and handed over once per block.
What makes no sense is counted and left out; it never ends a turn.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial
from itertools import groupby
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Raw

from dragoman.core import IncomingRequest
from dragoman.errors import ErrorAnswer
from dragoman.runtime.router import Answer
from dragoman.runtime.session_queues import EACH, HandlerFunction
from dragoman.schema import v1
from dragoman.schema.codec import read, write
from dragoman.schema.errors import SchemaError
from dragoman.schema.waits import is_for_person
from dragoman.sdk.capabilities import CLIENT_NOTIFICATIONS, CLIENT_REQUESTS
from dragoman.sdk.client.client import Client
from dragoman.sdk.client.runs import ChunkReader, NoteFrame, UpdateFrame, as_notification, run_reader
from dragoman.sdk.client.subagents import SubagentTree
from dragoman.sdk.handlers import Handler
from dragoman.sdk.inbound import params_reader, read_params, read_plain
from dragoman.sdk.outbound import check_one_of, write_answer
from dragoman.wire.codes import invalid_params, method_not_found, session_not_found
from dragoman.wire.decode import count_lines

if TYPE_CHECKING:
    from dragoman.runtime.link import Link
    from dragoman.sdk.client.agent_handle import AgentHandle, Session

log = logging.getLogger(__name__)

ORPHAN_SESSIONS = 64
ORPHAN_UPDATES = 1024
ORPHAN_BYTES = 8 * 1024 * 1024
BACKLOG = "updates wait for their reader"

_session_id = attrgetter("session_id")

_WITH_ID = b'{"jsonrpc":"2.0","id":'

_CANCELLED_OUTCOME = b'{"outcome":{"outcome":"cancelled"}}'


def _nowhere(_: v1.SessionUpdate) -> None:
    """Placeholder until the first session is known; never called."""


class _Route(msgspec.Struct, frozen=True):
    """Where a request of the protocol goes, looked up once."""

    method: str
    handler: Handler
    read: Callable[[Raw | None], Any]
    result: Any
    direct: Callable[[Any], Any] | None
    """What to call and await, where there is nothing to decide about it."""

    @classmethod
    def of(cls, method: str, handler: Handler) -> _Route:
        entry = CLIENT_REQUESTS[method]
        plain = handler.is_async and not handler.wants_peer
        read = params_reader(entry.params)
        return cls(method, handler, read, entry.result, handler.function if plain else None)


class ClientSide:
    """The router of a client's link."""

    __slots__ = (
        "_behind",
        "_call_on_update",
        "_chunks",
        "_count",
        "_link",
        "_on_update",
        "_orphan_bytes",
        "_orphans",
        "_permissions",
        "_read_run",
        "_routes",
        "_run_on_update",
        "_updated_sessions",
        "_whole_block",
        "agent",
        "client",
        "deviations",
        "on_deviation",
        "opening",
        "received_bytes",
        "sessions",
        "subagents",
    )

    def __init__(self, client: Client) -> None:
        self.client = client
        self.sessions: dict[str, Session] = {}
        self.subagents = SubagentTree()
        self.opening = 0  # calls under way that will bring a session whose id we do not know yet
        self.deviations = 0  # notifications that could not be read
        self.on_deviation: Callable[[str], None] | None = None  # called with what is wrong with each
        self.received_bytes = 0  # bytes, of any kind
        self._updated_sessions: list[Session] = []  # sessions that got updates from the current block
        self._count = 0
        self._whole_block = b""  # the current block, if it holds updates of one session alone
        self._behind: dict[Session, None] = {}  # whose readers are further behind than they may be
        self._orphans: dict[str, list[tuple[v1.SessionNotification, int]]] = {}
        self._orphan_bytes = 0
        self._permissions: dict[IncomingRequest, str] = {}
        on_update = self._on_update = client.handlers.get("session/update")
        # What to call for a handler that waits for nothing and wants nothing but the message.
        self._call_on_update = (
            None if on_update is None or on_update.is_async or on_update.wants_peer else on_update.function
        )
        self._run_on_update = self._async_call(self._on_update)
        self._read_run = run_reader(UpdateFrame if self._on_update is None else NoteFrame)
        self._chunks = ChunkReader()
        self._routes: dict[str, _Route] = {}

    def _async_call(self, handler: Handler | None) -> HandlerFunction | None:
        """What to call for a handler that may wait."""
        if handler is None or not handler.is_async:
            return None
        return (lambda note: handler.now(note, self.agent)) if handler.wants_peer else handler.function

    def attach(self, link: Link, agent: AgentHandle) -> None:
        self._link = link
        self.agent = agent
        link.asks_person = is_for_person

    # The router's face.

    def on_notification(self, method: str, params: Raw | None) -> None:
        if method == "session/update":
            try:
                notification = read(params or b"{}", v1.SessionNotification)
            except SchemaError as error:
                self._deviation(method, str(error))
                return
            self._take_update(notification, _size(params))
            return
        handler = self.client.handlers.get(method)
        if handler is not None and (method.startswith("_") or method in CLIENT_NOTIFICATIONS):
            self._handle_notification(method, handler, params)

    def on_block(self, block: bytes) -> int:
        """Read a run of updates by one call into C, envelopes included."""
        if block.startswith(_WITH_ID):  # a request or an answer, of which there is nothing to try
            return 0
        session = self.sessions.get(self._chunks.session_id)
        if session is not None and (chunks := self._chunks.read(block)):
            self._inlet(session).extend(chunks)
            self._count += len(chunks)
            return len(chunks)
        # Frames that do not keep to their lines would be refused one by one. Here it is enough that there are
        # as many: nothing is run for an update, and looking closer would cost a tenth of all the reading.
        lines = count_lines(block)
        try:
            frames = self._read_run(block)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            return 0  # something else is among them, or something that only the lenient reader understands
        if not lines or len(frames) != lines:
            return 0
        # What follows an announcement may be for the session that it announces. Those of the early draft are
        # not read here at all.
        if v1.SubagentUpdate in {type(frame.params.update) for frame in frames}:
            return 0
        if self._on_update is not None:
            self._take_and_call(frames, len(block) // lines)
            return lines
        first = frames[0].params.session_id
        session = self.sessions.get(first)
        updates = [frame.params.update for frame in frames if frame.params.session_id == first]
        if session is not None and len(updates) == lines:  # nearly always
            self._inlet(session).extend(updates)
            self._whole_block = block
            self._count += lines
            self._chunks.learn(block, frames)
        else:
            self._take_updates(frames, len(block) // lines)
        return lines

    def _take_updates(self, frames: list[UpdateFrame], each: int) -> None:
        """Updates of several sessions, or of one that we do not know."""
        current = ""
        append: Callable[[v1.SessionUpdate], None] = _nowhere
        orphans = 0
        for frame in frames:
            params = frame.params
            if params.session_id != current:
                session = self.sessions.get(params.session_id)
                if session is None:
                    self._take_foreign(as_notification(params), each)
                    orphans += 1
                    continue
                current = params.session_id
                append = self._inlet(session).append
            append(params.update)
        self._count += len(frames) - orphans

    def _take_and_call(self, frames: list[NoteFrame], each: int) -> None:
        """For a handler of all updates. The commonest kind of it is called without a detour: a session that
        is loaded may bring hundreds of thousands.
        """
        if self._run_on_update is not None:
            self._queue_each(frames, each, self._run_on_update)
            return
        call = self._call_on_update
        if call is None:
            for frame in frames:
                self._take_update(frame.params, each)
            return
        current = ""
        append: Callable[[v1.SessionUpdate], None] = _nowhere
        orphans = 0
        for frame in frames:
            note = frame.params
            if note.session_id != current:
                session = self.sessions.get(note.session_id)
                if session is None:
                    self._take_foreign(note, each)
                    orphans += 1
                    continue
                current = note.session_id
                append = self._inlet(session).append
            append(note.update)
            try:
                call(note)
            except Exception:  # a failing handler of one update must not lose the next
                log.exception("a notification handler failed")
        self._count += len(frames) - orphans

    def _queue_each(self, frames: list[NoteFrame], each: int, run: HandlerFunction) -> None:
        """For an async handler: the updates of a session that follow each other wait together."""
        for session_id, group in groupby([frame.params for frame in frames], _session_id):
            notes = list(group)
            session = self.sessions.get(session_id)
            if session is None:
                for note in notes:
                    self._take_foreign(note, each)
                continue
            self._inlet(session).extend([note.update for note in notes])
            self._count += len(notes)
            self._link.lanes.submit_run(session_id, run, notes, each)

    def _take_update(self, notification: v1.SessionNotification, size: int) -> None:
        session = self.sessions.get(notification.session_id)
        if session is None:
            self._take_foreign(notification, size)
            return
        self._inlet(session).append(notification.update)
        self._count += 1
        if self._on_update is not None:
            self._hand_to(self._on_update, notification, notification.session_id, size)
        self._hear_subagent(notification)

    # Subagents: their sessions are the agent's own, and what is heard of them goes to the session above all.

    def _root(self, session_id: object) -> Session | None:
        """The session of ours in which this session works; None if its agent never announced it."""
        if not isinstance(session_id, str):
            return None
        session = self.sessions.get(session_id)
        if session is not None:
            return session
        return self.sessions.get(self.subagents.root_of(session_id))

    def _take_foreign(self, notification: v1.SessionNotification, size: int) -> None:
        """An update of a subagent, or of a session that nobody knows."""
        root = self._root(notification.session_id)
        if root is None:
            self._keep_orphan(notification, size)
            return
        if root.turn is not None and root.turn.listens:  # outside a turn, only a handler hears of it
            root.turn.has_subagents = True
            self._inlet(root).append(notification)
            self._count += 1
        if self._on_update is not None:
            self._hand_to(self._on_update, notification, notification.session_id, size)
        self._hear_subagent(notification)

    def _hear_subagent(self, notification: v1.SessionNotification) -> None:
        subagent = self.subagents.hear(notification)
        if subagent is not None:
            for early, size in self._take_orphans(subagent.id):
                self._take_foreign(early, size)

    def _inlet(self, session: Session) -> list[v1.SessionUpdate | v1.SessionNotification]:
        if not (session.turn_updates or session.late_updates):
            self._updated_sessions.append(session)
        return session.inlet()

    def on_block_end(self, size: int) -> None:
        self.received_bytes += size
        if self._updated_sessions:
            each = size / self._count
            for session in self._updated_sessions:
                session.hand_over(each, self._whole_block)
                if session.backlog > self._link.limits.backlog_bytes:
                    self._behind[session] = None
            self._updated_sessions.clear()
            self._whole_block = b""
            self._count = 0
        self.weigh_backlog()

    def on_request(self, incoming: IncomingRequest) -> Answer:
        method = incoming.method
        if method == "session/request_permission":
            return self._permission(incoming)
        route = self._routes.get(method)
        if route is None:
            handler = self.client.handlers.get(method)
            if handler is not None and method.startswith("_"):
                return self._extension(handler, read_plain(incoming.params))
            if handler is None or method not in CLIENT_REQUESTS:  # a notification with an id is not a request
                raise method_not_found(method)
            route = self._routes[method] = _Route.of(method, handler)
        request = route.read(incoming.params)
        if getattr(request, "session_id", None) not in self.sessions:
            self._check_known(request)
        if method == "elicitation/create":
            form, url = (
                isinstance(request, v1.ElicitationFormMode),
                isinstance(request, v1.ElicitationUrlMode),
            )
            if ("form" if form else "url" if url else "") not in self.client.elicitation_modes:
                raise invalid_params("this mode of elicitation was not advertised")
        return self._run_handler(route, request)

    def on_cancel_request(self, incoming: IncomingRequest) -> bool:
        if incoming in self._permissions:
            self._cancel_permission(incoming)
            return True
        return False

    # Requests.

    def _permission(self, incoming: IncomingRequest) -> Answer:
        request = read_params(incoming.params, v1.RequestPermissionRequest)
        self._check_known(request)
        handler = self.client.handlers.get("session/request_permission")
        session = self._root(request.session_id)
        if handler is None or not request.options or (session is not None and session.cancelling):
            return _CANCELLED_OUTCOME
        self._permissions[incoming] = request.session_id
        return self._decide(incoming, handler, request)

    async def _decide(
        self, incoming: IncomingRequest, handler: Handler, request: v1.RequestPermissionRequest
    ) -> bytes:
        try:
            response = _as_response(await handler.work(request, self.agent), request.options)
        finally:
            self._permissions.pop(incoming, None)
        answer = write_answer(response, v1.RequestPermissionResponse, "session/request_permission")
        outcome = response.outcome
        if isinstance(outcome, v1.SelectedPermissionOutcome):
            check_one_of(outcome.option_id, [option.option_id for option in request.options], "option_id")
        return answer

    async def _run_handler(self, route: _Route, request: object) -> bytes:
        direct = route.direct
        work = route.handler.work(request, self.agent) if direct is None else direct(request)
        return write_answer(await work, route.result, route.method)

    async def _extension(self, handler: Handler, params: object) -> bytes:
        return write(await handler.work(params, self.agent))

    def cancel_permissions(self, session_id: str) -> None:
        """Answer every open permission request of this session and its subagents with `cancelled`."""
        asking = self._permissions.items()
        for incoming in [
            incoming
            for incoming, session in asking
            if session_id in (session, self.subagents.root_of(session))
        ]:
            self._cancel_permission(incoming)

    def _cancel_permission(self, incoming: IncomingRequest) -> None:
        self._permissions.pop(incoming, None)
        self._link.settle(incoming, _CANCELLED_OUTCOME)
        self._link.stop(incoming)

    def _check_known(self, request: object) -> None:
        session_id = getattr(request, "session_id", None)
        if self._root(session_id) is not None:
            return
        # While a session is being made the agent may already work in it, under an id that we are yet to
        # learn.
        if isinstance(session_id, str) and not self.opening:
            raise session_not_found(session_id)

    # Notifications.

    def _handle_notification(self, method: str, handler: Handler, params: Raw | None) -> None:
        try:
            message = (
                read_plain(params)
                if method.startswith("_")
                else read_params(params, CLIENT_NOTIFICATIONS[method].params)
            )
        except ErrorAnswer as error:  # a notification cannot be answered; that it made no sense is noted
            self._deviation(method, str(error))
            return
        self._hand_to(handler, message, getattr(message, "session_id", None), EACH + _size(params))

    def _hand_to(self, handler: Handler, message: object, lane: str | None, size: int) -> None:
        if handler.is_async:
            self._link.lanes.submit(lane, partial(handler.now, message, self.agent), size)
        else:
            try:
                handler.now(message, self.agent)
            except Exception:  # a failing handler of one message must not lose the next
                log.exception("a notification handler failed")

    def _deviation(self, method: str, why: str) -> None:
        self.deviations += 1
        if self.deviations <= 10:
            log.warning("%s was left out: %s", method, why)
        if self.on_deviation is not None:
            self.on_deviation(f"{method}: {why}")

    # Sessions.

    def open(self, session: Session) -> None:
        """Route updates with this id to this session, including those that arrived too early."""
        self.sessions[session.id] = session
        for notification, size in self._take_orphans(session.id):
            session.keep((notification.update,), size)
            if self._on_update is not None:
                self._hand_to(self._on_update, notification, session.id, size)

    def forget(self, session: Session) -> None:
        """Forget a closed session. A turn without an answer is still read to its end."""
        if session.is_closed and session.turn is None and self.sessions.get(session.id) is session:
            del self.sessions[session.id]

    def _take_orphans(self, session_id: str) -> list[tuple[v1.SessionNotification, int]]:
        orphans = self._orphans.pop(session_id, [])
        self._orphan_bytes -= sum(size for _, size in orphans)
        return orphans

    def _keep_orphan(self, notification: v1.SessionNotification, size: int) -> None:
        """Keep an update of a session that is not open yet. Updates beyond the limits are dropped."""
        orphans = self._orphans.get(notification.session_id, [])
        crowd = not orphans and len(self._orphans) >= ORPHAN_SESSIONS
        if crowd or len(orphans) >= ORPHAN_UPDATES or self._orphan_bytes + size > ORPHAN_BYTES:
            self._deviation("session/update", "it is for an unknown session")
            return
        self._orphans[notification.session_id] = orphans
        orphans.append((notification, size))
        self._orphan_bytes += size

    def weigh_backlog(self) -> None:
        """Pause reading while a reader is too far behind, but not while a caller may wait for an answer, or
        another session for its updates.
        """
        link = self._link
        if not self._behind and link.lanes.size <= link.limits.backlog_bytes:
            link.listen(BACKLOG)
            return
        waits = any(call.method != "session/prompt" for call in link.connection.calls.values()) or any(
            session.turn is not None and session.turn.is_hungry for session in self.sessions.values()
        )
        max_bytes = link.limits.backlog_hard_bytes if waits else link.limits.backlog_bytes
        behind = max((session.backlog for session in self._behind), default=0)
        limit = link.limits.backlog_bytes
        self._behind = {session: None for session in self._behind if session.backlog > limit}
        (link.hold if max(behind, link.lanes.size) > max_bytes else link.listen)(BACKLOG)


def _as_response(answer: Any, options: list[v1.PermissionOption]) -> Any:
    """What a handler may return instead of a response. A bare yes or no is for once: it never chooses an
    option that lasts, and chooses nothing if there is no other.
    """
    if isinstance(answer, bool):
        kind = "allow_once" if answer else "reject_once"
        chosen = next((option for option in options if option.kind == kind), None)
    elif isinstance(answer, v1.PermissionOption):
        chosen = answer
    else:
        return answer
    if chosen is None:
        return v1.RequestPermissionResponse(outcome=v1.CancelledPermissionOutcome())
    return v1.RequestPermissionResponse(outcome=v1.SelectedPermissionOutcome(option_id=chosen.option_id))


def _size(params: Raw | None) -> int:
    return 0 if params is None else memoryview(params).nbytes
