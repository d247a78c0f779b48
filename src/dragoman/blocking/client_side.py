"""A running client whose handlers are called where their request is read: what `sdk.client_side` is, with a
short way for the requests that agents make most.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from dragoman.blocking.handlers import Inline
from dragoman.schema.codec import strict_reader
from dragoman.sdk.capabilities import CLIENT_REQUESTS
from dragoman.sdk.client.client import Client
from dragoman.sdk.client.side import ClientSide
from dragoman.sdk.outbound import write_answer

_SPECIAL = frozenset({"session/request_permission", "elicitation/create"})


class ShortWay(NamedTuple):
    """For a request that is read, handled and answered without anything in between."""

    method: str
    read: Callable[[bytes], Any]
    handle: Callable[[Any], Any]


class BlockingClientSide(ClientSide):
    """The router of a client's link. Its client has inline handlers."""

    __slots__ = ("short_ways",)

    def __init__(self, client: Client) -> None:
        super().__init__(client)
        self.short_ways: dict[bytes, ShortWay] = {
            method.encode(): ShortWay(method, strict_reader(CLIENT_REQUESTS[method].params), handler.direct)
            for method, handler in client.handlers.items()
            if method in CLIENT_REQUESTS and method not in _SPECIAL
            if isinstance(handler, Inline) and handler.direct is not None
        }

    def answer(self, way: ShortWay, request: Any) -> bytes:
        """What `on_request` would lead to, for a request that has been read."""
        if request.session_id not in self.sessions:
            self._check_known(request)
        return write_answer(way.handle(request), CLIENT_REQUESTS[way.method].result, way.method)
