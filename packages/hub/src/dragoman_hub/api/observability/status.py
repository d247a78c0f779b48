"""The status of a hub: the answer to `_dragoman/hub/status`.

`StatusSource` names what is needed and nothing more; `status_of` is pure. What costs something to find out,
such as what processes use, is handed in. docs/operations.md describes every member.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias

from msgspec import Struct
from msgspec.structs import asdict

from dragoman_hub.api.observability.meters import Histogram
from dragoman_hub.api.observability.processes import TreeUse
from dragoman_hub.api.observability.usage import NOTHING, Tokens, UsageTotals

AgentState: TypeAlias = Literal["stopped", "starting", "up", "restarting", "failed"]
SessionState: TypeAlias = Literal["running", "waiting", "idle", "failed", "closed"]
Health: TypeAlias = Literal["ok", "draining"]

LISTED = 500
"""The most sessions and connections in the list, those that need attention first; all are counted."""

_URGENT: dict[str, int] = {"waiting": 0, "running": 1, "failed": 2, "idle": 3, "closed": 4}


# What a hub shows.


class SeenAgent(Struct, frozen=True, kw_only=True, rename="camel"):
    """One agent of the configuration, or one that was started without a configuration."""

    name: str
    title: str = ""
    state: AgentState = "stopped"
    pid: int | None = None
    sessions: int = 0
    restarts: int = 0
    """Restarts since the start of the hub."""
    started: float | None = None
    """The start of its process, in seconds since 1970."""
    last_error: str = ""
    """The reason why its last process did not start or has ended; empty after a successful start."""
    invalid_frames: int = 0
    """Dropped lines that were not valid messages, since the start of the hub."""


class SeenSession(Struct, frozen=True, kw_only=True, rename="camel"):
    """One session that the hub has in memory."""

    session_id: str
    agent: str
    state: SessionState = "idle"
    title: str = ""
    cwd: str = ""
    queue: int = 0
    """Prompts that wait for their turn."""
    asking: int = 0
    """Unanswered requests of the agent."""
    asked: float | None = None
    """The time of the oldest one, in seconds since 1970."""
    clients: int = 0


class SeenConnection(Struct, frozen=True, kw_only=True, rename="camel"):
    """One client's connection."""

    token: str
    """The name of its token, never the token."""
    transport: str
    """`websocket`, `http`, or `other`."""
    lag: int = 0
    """The approximate bytes that it is behind: stored but not sent, or sent but not read."""
    sessions: int = 0


class SeenJournal(Struct, frozen=True, kw_only=True, rename="camel"):
    """The place of the journal."""

    address: str = ""
    size: int | None = None
    """Bytes on disk; None if unknown."""


class StatusSource(Protocol):
    """The facts that a hub provides about itself, without waiting."""

    @property
    def version(self) -> str: ...
    @property
    def url(self) -> str: ...
    @property
    def start_time(self) -> float: ...
    @property
    def draining(self) -> bool: ...
    def seen_agents(self) -> Iterable[SeenAgent]: ...
    def seen_sessions(self) -> Iterable[SeenSession]: ...
    def seen_connections(self) -> Iterable[SeenConnection]: ...
    def seen_journal(self) -> SeenJournal: ...


# What is told.


class Use(Struct, frozen=True, kw_only=True, rename="camel"):
    """The resources of a process tree; unknown values are absent."""

    processes: int | None = None
    rss: int | None = None
    cpu: float | None = None
    descriptors: int | None = None


class AgentStatus(SeenAgent, frozen=True, kw_only=True, rename="camel"):
    """The status of an agent, with the known resources of its process tree, and its costs."""

    processes: int | None = None
    rss: int | None = None
    cpu: float | None = None
    descriptors: int | None = None
    tokens: Tokens = Tokens()
    costs: dict[str, float] = {}


class SessionStatus(SeenSession, frozen=True, kw_only=True, rename="camel"):
    """The status of a session, with its tokens since the hub's start, and its total cost."""

    tokens: int = 0
    costs: dict[str, float] = {}


