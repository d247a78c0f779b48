"""Follows a session to another node: its client continues there, with its position and its open requests."""

from __future__ import annotations

import asyncio
import logging
from typing import Protocol

from msgspec import Raw, Struct

from dragoman.errors import CallFailed, DragomanError
from dragoman.runtime.owner import TaskOwner
from dragoman.wire import notification
from dragoman.wire.envelope import Id
from dragoman_hub.cluster.branches import Branch
from dragoman_hub.cluster.pending_requests import FROM_A_PLACE, PendingRequest
from dragoman_hub.cluster.router_calls import RouterCalls
from dragoman_hub.engine.ports import Position
from dragoman_hub.session.frames import encode_json

log = logging.getLogger(__name__)

RESUME_SECONDS = 20.0
LONGEST_PAUSE = 1.0
FINAL = (-32002, -32003, -32602)
"""Errors that will not change on a retry: gone, forbidden, unknown."""


class RoutedSession(Struct):
    """A session that the client uses."""

    node: str
    position: Position | None = None
    """Its position; None if the client does not follow it."""
    own: list[str] = []
    """Keys of prompts that the client wrote."""
    held_frames: list[bytes] | None = None
    """The client's messages while the session moves; None while it does not."""
    again: bool = False
    """Whether the intended node has given it away."""
    is_resuming: bool = False
    """Whether its node must send it from `position` on, and has not begun yet."""


class MovingClient(Protocol):
    """The client of the moving sessions (`client_router.ClientRouter`)."""

    owner: TaskOwner
    is_closed: bool
    pending: dict[Id, PendingRequest]
    questions: dict[int, str]
    calls: RouterCalls

    def branch(self, node: str) -> Branch: ...
    def has(self, branch: Branch) -> bool: ...
    def place_new(self, members: dict[str, Raw]) -> str: ...
    async def find_node(self, session: str) -> str: ...
    def tell(self, block: bytes) -> None: ...
    def fail(self, pending: PendingRequest, why: str) -> None: ...


class SessionMoves:
    """The moving sessions of one client."""

    def __init__(self, client: MovingClient) -> None:
        self._client = client

    def move(self, session: str, route: RoutedSession, *, pause: float = 0.0) -> None:
        route.held_frames = []
        for number, of in list(self._client.questions.items()):
            if of == session:
                del self._client.questions[number]
                self._client.tell(notification("$/cancel_request", encode_json({"requestId": number})))
        self._client.owner.start(self._move_on(session, route, pause))

    async def _move_on(self, session: str, route: RoutedSession, pause: float) -> None:
        while not self._client.is_closed:
            await asyncio.sleep(pause)
            pause = min(LONGEST_PAUSE, max(0.02, pause * 2))
            try:
                node = await self._client.find_node(session)
                if route.position is not None and not self._comes_by_itself(session):
                    branch = await self._resume(session, route, node, route.position)
                    if not self._client.has(branch):
                        continue  # it broke behind its answer: nobody follows the session there
                if not route.again:
                    self._arrive(session, route, node)
                    return
                route.again = False
            except CallFailed as error:
                log.info("session %s cannot be followed now: %s", session, error)
                if error.code in FINAL:
                    route.position = None
            except (DragomanError, TimeoutError) as error:
                log.debug("session %s is between nodes: %s", session, error)

    def _comes_by_itself(self, session: str) -> bool:
        """Whether the client is about to follow the session anyway: its own request is sent again, from its
        position.
        """
        return any(pending.method in FROM_A_PLACE for pending in self._pending_in(session))

    def _pending_in(self, session: str) -> list[PendingRequest]:
        return [pending for pending in self._client.pending.values() if pending.session == session]

    async def _resume(self, session: str, route: RoutedSession, node: str, position: Position) -> Branch:
        prompts = [pending.key for pending in self._pending_in(session) if pending.key]
        ours = {"after": str(position), "prompts": prompts, "wrote": route.own}
        # No folder: it is the session's, and a token with roots may not open any other.
        params = {"sessionId": session, "_meta": {"dragoman": ours}}
        branch = self._client.branch(node)
        before, route.node = route.node, node
        route.is_resuming = True
        try:
            await self._client.calls.ask(branch, "session/resume", params, RESUME_SECONDS)
        except BaseException:
            route.node = before
            raise
        finally:
            route.is_resuming = False
        return branch

    def _arrive(self, session: str, route: RoutedSession, node: str) -> None:
        """Send requests without an answer again, then the messages that came meanwhile."""
        route.node = node
        frames, route.held_frames = route.held_frames or [], None
        branch = self._client.branch(node)
        for pending in self._pending_in(session):
            if pending.node and not pending.may_be_repeated:
                self._client.fail(
                    pending,
                    "Internal error: its node is lost, so the request may or may not have been carried out",
                )
                continue
            was_sent, pending.node = bool(pending.node), node
            branch.say(pending.frame_from(route.position))
            if was_sent and pending.cancel:
                branch.say(pending.cancel)
        for frame in frames:
            branch.say(frame)

    async def place_again(self, pending: PendingRequest) -> None:
        if pending.is_being_placed:
            return
        pending.is_being_placed = True
        await asyncio.sleep(LONGEST_PAUSE / 4)
        pending.is_being_placed = False
        if pending.id in self._client.pending and not self._client.is_closed:
            pending.node = self._client.place_new(
                {name: Raw(encode_json(value)) for name, value in pending.params.items()}
            )
            self._client.branch(pending.node).say(pending.frame)
