"""The interface of a router, which handles the messages that a link receives."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Protocol, TypeAlias

from msgspec import Raw

from dragoman.core import IncomingRequest
from dragoman.wire.codes import method_not_found

Work: TypeAlias = Coroutine[object, None, bytes]

Answer: TypeAlias = bytes | Work
"""A router's answer to a request: the encoded result, or a coroutine that returns it."""


class Router(Protocol):
    """Handles the messages of a link. `on_request` may raise `ErrorAnswer`; any other exception becomes an
    internal error.
    """

    def on_request(self, incoming: IncomingRequest) -> Answer: ...

    def on_notification(self, method: str, params: Raw | None) -> None: ...

    def on_block(self, block: bytes) -> int:
        """Handle a whole block at once, if it holds only notifications of one ordinary kind.

        Returns how many there were; 0 means that nothing was taken and the frames are to be told one by one.
        """
        ...

    def on_block_end(self, size: int) -> None:
        """Called after a block of `size` bytes was handled, before waiting tasks run. With 0: a change may
        allow the link to read again.
        """

    def on_cancel_request(self, incoming: IncomingRequest) -> bool:
        """The peer no longer wants this answer. Return true if the router ends the work itself; otherwise the
        link does.
        """
        ...


class RefusingRouter:
    """A router without handlers: refuses requests, ignores notifications."""

    def on_request(self, incoming: IncomingRequest) -> Answer:
        raise method_not_found(incoming.method)

    def on_notification(self, method: str, params: Raw | None) -> None:
        pass

    def on_block(self, block: bytes) -> int:
        return 0

    def on_block_end(self, size: int) -> None:
        pass

    def on_cancel_request(self, incoming: IncomingRequest) -> bool:
        return False


def asks_nobody(method: str) -> bool:
    """The check for a side where programs answer every request."""
    return False
