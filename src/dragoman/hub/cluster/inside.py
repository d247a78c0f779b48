"""What a front asks nodes on its own behalf, and what concerns all of them at once.

Its requests travel among the client's own and are told from them by their ids; the client never sees their
answers.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from msgspec import Raw

from dragoman.errors import CallFailed, DragomanError, Elsewhere, LinkClosed
from dragoman.hub.agents.process import failed_with
from dragoman.hub.session.frames import encoded, value_of
from dragoman.wire import Failure, Response, error_object, failure, request, response

if TYPE_CHECKING:
    from dragoman.hub.cluster.branches import Branch
    from dragoman.hub.cluster.front import Front
    from dragoman.wire.envelope import Id

NAMES = "dragoman/front/"
GATHER_SECONDS = 5.0


class Inside:
    """Requests of the front's own that have no answer."""

    def __init__(self) -> None:
        self._asked = 0
        self._open: dict[Id, tuple[Branch, asyncio.Future[Raw]]] = {}

    async def ask(self, branch: Branch, method: str, params: dict[str, Any], within: float) -> Raw:
        """Raises `CallFailed`, `Elsewhere`, `LinkClosed`, `TimeoutError`."""
        self._asked += 1
        name = f"{NAMES}{self._asked}"
        future: asyncio.Future[Raw] = asyncio.get_running_loop().create_future()
        self._open[name] = (branch, future)
        try:
            branch.say(request(name, method, encoded(params)))
            async with asyncio.timeout(within):
                return await future
        finally:
            del self._open[name]

    def answered(self, answer: Response | Failure) -> bool:
        """Whether it is the answer to one of ours."""
        found = self._open.get(answer.id)
        if found is None:
            return isinstance(answer.id, str) and answer.id.startswith(NAMES)  # nobody waits for it any more
        if not found[1].done():
            if isinstance(answer, Response):
                found[1].set_result(Raw(bytes(answer.result)))
            else:
                found[1].set_exception(failed_with(answer.error))
        return True

    def elsewhere(self, name: Id, session: str, node: str) -> bool:
        found = self._open.get(name)
        if found is not None and not found[1].done():
            found[1].set_exception(Elsewhere(session, node))
        return found is not None

    def broken(self, branch: Branch, why: str) -> None:
        for of, future in list(self._open.values()):
            if of is branch and not future.done():
                future.set_exception(LinkClosed(why))

    def close(self) -> None:
        for _, future in self._open.values():
            future.cancel()


async def gather_inbox(front: Front, request_id: Id) -> None:
    """Answer with what is asked at any node."""
    answers = await asyncio.gather(
        *(
            front.inside.ask(front.branch(node), "_dragoman/hub/inbox", {}, GATHER_SECONDS)
            for node in front.nodes()
        ),
        return_exceptions=True,
    )
    found: list[dict[str, Any]] = []
    for answer in answers:
        if isinstance(answer, CallFailed):
            front.tell(failure(request_id, error_object(answer.code, answer.message, answer.data)))
            return
        if isinstance(answer, Raw):
            found += value_of(answer, {}).get("requests", [])
    found.sort(key=lambda one: one.get("askedAt", 0))
    front.tell(response(request_id, encoded({"requests": found})))


async def watch_node(front: Front, node: str, *, on: bool) -> bool:
    """Hear of what happens at a node, or no more; says whether it agreed."""
    try:
        await front.inside.ask(front.branch(node), "_dragoman/hub/watch", {"on": on}, GATHER_SECONDS)
    except (DragomanError, TimeoutError):
        return False
    return True
