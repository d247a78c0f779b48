"""Limits of the bytes in transit between the parts of a hub, and to what they are charged.

Each kind of traffic has a budget for the whole hub, with a share for each agent and below it one for each
session; clients have shares of their own. The table in docs/hub.md says what happens at each bound.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from msgspec import Raw

from dragoman.runtime.budget import ByteBudget

MIB = 1024 * 1024

REQUEST_BYTES = 1024
"""The overhead of an open request in bytes: its entry in memory, and its task."""

WORK_BYTES = 256 * 1024
"""The bytes reserved for an answer of unknown size, and the least for each: it limits the simultaneous file
reads of one agent, which share a few threads with all others.
"""

PIPE_BYTES = 64 * 1024
"""The bytes in an agent's pipe that count as read."""


class TrafficLimits(NamedTuple):
    """The limits of one kind of traffic."""

    session: int
    agent: int
    all: int


UNSTORED = TrafficLimits(MIB, 8 * MIB, 32 * MIB)
"""Data that waits for the journal. Above the limit the agent is not read: a stuck disk must cost no memory.
Each waiting byte takes three, and a higher limit is not faster.
"""

ANSWERS = TrafficLimits(4 * MIB, 8 * MIB, 32 * MIB)
"""Data on its way to agents, and answers in preparation. Above the limit, no more is read from disk for the
agent, and no client is asked.
"""

LENT = TrafficLimits(4 * MIB, 8 * MIB, 32 * MIB)
"""Requests that the hub itself carries out. Above the limit the agent is not read."""

REQUESTS = TrafficLimits(16 * MIB, 32 * MIB, 128 * MIB)
"""All unanswered requests of agents, including those that wait for people. Further ones are refused."""

TOO_MANY_REQUESTS = (
    "Internal error: too many requests wait for an answer already; ask again when some of them are answered"
)

PROMPTS = TrafficLimits(32 * MIB, 64 * MIB, 256 * MIB)
"""Prompts that wait for their turn. Further ones are refused."""

CLIENT = (32 * MIB, 128 * MIB)
"""Unanswered requests of one client, and of all, without prompts. Further ones are refused."""


def size_of_request(params: bytes | Raw) -> int:
    """Return the bytes that a request counts while it has no answer."""
    return REQUEST_BYTES + memoryview(params).nbytes


class SessionBounds:
    """The budgets of one session, which exist while bytes are counted, and are closed with it."""

    __slots__ = ("_is_closed", "answers", "entries", "lent", "prompts", "requests")

    def __init__(self, agent: AgentBounds) -> None:
        self._is_closed = False
        self.entries = agent.entries.child(UNSTORED.session)
        self.answers = agent.answers.child(ANSWERS.session)
        self.lent = agent.lent.child(LENT.session)
        self.requests = agent.requests.child(REQUESTS.session)
        self.prompts = agent.prompts.child(PROMPTS.session)

    @property
    def _budgets(self) -> tuple[ByteBudget, ...]:
        return (self.entries, self.answers, self.lent, self.requests, self.prompts)

    @property
    def is_idle(self) -> bool:
        """Whether it counts nothing, no caller waits for room, and it is not closed."""
        is_used = any(budget.held_bytes or budget.waiting for budget in self._budgets)
        return not (is_used or self._is_closed)

    def count_prompts(self, prompts: Sequence[Raw]) -> None:
        """Set the prompts that wait for their turn."""
        self.prompts.set(sum(memoryview(params).nbytes for params in prompts))

    def count_requests(self, requests: Sequence[Raw]) -> None:
        """Set the requests without an answer."""
        self.requests.set(sum(size_of_request(params) for params in requests))

    def close(self) -> None:
        self._is_closed = True
        for budget in self._budgets:
            budget.close()


class AgentBounds:
    """The budgets of one agent: the sum over its sessions."""

    __slots__ = ("answers", "entries", "lent", "prompts", "requests")

    def __init__(self, hub: HubBounds) -> None:
        self.entries = hub.entries.child(UNSTORED.agent)
        self.answers = hub.answers.child(ANSWERS.agent)
        self.lent = hub.lent.child(LENT.agent)
        self.requests = hub.requests.child(REQUESTS.agent)
        self.prompts = hub.prompts.child(PROMPTS.agent)


class HubBounds:
    """The total budgets of a hub."""

    def __init__(self) -> None:
        self.entries = ByteBudget(UNSTORED.all)
        self.answers = ByteBudget(ANSWERS.all)
        self.lent = ByteBudget(LENT.all)
        self.requests = ByteBudget(REQUESTS.all)
        self.prompts = ByteBudget(PROMPTS.all)
        self.clients = ByteBudget(CLIENT[1])
        self.routers = ByteBudget(CLIENT[1])
        self._agents: dict[str, AgentBounds] = {}

    def agent(self, name: str) -> AgentBounds:
        bounds = self._agents.get(name)
        if bounds is None:
            bounds = self._agents[name] = AgentBounds(self)
        return bounds

    def session(self, agent: str) -> SessionBounds:
        return SessionBounds(self.agent(agent))

    def client(self) -> ByteBudget:
        return self.clients.child(CLIENT[0])

    def router(self) -> ByteBudget:
        """Return the same for a client of a node in a cluster, which keeps requests to send them to another
        node.
        """
        return self.routers.child(CLIENT[0])
