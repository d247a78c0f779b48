"""The client as an agent sees it: its name, its capabilities, and requests and notifications to it."""

from __future__ import annotations

import copy
from collections.abc import Awaitable, Callable, Coroutine
from typing import TYPE_CHECKING, Any, Self, TypeVar

import msgspec
from msgspec import Raw

from dragoman.errors import LinkClosed, NotAdvertised
from dragoman.runtime.deferred_module import DeferredModule
from dragoman.runtime.limits import Limits, check_seconds
from dragoman.schema import v1
from dragoman.schema.codec import strict_reader
from dragoman.schema.waits import bound
from dragoman.sdk.capabilities import CLIENT_NOTIFICATIONS, CLIENT_REQUESTS, NOTHING, peer_capabilities
from dragoman.sdk.inbound import read_result
from dragoman.sdk.outbound import check_text, write_out, write_params

if TYPE_CHECKING:
    import asyncio

    from dragoman.runtime.link import Link
else:
    asyncio = DeferredModule("asyncio")

T = TypeVar("T")
R = TypeVar("R")

DEFAULT: Any = object()


class ClientCalls:
    """An agent's requests and notifications to its client; `ClientHandle` adds the sessions."""

    __slots__ = ("_allowed_params", "_behind", "capabilities", "info", "link", "protocol_version")

    def __init__(self, link: Link) -> None:
        self.link = link
        self.capabilities = NOTHING
        self._allowed_params: dict[
            str, Any
        ] = {}  # by method: the params of what was asked for before, and may be
        self.info: v1.Implementation | None = None
        self.protocol_version = 0
        self._behind: Callable[[], Awaitable[None]] | None = None

    def behind(self, ready: Callable[[], Awaitable[None]]) -> Self:
        """Return the same client for a sender with its own queue: `ready` is awaited before each request and
        notification, so that they do not overtake the queue.
        """
        handle = copy.copy(self)
        handle._allowed_params = {}
        handle._behind = ready
        return handle

    async def ready(self) -> None:
        """Wait until everything that was sent before has left the queue."""
        if self._behind is not None:
            await self._behind()

    def introduce(self, request: v1.InitializeRequest, version: int) -> None:
        """Store the client's name and capabilities from `initialize`."""
        self.capabilities = peer_capabilities(request.client_capabilities)
        self._allowed_params.clear()
        self.info = request.client_info or None
        self.protocol_version = version

    @property
    def limits(self) -> Limits:
        """The limits of this connection."""
        return self.link.limits

    def ask(
        self, method: str, message: object, result: type[T], *, deadline: float | None = DEFAULT
    ) -> Coroutine[object, None, T]:
        """Send a typed request of the protocol. It is refused here if the client has not announced the
        capability.
        """
        return self.ask_for(method, message, result, _whole, deadline=deadline)

    async def ask_for(
        self,
        method: str,
        message: object,
        result: type[T],
        part: Callable[[T], R],
        *,
        deadline: float | None = DEFAULT,
    ) -> R:
        """Send the same request, and return a part of the answer: reading the part from the result of `ask`
        would cost twice as much.
        """
        params = self._allowed_params.get(method)
        if params is None:
            params = self.check_allowed(method)
        if self._behind is not None:
            await self._behind()
        link = self.link
        seconds = (
            bound(method, link.limits.call_seconds, receiver="client")
            if deadline is DEFAULT
            else check_seconds(deadline, "deadline")
        )
        # `link.call` in so many words: this is asked often, and each coroutine on the way costs twice.
        call = link.open_call(method, write_out(message, params, method), deadline=seconds)
        try:
            await call.context.future
        except asyncio.CancelledError:
            link.give_up(call, LinkClosed("nobody waits any more"))
            raise
        answer = call.context.outcome
        if type(answer) is Raw:
            try:
                whole = strict_reader(result)(answer)
            except (ValueError, RecursionError, TypeError):
                pass  # it may still be read leniently
            else:
                return part(whole)
        return part(read_result(link.result(call), result, method))

    def check_allowed(self, method: str) -> Any:
        """Return the params of a request. It is refused here if the client has not
        announced the capability.
        """
        capability = CLIENT_REQUESTS[method].capability
        if capability is not None and capability not in self.capabilities:
            raise NotAdvertised(capability, method)
        params = self._allowed_params[method] = CLIENT_REQUESTS[method].params
        return params

    async def call(self, method: str, params: object = None, *, deadline: float | None = DEFAULT) -> Any:
        """Send any other request, such as an extension (`_…`): plain data in, plain data out. A person may
        answer it, so it has no deadline unless you set one.
        """
        check_text(method, "method")
        await self.ready()
        seconds = (
            bound(method, self.limits.call_seconds, receiver="client")
            if deadline is DEFAULT
            else check_seconds(deadline, "deadline")
        )
        return msgspec.json.decode(
            await self.link.call(
                method, write_params(params, method, CLIENT_NOTIFICATIONS | CLIENT_REQUESTS), deadline=seconds
            )
        )

    async def notify(self, method: str, params: object = None) -> None:
        """Send any notification, such as an extension."""
        check_text(method, "method")
        await self.ready()
        self.link.notify(method, write_params(params, method, CLIENT_REQUESTS | CLIENT_NOTIFICATIONS))
        await self.link.outbox.flow()


def _whole(answer: T) -> T:
    return answer
