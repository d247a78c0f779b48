"""The calls of a proxy itself, among the calls that pass through it.

Their ids carry a random prefix, so that they are told from all others; their answers end here. They do not
wait for what is held back, and an answer is delivered as soon as it is here, so a hook may call and wait.
"""

from __future__ import annotations

import asyncio
from contextvars import ContextVar
from typing import Any, Literal, Protocol, TypeAlias

import msgspec
from msgspec import Raw

from dragoman.core import Connection, OutgoingCall
from dragoman.errors import CallFailed, CallTimeout, LinkClosed
from dragoman.runtime.limits import check_seconds
from dragoman.runtime.relay import RelayDirection
from dragoman.schema.codec import write
from dragoman.schema.waits import bound
from dragoman.sdk.capabilities import AGENT_REQUESTS, CLIENT_REQUESTS
from dragoman.sdk.inbound import read_result
from dragoman.wire import ErrorObject, notification

Waiting: TypeAlias = "asyncio.Future[Raw | ErrorObject | LinkClosed]"

_DEFAULT: Any = object()


class CallFlow(Protocol):
    """The parts of a direction that calls use; `flow.ProxyFlow` implements it."""

    way: RelayDirection
    calls: Connection[Waiting]
    end_reason: LinkClosed | None
    """The reason why calls get no answer any more."""

    @property
    def back(self) -> CallFlow:
        """The other direction."""

    def send(self, frame: bytes) -> None:
        """Send a frame of the proxy, after the frames that have passed so far."""

    def weigh(self) -> None:
        """Pause reading while hooks hold back too many bytes."""


class ProxyPeer:
    """One of the two sides, for requests of the proxy itself."""

    __slots__ = ("_flow", "_seconds")

    def __init__(self, flow: CallFlow, *, seconds: float | None) -> None:
        self._flow = flow
        self._seconds = seconds

    @property
    def _is_agent(self) -> bool:
        return self._flow.way.direction == "to_agent"

    async def call(self, method: str, params: object = None, *, deadline: float | None = _DEFAULT) -> Any:
        """Send this side a request. The result is typed for a method of the protocol, plain data for any
        other.
        """
        receiver: Literal["agent", "client"] = "agent" if self._is_agent else "client"
        default = bound(method, self._seconds, receiver=receiver)
        seconds = default if deadline is _DEFAULT else check_seconds(deadline, "deadline")
        if self._flow.end_reason is not None:
            raise self._flow.end_reason.with_traceback(None)
        future: Waiting = asyncio.get_running_loop().create_future()
        call, frame = self._flow.calls.call(method, _encode(params), future)
        self._flow.send(frame)
        self._flow.back.weigh()  # the answer must not be kept out by what a hook holds back
        try:
            async with asyncio.timeout(seconds):
                answer = await future
        except TimeoutError:
            self._give_up(call)
            raise CallTimeout(method, seconds or 0.0) from None
        except asyncio.CancelledError:
            self._give_up(call)
            raise
        return self._result(method, answer)

    def notify(self, method: str, params: object = None) -> None:
        """Send this side a notification."""
        if self._flow.end_reason is not None:
            raise self._flow.end_reason.with_traceback(None)
        self._flow.send(notification(method, _encode(params)))

    def _give_up(self, call: OutgoingCall[Waiting]) -> None:
        frame = self._flow.calls.forget(call)
        if frame is not None:
            self._flow.send(frame)

    def _result(self, method: str, answer: Raw | ErrorObject | LinkClosed) -> Any:
        if isinstance(answer, LinkClosed):
            raise answer.with_traceback(None)
        if isinstance(answer, ErrorObject):
            raise CallFailed(answer.code, answer.message, answer.data or None, method=method)
        table = AGENT_REQUESTS if self._is_agent else CLIENT_REQUESTS
        entry = table.get(method)
        return msgspec.json.decode(answer) if entry is None else read_result(answer, entry.result, method)


def _encode(params: object) -> bytes | None:
    if params is None:
        return None
    return bytes(params) if isinstance(params, Raw) else write(params)


class ProxyConversation(Protocol):
    """One conversation through a proxy, as its hooks see it; `proxy.ProxySide` implements it."""

    to_agent: ProxyPeer
    to_client: ProxyPeer

    @property
    def proxy(self) -> object: ...


current: ContextVar[ProxyConversation] = ContextVar("dragoman_proxy")
"""The conversation whose hook is running."""
