"""A hub that shows what it is told to show, and entries as a hub stores them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from dragoman_hub.api.observability.status import SeenAgent, SeenConnection, SeenJournal, SeenSession
from dragoman_local.journal import Entry, Journal


class ShownHub:
    version = "1.2.3"
    url = "http://127.0.0.1:8765"
    start_time = 1_000.0

    def __init__(
        self,
        *,
        agents: Sequence[SeenAgent] = (),
        sessions: Sequence[SeenSession] = (),
        connections: Sequence[SeenConnection] = (),
        journal: SeenJournal | None = None,
        draining: bool = False,
    ) -> None:
        self.agents, self.sessions, self.connections = agents, sessions, connections
        self.journal = journal or SeenJournal()
        self.draining = draining

    def seen_agents(self) -> Sequence[SeenAgent]:
        return self.agents

    def seen_sessions(self) -> Sequence[SeenSession]:
        return self.sessions

    def seen_connections(self) -> Sequence[SeenConnection]:
        return self.connections

    def seen_journal(self) -> SeenJournal:
        return self.journal


def _frame(**members: Any) -> bytes:
    return msgspec.json.encode({"jsonrpc": "2.0", **members})


def update(kind: str, /, *, at: float = 0.0, **members: Any) -> Entry:
    params = {"sessionId": "s", "update": {"sessionUpdate": kind, **members}}
    return Entry("to_client", _frame(method="session/update", params=params), at)


def prompt(key: str, *, at: float = 0.0) -> Entry:
    blocks = [{"type": "text", "text": "hello"}]
    params = {"sessionId": "s", "prompt": blocks, "_meta": {"dragoman": {"key": key, "by": "owner"}}}
    return Entry("to_agent", _frame(id=7, method="session/prompt", params=params), at)


def answer(*, at: float = 0.0, **result: Any) -> Entry:
    return Entry("to_client", _frame(id=7, result=result), at)


def ask(method: str = "session/request_permission", *, at: float = 0.0, **params: Any) -> Entry:
    return Entry("to_client", _frame(id=1, method=method, params={"sessionId": "s", **params}), at)


def note(kind: str, /, *, at: float = 0.0, **members: Any) -> Entry:
    return Entry("note", msgspec.json.encode({"hub": kind, **members}), at)


async def live(journal: Journal, entries: Sequence[Entry]) -> int:
    """Appended as a session does that knows where it stands."""
    info = await journal.info("s")
    return await journal.append("s", entries, after=0 if info is None else info.last)
