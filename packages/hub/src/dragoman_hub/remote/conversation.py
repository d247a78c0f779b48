"""Joins a local client and a remote agent: a relay between two transports, and the filters on its way.

Paths are translated first on the way there and last on the way back; between that, accesses are decided here
if the client does not decide them itself, and `wall` keeps the other side from what the client lends.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dragoman.runtime.relay import Relay, RelayDirection
from dragoman.transport.contract import Transport
from dragoman.wire.glance import glance_block, lines_of
from dragoman_hub.remote.wall import RemoteWall

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