class JournalStatus(SeenJournal, frozen=True, kw_only=True, rename="camel"):
    """The status of the journal: the seconds until appended entries were safe are None before the first."""

    entries: int = 0
    """Entries appended since the start of the hub."""
    append_p50: float | None = None
    append_p99: float | None = None


class Totals(Struct, frozen=True, kw_only=True, rename="camel"):
    """The sums of all items, including unlisted ones."""

    sessions: dict[str, int]
    """Sessions by state."""
    connections: dict[str, int]
    """Connections by transport."""
    queue: int
    asking: int
    lag: int
    """The lag of the slowest client."""


class Status(Struct, frozen=True, kw_only=True, rename="camel"):
    version: str
    health: Health
    url: str
    pid: int
    started: float
    now: float
    hub: Use
    """The resources of the hub's own process, without its agents."""
    agents: list[AgentStatus]
    sessions: list[SessionStatus]
    connections: list[SeenConnection]
    journal: JournalStatus
    totals: Totals
    nodes: list[Any] = []
    """All nodes of the cluster; none for a single hub."""


Uses: TypeAlias = Mapping[str, TreeUse | None]
"""Resources by the name of an agent; `""` is the hub itself."""


class Measured(NamedTuple):
    """The measured values, besides the hub's own facts."""

    uses: Uses = MappingProxyType({})
    spending: UsageTotals | None = None
    appends: Histogram | None = None
    entries: int = 0


def status_of(
    hub: StatusSource,
    measured: Measured,
    *,
    pid: int = 0,
    clock: Callable[[], float] = time.time,
) -> Status:
    """Return the current status."""
    sessions, connections = list(hub.seen_sessions()), list(hub.seen_connections())
    used, spending, appends, entries = measured
    return Status(
        version=hub.version,
        health="draining" if hub.draining else "ok",
        url=hub.url,
        pid=pid,
        started=hub.start_time,
        now=clock(),
        hub=Use() if (own_use := used.get("")) is None else Use(**asdict(own_use)),
        agents=[_agent(agent, used.get(agent.name), spending) for agent in hub.seen_agents()],
        sessions=[_session(listed_session, spending) for listed_session in _foremost(sessions)],
        connections=sorted(connections, key=lambda connection: -connection.lag)[:LISTED],
        journal=_journal(hub.seen_journal(), appends, entries),
        totals=Totals(
            sessions=dict(Counter(session.state for session in sessions)),
            connections=dict(Counter(connection.transport for connection in connections)),
            queue=sum(session.queue for session in sessions),
            asking=sum(session.asking for session in sessions),
            lag=max((connection.lag for connection in connections), default=0),
        ),
    )


def _foremost(sessions: list[SeenSession]) -> list[SeenSession]:
    """Sessions that wait for a person first, longest wait first; then those that work."""
    return sorted(
        sessions,
        key=lambda session: (_URGENT.get(session.state, 9), session.asked or 0.0, session.session_id),
    )[:LISTED]


def _agent(agent: SeenAgent, use: TreeUse | None, spending: UsageTotals | None) -> AgentStatus:
    spent = NOTHING if spending is None else spending.of_agent(agent.name)
    used = {} if use is None else asdict(use)
    return AgentStatus(**asdict(agent), **used, tokens=spent.tokens, costs=spent.costs)


def _session(session: SeenSession, spending: UsageTotals | None) -> SessionStatus:
    spent = NOTHING if spending is None else spending.of_session(session.session_id)
    return SessionStatus(**asdict(session), tokens=spent.tokens.total, costs=spent.costs)


def _journal(journal: SeenJournal, appends: Histogram | None, entries: int) -> JournalStatus:
    shares = (None, None) if appends is None else (appends.quantile(0.5), appends.quantile(0.99))
    return JournalStatus(**asdict(journal), entries=entries, append_p50=shares[0], append_p99=shares[1])
