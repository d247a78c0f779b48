"""One MCP client: JSON-RPC both ways, without tools.

Each request of the client runs in a task of its own. `notifications/cancelled` cancels the task, and what was
cancelled is not answered, as the specification has it. Requests to the client wait for their answer as long
as their caller does; a caller that is cancelled takes its request back.

Specification: https://modelcontextprotocol.io/specification/2025-11-25/basic
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeAlias

import msgspec
from msgspec import Raw

from dragoman.errors import ErrorAnswer, LinkClosed
from dragoman.wire import (
    Envelope,
    Failure,
    Id,
    MalformedFrame,
    Notification,
    Request,
    Response,
    error_object,
    failure,
    notification,
    request,
    response,
)
from dragoman.wire.codes import INTERNAL_ERROR, INVALID_REQUEST, invalid_params, method_not_found
from dragoman.wire.decode import UNREADABLE_TEXT
from dragoman.wire.envelope import id_key

log = logging.getLogger(__name__)

MOST_REQUESTS = 64
"""The most requests of a client that run at once; a turn of an agent is one."""

FrameWriter: TypeAlias = Callable[[bytes, Id], Awaitable[None]]
"""Sends a frame; the id is that of the client's request for which the frame is, if there is one. Waits while
the client is behind.
"""

Method: TypeAlias = Callable[[dict[str, object], Id], Awaitable[object]]
"""Handles the params and the id of a request; its return value is encoded as the result."""

NoticeHandler: TypeAlias = Callable[[dict[str, object]], None]


class McpConnection:
    """One connection. Constructing starts nothing. `aclose` ends all running requests."""

    def __init__(
        self,
        write: FrameWriter,
        *,
        methods: Mapping[str, Method],
        notices: Mapping[str, NoticeHandler] | None = None,
    ) -> None:
        self._write = write
        self._methods = methods
        self._notices = notices or {}
        self._running: dict[object, asyncio.Task[None]] = {}
        self._calls: dict[int, asyncio.Future[Raw]] = {}
        self._call_count = 0
        self._is_closed = False

    @property
    def running(self) -> set[asyncio.Task[None]]:
        """The tasks of unanswered requests."""
        return set(self._running.values())

    # What the client sends.

    def receive(self, envelope: Envelope) -> asyncio.Task[None] | None:
        """Receive one message of the client without waiting. Returns the task of its
        answer, if there is one.
        """
        match envelope:
            case Request(request_id, method, params):
                return self._start(request_id, self._answer(request_id, method, params))
            case Notification("notifications/cancelled", params):
                self._on_cancelled(params)
            case Notification(method, params):
                if method in self._notices:
                    self._notices[method](_read_params(params) or {})
            case Response(int(number), result):
                self._settle(number, result)
            case Failure(int(number), error):
                self._settle(number, ErrorAnswer(error.code, error.message))
            case MalformedFrame(_, int(code), why, request_id):
                refusal = ErrorAnswer(code, f"{error_object(code).message}: {why}")
                return self._start(None, self._refuse(request_id, refusal))
            case _:
                log.warning("MCP client sent an answer without a request")
        return None

    def _start(self, request_id: Id, work: Any) -> asyncio.Task[None]:
        key = id_key(request_id) if request_id is not None else object()
        if key in self._running or len(self._running) >= MOST_REQUESTS or self._is_closed:
            work.close()
            why = "this id is in use" if key in self._running else "too many requests at once"
            work = self._refuse(request_id, ErrorAnswer(INVALID_REQUEST, f"Invalid request: {why}"))
            key = object()
        task = self._running[key] = asyncio.get_running_loop().create_task(work, name="MCP request")
        task.add_done_callback(lambda _: self._running.pop(key, None))
        return task

    async def _answer(self, request_id: Id, method: str, params: Raw | None) -> None:
        handler = self._methods.get(method)
        try:
            if handler is None:
                raise method_not_found(method)
            values = _read_params(params)
            if values is None:
                raise invalid_params("they are not an object")
            result = msgspec.json.encode(await handler(values, request_id))
        except ErrorAnswer as error:
            await self._refuse(request_id, error)
        except LinkClosed:
            pass  # the client has left, and waits for nothing
        except Exception:  # one request that fails must not end the others
            log.exception("MCP request %s failed", method[:80])
            await self._refuse(request_id, ErrorAnswer(INTERNAL_ERROR, "Internal error"))
        else:
            await self._send(response(request_id, result), request_id)

    async def _refuse(self, request_id: Id, error: ErrorAnswer) -> None:
        answer = failure(request_id, error_object(error.code, error.message, error.data))
        await self._send(answer, request_id)

    def _on_cancelled(self, params: Raw | None) -> None:
        request_id = (_read_params(params) or {}).get("requestId")
        task = self._running.get(id_key(request_id))
        if task is not None:
            task.cancel()

    # What the client is sent.

    async def notify(self, method: str, params: object, *, related_to: Id = None) -> None:
        """Send a notification that belongs to a request of the client."""
        await self._send(notification(method, msgspec.json.encode(params)), related_to)

    async def call(self, method: str, params: object, *, related_to: Id = None) -> Any:
        """Send the client a request; return the decoded result. Raises `ErrorAnswer` with the client's error,
        and `LinkClosed` when it leaves.
        """
        if self._is_closed:
            raise LinkClosed("the MCP client has left")
        self._call_count += 1
        number = self._call_count
        future = self._calls[number] = asyncio.get_running_loop().create_future()
        try:
            await self._write(request(number, method, msgspec.json.encode(params)), related_to)
            return msgspec.json.decode(await future)
        except asyncio.CancelledError:
            withdrawal = {"requestId": number, "reason": "this question is closed"}
            await self.notify("notifications/cancelled", withdrawal, related_to=related_to)
            raise
        except UNREADABLE_TEXT:
            raise ErrorAnswer(INVALID_REQUEST, "the client's answer cannot be read") from None
        finally:
            del self._calls[number]

    def _settle(self, number: int, answer: Raw | ErrorAnswer) -> None:
        future = self._calls.get(number)
        if future is None or future.done():
            return  # it was taken back, and the answer was on its way
        if isinstance(answer, ErrorAnswer):
            future.set_exception(answer)
        else:
            future.set_result(answer.copy())

    async def _send(self, frame: bytes, related_to: Id) -> None:
        try:
            await self._write(frame, related_to)
        except LinkClosed:
            pass  # whoever owns the connection notices that by itself

    async def aclose(self, *, grace: float = 0.0) -> None:
        """End all requests; running ones have `grace` seconds to end by themselves."""
        self._is_closed = True
        if self.running and grace:
            await asyncio.wait(self.running, timeout=grace)
        for future in self._calls.values():
            if not future.done():
                future.set_exception(LinkClosed("the MCP client has left"))
        while running := self.running:
            for task in running:
                task.cancel()
            await asyncio.wait(running)


def _read_params(params: Raw | None) -> dict[str, object] | None:
    """The params as an object, which they must be; None if they are something else."""
    if params is None:
        return {}
    try:
        values = msgspec.json.decode(params)
    except UNREADABLE_TEXT:
        return None
    return values if isinstance(values, dict) else None
