"""Requests that a client's router sends to nodes itself.

Its requests travel among the client's own and are told from them by their ids; the client never sees their
answers.
"""

from __future__ import annotations

import asyncio
from typing import Any

from msgspec import Raw

from dragoman.errors import Elsewhere, LinkClosed
from dragoman.wire import Failure, Response, request
from dragoman.wire.envelope import Id
from dragoman_hub.agents.process import failed_with
from dragoman_hub.cluster.branches import Branch
from dragoman_hub.session.frames import encode_json

NAMES = "dragoman/front/"


class RouterCalls:
    """The unanswered requests of one router."""

    def __init__(self) -> None:
        self._count = 0
        self._open: dict[Id, tuple[Branch, asyncio.Future[Raw]]] = {}

    async def ask(self, branch: Branch, method: str, params: dict[str, Any], within: float) -> Raw:
        """Send a request. Raises `CallFailed`, `Elsewhere`, `LinkClosed`, `TimeoutError`."""
        self._count += 1
        name = f"{NAMES}{self._count}"
        future: asyncio.Future[Raw] = asyncio.get_running_loop().create_future()
        self._open[name] = (branch, future)
        try:
            branch.say(request(name, method, encode_json(params)))
            async with asyncio.timeout(within):
                return await future
        finally:
            del self._open[name]

    def on_answer(self, answer: Response | Failure) -> bool:
        """Whether it is the answer to a call of this router."""
        call = self._open.get(answer.id)
        if call is None:
            return isinstance(answer.id, str) and answer.id.startswith(NAMES)  # nobody waits for it any more
        if not call[1].done():
            if isinstance(answer, Response):
                call[1].set_result(Raw(bytes(answer.result)))
            else:
                call[1].set_exception(failed_with(answer.error))
        return True

    def on_elsewhere(self, name: Id, session: str, node: str) -> bool:
        call = self._open.get(name)
        if call is not None and not call[1].done():
            call[1].set_exception(Elsewhere(session, node))
        return call is not None

    def on_broken(self, branch: Branch, why: str) -> None:
        for of, future in list(self._open.values()):
            if of is branch and not future.done():
                future.set_exception(LinkClosed(why))

    def close(self) -> None:
        for _, future in self._open.values():
            future.cancel()
