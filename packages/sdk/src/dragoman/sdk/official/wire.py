"""The object that a connection of the official SDK sends through when our runtime carries its messages.

Two methods stand where the SDK has its JSON-RPC: one asks the client, one tells it. Errors leave as those
that the SDK's users know. It does not know the SDK: whoever makes it brings the error class along.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

from dragoman.errors import CallFailed, DeadlineExceeded, LinkClosed
from dragoman.sdk.agent.session import ClientHandle
from dragoman.sdk.capabilities import CLIENT_REQUESTS
from dragoman.wire.codes import METHOD_NOT_FOUND, NAMES

asking: ContextVar[ClientHandle] = ContextVar("the client whose request is being handled")
"""An object has one connection for all its clients; this tells which of them it works for at the moment."""


class OfficialWire:
    """Requests and notifications to the client, in plain data."""

    def __init__(self, error: Callable[..., Exception]) -> None:
        self._error = error
        self.latest: ClientHandle | None = None

    @property
    def client(self) -> ClientHandle:
        """The client whose request is being handled, or else the one that connected last."""
        client = asking.get(self.latest)
        if client is None:
            raise ConnectionError("no client has connected yet")
        return client

    async def send_request(self, method: str, params: object = None) -> Any:
        client = self.client
        entry = CLIENT_REQUESTS.get(method)
        if entry is not None and entry.capability is not None and entry.capability not in client.capabilities:
            raise self._error(METHOD_NOT_FOUND, NAMES[METHOD_NOT_FOUND], {"method": method})
        try:
            return await client.call(method, params)
        except CallFailed as call_error:
            raise self._error(call_error.code, call_error.message, call_error.data) from None
        except DeadlineExceeded as late:
            raise TimeoutError(str(late)) from None
        except LinkClosed as link_error:
            raise ConnectionError(str(link_error)) from None

    async def send_notification(self, method: str, params: object = None) -> None:
        try:
            await self.client.notify(method, params)
        except LinkClosed as link_error:
            raise ConnectionError(str(link_error)) from None

    async def close(self) -> None:
        await self.client.link.aclose()
