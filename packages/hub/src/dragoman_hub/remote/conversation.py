"""Joins a local client and a remote agent: a relay between two transports, and the filters in between.

Paths are translated first on the way there and last on the way back; between that, accesses are decided here
if the client does not decide them itself, and `wall` keeps the other side from what the client lends.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from dragoman.runtime.relay import Relay, RelayDirection
from dragoman.transport.contract import Transport
from dragoman.wire import MalformedFrame, Notification, Request, decode, encode, error_object, failure
from dragoman.wire.codes import METHOD_NOT_FOUND
from dragoman.wire.glance import glance_block, lines_of
from dragoman_local.workspace.remote_access import PERMIT_METHOD

if TYPE_CHECKING:  # most conversations need neither, and start faster without
    from dragoman_hub.remote.decider import AccessDecider
    from dragoman_hub.remote.path_map import FolderMap


class RemoteConversation:
    """A remote conversation, which `relay` runs. Without a decider and a map, every block passes
    unchanged.
    """

    def __init__(
        self,
        client: Transport,
        agent: Transport,
        *,
        decider: AccessDecider | None = None,
        path_map: FolderMap | None = None,
    ) -> None:
        self._decider = decider
        self._wall = RemoteWall(lambda line: self.relay.to_agent.send(line))
        self._map = path_map
        is_plain = decider is None and path_map is None
        self.relay = Relay(client, agent, interpreter=None if is_plain else self, name="remote")
        if decider is not None:
            decider.relay, decider.tell_client = self.relay, self._tell_client

    def take(self, way: RelayDirection, block: bytes) -> None:
        """The interpreter of the relay."""
        lines = lines_of(block)
        if self._map is not None and way.direction == "to_agent":
            lines = [self._map.to_agent(line) for line in lines]
        if self._decider is not None:
            lines = self._decide(way, lines)
        if self._map is not None and way.direction == "to_client":
            lines = [self._map.to_client(line) for line in lines]
        if lines:
            way.send(b"".join(lines))

    def _decide(self, way: RelayDirection, lines: list[bytes]) -> list[bytes]:
        assert self._decider is not None
        step = self._decider.from_client
        if way.direction == "to_client":
            step = self._decider.from_agent
            lines = [line for line in map(self._wall.pass_on, lines) if line is not None]
        glances = glance_block(b"".join(lines))
        frames = [step(line, glance) for line, glance in zip(lines, glances, strict=True)]
        return [frame for frame in frames if frame is not None]

    def _tell_client(self, line: bytes) -> None:
        self.relay.to_client.send(line if self._map is None else self._map.to_client(line))

    async def finish(self, way: RelayDirection, seconds: float) -> None:
        """Do nothing: this side keeps nothing back."""


# Filters the messages of a remote machine to a local client that lends its files: closed by default.
#
# The other side lends its own files and terminals, so nothing that it sends may ask for ours. A frame is
# read once, judged, and written anew from what was read: a client that reads an odd spelling otherwise than
# we do gets ours. What is not on the list is refused there and never seen here.

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
        """Return the frame for the client; None to drop it."""
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
