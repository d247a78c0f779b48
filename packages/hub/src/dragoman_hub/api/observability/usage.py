"""The cost of turns: read from the agents' messages, summed by agent and by session.

Two things tell of it. An answer to `session/prompt` may carry `usage`: tokens, which are taken to be the
turn's own. An update `usage_update` carries how full the context is, and what the session has cost so far.
Amounts of different currencies are never added. A frame that makes no sense costs nothing.
"""

from __future__ import annotations

import math
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from dragoman.decoders import json_decoder
from dragoman.wire import Notification, Response, decode
from dragoman.wire.decode import UNREADABLE_TEXT

_Count = Annotated[int, Meta(ge=0)]

LONGEST_CURRENCY = 16
"""The most characters of a currency, such as `USD` or `credits`; an agent may send any text."""


class Tokens(Struct, frozen=True, kw_only=True):
    """Token counts of the agent; `total` need not be their sum."""

    total: _Count = msgspec.field(default=0, name="totalTokens")
    input: _Count = msgspec.field(default=0, name="inputTokens")
    output: _Count = msgspec.field(default=0, name="outputTokens")
    thought: _Count | None = msgspec.field(default=None, name="thoughtTokens")
    cached_read: _Count | None = msgspec.field(default=None, name="cachedReadTokens")
    cached_write: _Count | None = msgspec.field(default=None, name="cachedWriteTokens")

    def plus(self, more: Tokens) -> Tokens:
        return Tokens(
            total=self.total + more.total,
            input=self.input + more.input,
            output=self.output + more.output,
            thought=(self.thought or 0) + (more.thought or 0),
            cached_read=(self.cached_read or 0) + (more.cached_read or 0),
            cached_write=(self.cached_write or 0) + (more.cached_write or 0),
        )


class Cost(Struct, frozen=True):
    """The cost of a session from its beginning."""

    amount: float
    currency: str


class AgentUsage(Struct, frozen=True, kw_only=True):
    """The usage in one frame, with only the fields that it has."""

    session: str = ""
    """The session; empty in an answer, whose session is that of its request."""
    tokens: Tokens | None = None
    cost: Cost | None = None
    context_used: int | None = None
    context_size: int | None = None


class _Update(Struct, frozen=True):
    sessionUpdate: str = ""  # as the wire has it
    used: _Count | None = None
    size: _Count | None = None
    cost: Cost | None = None


class _Params(Struct, frozen=True):
    sessionId: str = ""
    update: _Update = _Update()


class _Result(Struct, frozen=True):
    usage: Tokens | None = None


_params = json_decoder(_Params)
_results = json_decoder(_Result)


def usage_of(frame: bytes) -> AgentUsage | None:
    """Return the usage in an agent's frame; None for nearly all frames, after one search."""
    if b"usage" not in frame:
        return None
    message = decode(frame)
    try:
        if isinstance(message, Response):
            tokens = _results.decode(message.result).usage
            return None if tokens is None else AgentUsage(tokens=tokens)
        if not isinstance(message, Notification) or message.params is None:
            return None
        params = _params.decode(message.params)
    except UNREADABLE_TEXT:
        return None  # about something else, or about nothing
    update = params.update
    if update.sessionUpdate != "usage_update":
        return None
    return AgentUsage(
        session=params.sessionId,
        cost=_sensible(update.cost),
        context_used=update.used,
        context_size=update.size,
    )


def _sensible(cost: Cost | None) -> Cost | None:
    if cost is None or not cost.currency or not math.isfinite(cost.amount) or cost.amount < 0:
        return None
    return Cost(cost.amount, cost.currency[:LONGEST_CURRENCY])


class UsageSum(Struct, frozen=True, kw_only=True):
    """The sum of reported usage."""

    tokens: Tokens = Tokens()
    costs: dict[str, float] = {}  # amounts by currency

    def with_tokens(self, tokens: Tokens) -> UsageSum:
        return UsageSum(tokens=self.tokens.plus(tokens), costs=self.costs)

    def with_cost(self, amount: float, currency: str) -> UsageSum:
        before = self.costs.get(currency, 0.0)
        return UsageSum(tokens=self.tokens, costs={**self.costs, currency: before + amount})


NOTHING = UsageSum()


MOST_SESSIONS = 20_000
"""The most sessions to remember, some megabytes; the longest silent ones go first."""


class UsageTotals:
    """Adds up since the start of the hub, by agent and by session."""

    def __init__(self) -> None:
        self._agents: dict[str, UsageSum] = {}
        self._sessions: dict[str, UsageSum] = {}  # the one that spoke last is last

    def saw(self, agent: str, session: str, usage: AgentUsage) -> None:
        """Count what an agent reports about a session of its own."""
        if usage.tokens is not None:
            self._agents[agent] = self.of_agent(agent).with_tokens(usage.tokens)
            self._keep(session, self.of_session(session).with_tokens(usage.tokens))
        if usage.cost is not None:
            self._paid(agent, session, usage.cost)

    def knows(self, session: str) -> bool:
        return session in self._sessions

    def remember(self, session: str, cost: Cost | None = None) -> None:
        """Set the cost of a session from before the hub's start, which does not count again."""
        spending = self.of_session(session)
        costs = spending.costs if cost is None else {**spending.costs, cost.currency: cost.amount}
        self._keep(session, UsageSum(tokens=spending.tokens, costs=costs))

    def forget(self, session: str) -> None:
        self._sessions.pop(session, None)

    def of_agent(self, agent: str) -> UsageSum:
        return self._agents.get(agent, NOTHING)

    def of_session(self, session: str) -> UsageSum:
        return self._sessions.get(session, NOTHING)

    def _paid(self, agent: str, session: str, cost: Cost) -> None:
        spending = self.of_session(session)
        before = spending.costs.get(cost.currency, 0.0)
        # Less than before: the agent lost count when it was started again, and began anew.
        grown = cost.amount - before if cost.amount >= before else cost.amount
        self._agents[agent] = self.of_agent(agent).with_cost(grown, cost.currency)
        self._keep(
            session,
            UsageSum(tokens=spending.tokens, costs={**spending.costs, cost.currency: cost.amount}),
        )

    def _keep(self, session: str, spent: UsageSum) -> None:
        self._sessions.pop(session, None)
        self._sessions[session] = spent
        if len(self._sessions) > MOST_SESSIONS:
            del self._sessions[next(iter(self._sessions))]
