"""Reads the state of the running hub for `StatusSource`, from plain attributes of hub, pool and clients,
without waiting.

    seen = HubSnapshot(hub, url=url, journal=path, meters=observer.meters)
    await observer.status(seen)
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from typing import Any

from dragoman.version import VERSION
from dragoman_hub.agents.pool import AgentSlot
from dragoman_hub.api.observability.hub_meters import HubMeters
from dragoman_hub.api.observability.status import (
    AgentState,
    SeenAgent,
    SeenConnection,
    SeenJournal,
    SeenSession,
)
from dragoman_hub.clients.client import ClientHub, HubClient
from dragoman_hub.engine.live_session import LiveSession

FRAME = 240
"""The assumed bytes of an entry, before any was counted."""

_KINDS = {"AsgiWebSocket": "websocket", "HttpConnection": "http"}


class HubSnapshot:
    """The state of a running hub. `journal` is the path of a file, or an address."""

    def __init__(self, hub: ClientHub, *, url: str, journal: str, meters: HubMeters) -> None:
        self.version = VERSION
        self.url = url
        self.start_time = time.time()
        self._hub = hub
        self._journal = journal
        self._meters = meters

    @property
    def draining(self) -> bool:
        return self._hub.draining

    def seen_agents(self) -> Iterator[SeenAgent]:
        return map(_agent, self._hub.pool.seats.values())

    def seen_sessions(self) -> Iterator[SeenSession]:
        return map(_session, self._hub.sessions.values())

    def seen_connections(self) -> Iterator[SeenConnection]:
        frames = self._meters.frames.of("to_client").value
        size = self._meters.frame_bytes.of("to_client").value / frames if frames else FRAME
        return (_connection(client, size) for client in self._hub.clients)

    def seen_journal(self) -> SeenJournal:
        sizes = [] if "://" in self._journal else [_size(self._journal), _size(f"{self._journal}-wal")]
        return SeenJournal(address=self._journal, size=sum(sizes) if sizes else None)

    def agent_of(self, session: str) -> str:
        """Return the agent of a session, for the observer."""
        live_session = self._hub.sessions.get(session)
        return "" if live_session is None else live_session.state.agent


def _agent(seat: AgentSlot) -> SeenAgent:
    process = seat.process if seat.process is not None and not seat.process.over else None
    return SeenAgent(
        name=seat.spec.name,
        title=seat.spec.title,
        state=_state(seat),
        pid=None if process is None else process.channel.pid or None,
        sessions=0 if process is None else len(process.sessions),
        restarts=max(0, seat.starts - 1),
        started=None if process is None else process.start_time,
        last_error=seat.last_error,
        invalid_frames=seat.invalid.count,
    )


def _state(seat: AgentSlot) -> AgentState:
    if seat.process is not None and not seat.process.over:
        return "up"
    if seat.starting.locked():
        return "restarting" if seat.starts > 1 else "starting"
    return "failed" if seat.failures > seat.spec.restarts else "stopped"


def _session(session: LiveSession) -> SeenSession:
    session_state = session.state
    question_times = [request.time for request in session_state.questions]
    state: Any = session.state.listed_state  # one of the states of docs/hub-protocol.md
    return SeenSession(
        session_id=session.id,
        agent=session_state.agent,
        state=state,
        title=session.title,
        cwd=session_state.cwd,
        queue=len(session_state.queue),
        asking=len(question_times),
        asked=min(question_times, default=None),
        clients=len(session.followers),
    )


def _connection(client: HubClient, size: float) -> SeenConnection:
    behind = sum(
        max(0, follower.session.log.last - follower.position.sequence)
        for follower in client.followers.values()
    )
    return SeenConnection(
        token=client.grant.name,
        transport=transport_of(client.transport),
        lag=client.transport.pending + int(behind * size),
        sessions=len(client.followers),
    )


def transport_of(transport: object) -> str:
    """Return the kind of a connection's transport, by its innermost stream."""
    for _ in range(8):
        inner = getattr(transport, "inner", None) or getattr(transport, "_inner", None)
        if inner is None:
            break
        transport = inner
    return _KINDS.get(type(getattr(transport, "_stream", None)).__name__, "other")


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size
    except OSError:  # a journal that was closed has no log beside it
        return 0
