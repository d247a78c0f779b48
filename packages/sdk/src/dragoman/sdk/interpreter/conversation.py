"""Connects a client and an agent of any two dialects; a relay between them speaks v1.

conversation = InterpretedConversation(client, agent, Interpretation("threads", "crow"))
async with conversation:
    await conversation.wait_ended()
print(conversation.ledger.entries)
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from types import TracebackType
from typing import NamedTuple

from dragoman.dialect import DialectDecision, EdgeSettings, Ledger, LedgerEntry
from dragoman.errors import PeerDied
from dragoman.runtime.relay import LAST_WORDS, Relay
from dragoman.sdk.interpreter.dialect_transport import speaking
from dragoman.sdk.shutdown import first_of
from dragoman.transport.contract import Transport


class Interpretation(NamedTuple):
    """The dialects of both sides, and how to translate between them."""

    client: str = "v1"
    agent: str = "v1"
    settings: EdgeSettings = EdgeSettings()
    strict: bool = False
    """Whether the conversation ends at the first loss."""
    quirks: bool = True
    on_decision: Callable[[DialectDecision], None] | None = None
    """Called when the dialect of a side with `auto` was detected."""


class InterpretedConversation:
    """A running conversation; leaving the block ends both sides in an orderly way."""

    def __init__(
        self,
        client: Transport,
        agent: Transport,
        how: Interpretation,
    ) -> None:
        self.ledger = Ledger(on_loss=self._stop if how.strict else None, on_decision=how.on_decision)
        self.stopped_by: LedgerEntry | None = None
        in_v1 = partial(speaking, settings=how.settings, ledger=self.ledger, quirks=how.quirks)
        self._relay = Relay(
            in_v1(how.client, client, position="client"),
            in_v1(how.agent, agent, position="agent"),
            name="interpreter",
        )
        self._end_event = asyncio.Event()

    async def wait_ended(self) -> None:
        """Wait until one side is gone, or an essential message was lost."""
        await first_of(self._relay.wait_ended(), self._end_event.wait())

    @property
    def agent_ended(self) -> str | None:
        """How the agent's side has ended; None if it has not."""
        way = self._relay.to_client
        return None if not way.over.is_set() else str(way.reason or "it closed the connection")

    @property
    def agent_died(self) -> PeerDied | None:
        """How the agent's process ended, if it ended by itself."""
        reason = self._relay.to_client.reason
        return reason if isinstance(reason, PeerDied) else None

    async def aclose(self, *, grace: float = LAST_WORDS) -> None:
        await self._relay.aclose(grace=grace)

    async def __aenter__(self) -> InterpretedConversation:
        self._relay.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    def _stop(self, entry: LedgerEntry) -> None:
        self.stopped_by = self.stopped_by or entry
        self._end_event.set()
