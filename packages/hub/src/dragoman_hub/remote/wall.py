"""Filters the messages of a remote machine to a local client that provides its files: closed by default.

The other side lends its own files and terminals, so nothing that it sends may ask for ours. A frame is read
once, judged, and written anew from what was read: a client that reads an odd spelling otherwise than we do
gets ours. What is not on the list is refused there and never seen here.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Final

from dragoman.wire import MalformedFrame, Notification, Request, decode, encode, error_object, failure
from dragoman.wire.codes import METHOD_NOT_FOUND
from dragoman_local.workspace.remote_access import PERMIT_METHOD

log = logging.getLogger(__name__)

REQUESTS: Final = frozenset(
    {"session/request_permission", "elicitation/create", "mcp/message", PERMIT_METHOD}
)
NOTIFICATIONS: Final = frozenset(
    {"session/update", "elicitation/complete", "auth/status_update", "$/cancel_request"}
)
OURS: Final = "_dragoman/"


class RemoteWall:
    """The filter of one conversation. `to_agent` writes a refusal to the other side."""

    def __init__(self, to_agent: Callable[[bytes], None]) -> None:
        self._to_agent = to_agent

    def pass_on(self, line: bytes) -> bytes | None:
        """The frame for the client; None if it does not."""
        envelope = decode(line)
        if isinstance(envelope, MalformedFrame):
            log.warning("a frame of the other side is not passed on: %s", envelope.why)
            return None
        if isinstance(envelope, Request) and envelope.method not in REQUESTS:
            log.warning("a request of the other side is refused: %s", envelope.method)
            why = "Method not found: the client provides no files and no terminals to another machine"
            self._to_agent(failure(envelope.id, error_object(METHOD_NOT_FOUND, why)))
            return None
        if isinstance(envelope, Notification) and not _may_tell(envelope.method):
            log.warning("a notification of the other side is not passed on: %s", envelope.method)
            return None
        return encode(envelope)


def _may_tell(method: str) -> bool:
    return method in NOTIFICATIONS or (method.startswith("_") and not method.startswith(OURS))
