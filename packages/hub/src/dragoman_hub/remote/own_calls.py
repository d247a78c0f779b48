"""Our own requests between a client and an agent that talk to each other: the answers are for us only.

Whoever stands on the way of a relay asks one side something, and takes the answer out of what that side says
to the other.
"""

from __future__ import annotations

import asyncio
import itertools
import os
from collections.abc import Callable, Hashable
from typing import Any

import msgspec
from msgspec import UNSET

from dragoman.errors import LinkClosed
from dragoman.wire import Failure, Response, decode, notification, request
from dragoman.wire.envelope import id_key
from dragoman.wire.glance import Glance


class OwnCalls:
    """Our own requests in one conversation. Their ids begin with `name`; `send` writes a frame to the
    other side.
    """

    def __init__(self, name: str, send: Callable[[bytes], None]) -> None:
        self._name = name
        self._send = send
        self._numbers = itertools.count(1)
        self._waiting: dict[Hashable, asyncio.Future[Response | Failure]] = {}

    async def call(self, method: str, params: bytes) -> Response | Failure:
        """The answer. Whoever stops waiting for it withdraws the request."""
        call_id = f"{self._name}-{os.getpid()}-{next(self._numbers)}"
        future: asyncio.Future[Response | Failure] = asyncio.get_running_loop().create_future()
        self._waiting[id_key(call_id)] = future
        self._send(request(call_id, method, params))
        try:
            return await future
        finally:
            if self._waiting.pop(id_key(call_id), None) is not None:  # it has no answer
                cancel = msgspec.json.encode({"requestId": call_id})
                self._send(notification("$/cancel_request", cancel))

    def take_answer(self, line: bytes, glance: Glance) -> bool:
        """Whether this frame was an answer to one of these calls, and is for no other reader."""
        if glance.method is not UNSET or glance.id is UNSET:
            return False
        future = self._waiting.pop(id_key(glance.id), None)
        if future is None:
            return False
        answer = decode(line)
        if not future.done():
            if isinstance(answer, Response | Failure):
                future.set_result(answer)
            else:
                future.set_exception(LinkClosed("the answer cannot be read"))
        return True

    def give_up(self) -> None:
        """Drop the calls of a side that has ended."""
        for future in self._waiting.values():
            if not future.done():
                future.cancel()


def params_in(line: bytes) -> dict[str, Any]:
    """The params of a frame; empty if they are no object."""
    raw = getattr(decode(line), "params", None)
    params = None if raw is None else msgspec.json.decode(raw)
    return params if isinstance(params, dict) else {}
