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
"""Sessions and connections that are told one by one, those that want attention first; all are counted."""

_URGENT: dict[str, int] = {"waiting": 0, "running": 1, "failed": 2, "idle": 3, "closed": 4}


# What a hub shows.


class SeenAgent(Struct, frozen=True, kw_only=True, rename="camel"):
    """One agent of the configuration, or one that was started without it."""

    name: str
    title: str = ""
    state: AgentState = "stopped"
    pid: int | None = None
    sessions: int = 0
    restarts: int = 0
    """Since the hub was started."""
    started: float | None = None
    """When its process was, in seconds since 1970."""
    last_error: str = ""
    """Why its last process could not be started or has ended; empty once one has started since."""
    invalid_frames: int = 0
    """Lines of it that were not valid messages and were dropped, since the hub was started."""


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
    """Requests of the agent that wait for an answer."""
    asked: float | None = None
    """When the oldest of them was, in seconds since 1970."""
    clients: int = 0


class SeenConnection(Struct, frozen=True, kw_only=True, rename="camel"):
    """One client's connection."""

    token: str
    """The name of its token, never the token."""
    transport: str
    """`websocket`, `http`, or `other`."""
    lag: int = 0
    """About how many bytes it is behind: stored and not sent to it, or sent and not taken."""
    sessions: int = 0


class SeenJournal(Struct, frozen=True, kw_only=True, rename="camel"):
    """Where everything is kept."""

    address: str = ""
    size: int | None = None
    """Bytes on disk; None if that cannot be known."""


class StatusSource(Protocol):
    """The facts that a hub must provide about itself, at once and without waiting."""

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
    """The status of an agent, with the resources of its process tree, as far as known, and its costs."""

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
    """With how it does: seconds until appended entries were safe are None before there was one."""

    entries: int = 0
    """Appended since the hub was started."""
    append_p50: float | None = None
    append_p99: float | None = None


class Totals(Struct, frozen=True, kw_only=True, rename="camel"):
    """The sums of all items, including those that are not listed."""

    sessions: dict[str, int]
    """By state."""
    connections: dict[str, int]
    """By transport."""
    queue: int
    asking: int
    lag: int
    """Of the slowest client."""


class Status(Struct, frozen=True, kw_only=True, rename="camel"):
    version: str
    health: Health
    url: str
    pid: int
    started: float
    now: float
    hub: Use
    """Of the hub's own process, without its agents."""
    agents: list[AgentStatus]
    sessions: list[SessionStatus]
    connections: list[SeenConnection]
    journal: JournalStatus
    totals: Totals
    nodes: list[Any] = []
    """All nodes of the cluster; none if the hub is by itself."""


Uses: TypeAlias = Mapping[str, TreeUse | None]
"""By the name of an agent; `""` is the hub itself."""


class Measured(NamedTuple):
    """What was measured, beside what the hub says of itself."""

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
    """The current status."""
    sessions, connections = list(hub.seen_sessions()), list(hub.seen_connections())
    used, spending, appends, entries = measured
    return Status(
        version=hub.version,
        health="draining" if hub.draining else "ok",
        url=hub.url,
        pid=pid,
        started=hub.start_time,
        now=clock(),
        hub=_hub(used.get("")),
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


def _hub(use: TreeUse | None) -> Use:
    return Use() if use is None else Use(**asdict(use))


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
