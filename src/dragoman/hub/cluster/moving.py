"""A session gets another node: its client goes there, from where it stands, with what it still waits for."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from msgspec import Raw, Struct

from dragoman.errors import CallFailed, DragomanError
from dragoman.hub.cluster.remembering import FROM_A_PLACE
from dragoman.hub.session.frames import encoded
from dragoman.wire import notification

if TYPE_CHECKING:
    from dragoman.hub.clients.rendering import Position
    from dragoman.hub.cluster.branches import Branch
    from dragoman.hub.cluster.front import Front
    from dragoman.hub.cluster.remembering import Waited

log = logging.getLogger(__name__)

RESUME_SECONDS = 20.0
LONGEST_PAUSE = 1.0
FINAL = (-32002, -32003, -32602)
"""Answers that will be the same however often one asks: gone, forbidden, never heard of."""


class Followed(Struct):
    """A session that the client has to do with."""

    node: str
    position: Position | None = None
    """How far it was told; None if it does not follow it."""
    own: list[str] = []
    """Keys of prompts that it wrote."""
    held: list[bytes] | None = None
    """What it says while the session moves; None while it does not."""
    again: bool = False
    """The node that it was to come to has given it away."""


class Moves:
    """Of one front."""

    def __init__(self, front: Front) -> None:
        self._front = front

    def move(self, session: str, followed: Followed, *, pause: float = 0.0) -> None:
        followed.held = []
        for number, of in list(self._front.questions.items()):
            if of == session:
                del self._front.questions[number]
                self._front.tell(notification("$/cancel_request", encoded({"requestId": number})))
        self._front.owner.start(self._moving(session, followed, pause))

    async def _moving(self, session: str, followed: Followed, pause: float) -> None:
        while not self._front.closed:
            await asyncio.sleep(pause)
            pause = min(LONGEST_PAUSE, max(0.02, pause * 2))
            try:
                node = await self._front.cluster.find(session)
                if followed.position is not None and not self._comes_by_itself(session):
                    branch = await self._resume(session, followed, node, followed.position)
                    if not self._front.has(branch):
                        continue  # it broke behind its answer: nobody follows the session there
                if not followed.again:
                    self._arrive(session, followed, node)
                    return
                followed.again = False
            except CallFailed as error:
                log.info("session %s cannot be followed now: %s", session, error)
                if error.code in FINAL:
                    followed.position = None
            except (DragomanError, TimeoutError) as error:
                log.debug("session %s is between nodes: %s", session, error)

    def _comes_by_itself(self, session: str) -> bool:
        """Whether the client is about to follow it: its own request is said again, from where it stands."""
        return any(
            one.session == session and one.method in FROM_A_PLACE for one in self._front.waited.values()
        )

    async def _resume(self, session: str, followed: Followed, node: str, position: Position) -> Branch:
        prompts = [one.key for one in self._front.waited.values() if one.session == session and one.key]
        ours = {"after": str(position), "prompts": prompts, "wrote": followed.own}
        params = {"sessionId": session, "cwd": "/", "_meta": {"dragoman": ours}}
        branch = self._front.branch(node)
        before, followed.node = followed.node, node
        try:
            await self._front.inside.ask(branch, "session/resume", params, RESUME_SECONDS)
        except BaseException:
            followed.node = before
            raise
        return branch

    def _arrive(self, session: str, followed: Followed, node: str) -> None:
        """Say again what has no answer, then what was said meanwhile."""
        followed.node = node
        held, followed.held = followed.held or [], None
        branch = self._front.branch(node)
        for one in [one for one in self._front.waited.values() if one.session == session]:
            if one.node and not one.may_be_repeated:
                self._front.fail(one, "Internal error: its node is lost; whether it was done is not known")
                continue
            branch.say(one.frame_from(followed.position))
            if one.node and one.cancel:
                branch.say(one.cancel)
            one.node = node
        for frame in held:
            branch.say(frame)

    async def place_again(self, one: Waited) -> None:
        if one.is_being_placed:
            return
        one.is_being_placed = True
        await asyncio.sleep(LONGEST_PAUSE / 4)
        one.is_being_placed = False
        if one.id in self._front.waited and not self._front.closed:
            one.node = self._front.place_new(
                {name: Raw(encoded(value)) for name, value in one.params.items()}
            )
            self._front.branch(one.node).say(one.frame)
