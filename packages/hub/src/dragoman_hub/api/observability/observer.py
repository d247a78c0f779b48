"""Observes a hub: counts the stored entries, and reports its status.

    observer = Observer()
    journal = observer.measured(journal)          # turns, questions, frames, costs: all from what is stored
    meta = observer.prompt(...)                   # for traces, before a prompt is stored and given away
    observer.refused("rate")                      # nobody stores who was turned away
    seen = observer.see(hub, url=url, journal=path)
    await observer.status(seen), await observer.metrics(seen)

It looks on: whatever goes wrong here is logged and has no effect on what it watches.
"""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from functools import partial
from sys import intern
from typing import Any, TypeVar, cast

from msgspec import Struct

from dragoman.errors import JournalError
from dragoman_hub.api.observability.digest import (
    QuestionEntry,
    SessionMadeEntry,
    SettledEntry,
    StreamEvent,
    ToolCallEntry,
    TurnEndEntry,
    TurnStartEntry,
    chunk_starts,
    is_dull,
    read_entry,
)
from dragoman_hub.api.observability.hub_meters import HubMeters
from dragoman_hub.api.observability.hub_snapshot import HubSnapshot
from dragoman_hub.api.observability.processes import Root, TreeUse, trees_use
from dragoman_hub.api.observability.spans import NoSpans, TurnSpans
from dragoman_hub.api.observability.status import Measured, Status, StatusSource, status_of
from dragoman_hub.api.observability.usage import AgentUsage, Tokens, UsageTotals, usage_of
from dragoman_hub.clients.client import ClientHub
from dragoman_hub.session.frames import all_begin
from dragoman_hub.session.notes import HEARD
from dragoman_local.journal import (
    Entry,
    Journal,
    Page,
    StoredEntry,
)
from dragoman_local.journal.entry_runs import (
    EntryBatch,
    FrameRun,
    OnAppended,
    RunPage,
    queue_of,
    runs_of_entries,
    size_of,
    text_of,
)

log = logging.getLogger(__name__)

LOOK_SECONDS = 1.0
"""The longest age of process data in seconds: simultaneous callers share it."""

_BY_STATUS = {
    400: "request",
    401: "token",
    403: "origin",
    404: "path",
    421: "host",
    429: "rate",
    503: "connections",
}
REASONS = frozenset(_BY_STATUS.values()) | {"scope", "draining", "other"}


_COST = b'"usage_update"'

MOST_KEPT = 20_000
"""The most sessions, turns and questions to remember, in case their end is never reported."""

K = TypeVar("K")
V = TypeVar("V")


def _keep_latest(table: dict[K, V], key: K, value: V) -> None:
    """Put it in, and let the oldest go if there is too much."""
    table[key] = value
    if len(table) > MOST_KEPT:
        del table[next(iter(table))]


class _ObservedTurn(Struct):
    key: str
    start: float
    tokens: Tokens | None = None


class Observer:
    """The observer of one hub. `agent_of` returns the agent of a session that is older than the observer."""

    def __init__(
        self,
        *,
        agent_of: Callable[[str], str] = lambda session: "",
        spans: TurnSpans | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.meters = HubMeters()
        self.spending = UsageTotals()
        self.spans: TurnSpans = spans or NoSpans()
        self._tools = not isinstance(self.spans, NoSpans)
        self.agent_of = agent_of
        self._agents: dict[str, str] = {}  # of sessions that are in a turn
        self._turns: dict[str, _ObservedTurn] = {}
        self._chunks: dict[str, tuple[bytes, ...]] = {}  # how those begin, of sessions that are in a turn
        self._question_times: dict[tuple[str, str], float] = {}  # when; until it is settled
        self._clock = clock
        self._uses: dict[str, TreeUse | None] = {}
        self._look_time: float | None = None
        self._looking = asyncio.Lock()
        frames, sizes = self.meters.frames, self.meters.frame_bytes
        self._frames = {way: frames.of(way) for way in ("to_agent", "to_client")}
        self._bytes = {way: sizes.of(way) for way in ("to_agent", "to_client")}

    # What the hub says.

    def measure(self, journal: Journal) -> Journal:
        """Return the same journal with measurement."""
        return cast("Journal", MeasuredJournal(journal, self))

    def see(self, hub: ClientHub, *, url: str, journal: str) -> HubSnapshot:
        """Set the hub to observe."""
        snapshot = HubSnapshot(hub, url=url, journal=journal, meters=self.meters)
        self.agent_of = snapshot.agent_of
        return snapshot

    def prompt(
        self, session: str, key: str, meta: Mapping[str, object] | None, agent: str
    ) -> Mapping[str, Any] | None:
        """Return the `_meta` for a prompt in the journal and for the agent: unchanged, unless there are
        traces.
        """
        return self.spans.turn_started(session, key, meta, agent=agent)

    def on_refused(self, reason: str | int) -> None:
        """Count a refused request, with one of `REASONS` or its status."""
        self.meters.refusals.of(_BY_STATUS.get(reason, "other") if isinstance(reason, int) else reason).add()

    def forget(self, session: str) -> None:
        """Forget a deleted session. An unused one is forgotten automatically, later."""
        self.spending.forget(session)
        self._agents.pop(session, None)
        self._chunks.pop(session, None)
        self._turns.pop(session, None)
        for key in [key for key in self._question_times if key[0] == session]:
            del self._question_times[key]

    async def aclose(self) -> None:
        await self.spans.aclose()

    # What the journal says.

    def on_stored(
        self, stream: str, last: int, entries: Sequence[Entry], seconds: float, *, live: bool = True
    ) -> None:
        self.meters.entries.add(len(entries))
        self.meters.appends.observe(seconds)
        if not live:
            return
        try:
            sequence = last - len(entries) + 1
            for run in runs_of_entries(entries).runs:
                self._saw(stream, sequence, run)
                sequence += len(run.frames)
        except Exception:  # what is stored is stored: an error here must not look like one of the journal
            log.exception("the stored entries could not be counted")

    def on_failure(self, error: JournalError) -> None:
        self.meters.append_failures.add()

    def replaying(self, stream: str, after: int) -> Callable[[Page], None]:
        self.meters.replays.add()
        if after or self.spending.knows(stream):
            return self._on_replay
        # A session that is opened for the first time since we watch: what it has cost was spent before.
        self.spending.remember(stream)
        return partial(self._learn, stream)

    def _on_replay(self, page: Page) -> None:
        self.meters.replayed_entries.add(len(page))

    def _learn(self, stream: str, page: Page) -> None:
        self._on_replay(page)
        if type(page) is RunPage and not any(b'"usage_update"' in text_of(run.frames) for run in page.runs):
            return
        for entry in page:
            if entry.direction == "to_client" and _COST in entry.frame:
                usage = usage_of(entry.frame)
                if usage is not None and usage.cost is not None:
                    self.spending.remember(stream, usage.cost)

    def _saw(self, stream: str, first: int, run: FrameRun) -> None:
        """Frames that follow each other were stored, the first of them at `first`."""
        direction, frames, time, _ = run
        if direction == "note" and len(frames) == 1 and frames[0].startswith(HEARD):
            return
        if direction in self._frames:
            self._frames[direction].add(len(frames))
            self._bytes[direction].add(size_of(frames))
        tools, chunks = self._tools, self._chunks_of(stream) if direction == "to_client" else ()
        if chunks and all_begin(frames, *chunks):
            return
        for sequence, frame in enumerate(frames, first):
            if frame.startswith(chunks) or (direction == "to_client" and is_dull(frame, tools=tools)):
                continue
            event = read_entry(StoredEntry(sequence, direction, frame, time))
            if event is not None:
                self._take(stream, event, time)

    def _chunks_of(self, stream: str) -> tuple[bytes, ...]:
        chunks = self._chunks.get(stream)
        if chunks is None:
            chunks = chunk_starts(stream)
            _keep_latest(self._chunks, stream, chunks)
        return chunks

    def _take(self, session: str, event: StreamEvent, at: float) -> None:
        match event:
            case SessionMadeEntry():
                _keep_latest(self._agents, session, intern(event.agent))
            case TurnStartEntry():
                _keep_latest(self._turns, session, _ObservedTurn(event.key, at))
                self.spans.turn_began(session, event.key)
            case TurnEndEntry():
                self._on_turn_end(session, event, at)
            case QuestionEntry():
                _keep_latest(self._question_times, (session, event.request), at)
                self.spans.question_asked(session, event.request, method=event.method, call=event.call)
            case SettledEntry():
                self._on_settled(session, event, at)
            case ToolCallEntry():
                self.spans.tool(session, event)
            case AgentUsage():
                self._spent(session, event)

    def _on_turn_end(self, session: str, entry: TurnEndEntry, at: float) -> None:
        self._chunks.pop(session, None)
        turn = self._turns.get(session)
        mine = turn is not None and turn.key == entry.key
        self.meters.turns.of(self._agent(session), entry.how).add()
        tokens = None
        if turn is not None and mine:
            del self._turns[session]
            self.meters.turn_seconds.observe(max(at - turn.start, 0.0))
            tokens = turn.tokens
        self.spans.turn_ended(session, entry.key, entry.how, tokens=tokens)

    def _on_settled(self, session: str, entry: SettledEntry, at: float) -> None:
        since = self._question_times.pop((session, entry.request), None)
        if since is None:
            return  # a file or a terminal, or something from before we watched
        self.meters.settlements.of(entry.outcome).add()
        self.meters.waits.observe(max(at - since, 0.0))
        self.spans.question_settled(session, entry.request, entry.outcome)

    def _spent(self, session: str, usage: AgentUsage) -> None:
        turn = self._turns.get(session)
        if turn is not None and usage.tokens is not None:
            turn.tokens = usage.tokens
        self.spending.saw(self._agent(session), session, usage)

    def _agent(self, session: str) -> str:
        name = self._agents.get(session)
        if name is None:
            name = self.agent_of(session)
            _keep_latest(self._agents, session, name)
        return name

    # What somebody asks.

    async def status(self, hub: StatusSource) -> Status:
        """Return the status of the hub; reads its processes at most once a second."""
        uses = await self._look(hub)
        entries = int(self.meters.entries.value)
        measured = Measured(uses, self.spending, self.meters.appends, entries)
        return status_of(hub, measured, pid=os.getpid())

    async def metrics(self, hub: StatusSource) -> bytes:
        return self.meters.text(await self.status(hub))

    async def _look(self, hub: StatusSource) -> dict[str, TreeUse | None]:
        async with self._looking:
            now = self._clock()
            if self._look_time is None or now - self._look_time >= LOOK_SECONDS:
                roots = {agent.name: Root(agent.pid) for agent in hub.seen_agents() if agent.pid is not None}
                roots[""] = Root(os.getpid(), alone=True)
                # In a thread: a machine with thousands of processes would hold the loop up.
                self._uses = await asyncio.to_thread(trees_use, roots)
                self._look_time = self._clock()
        return self._uses


# A journal that measures its use: appended bytes, the time of each append, and reads.
#
# It keeps every promise of the journal behind it, because it changes nothing.


class MeasuredJournal:
    """Wraps `inner`, which others may use as well."""

    def __init__(self, inner: Journal, watcher: Observer) -> None:
        self.inner = inner
        self._queue = queue_of(inner)
        self._watcher = watcher

    async def append(self, stream: str, entries: Sequence[Entry], *, after: int | None = None) -> int:
        start = time.perf_counter()
        try:
            last = await self.inner.append(stream, entries, after=after)
        except JournalError as error:
            self._watcher.on_failure(error)
            raise
        # A session that lives knows where its stream ends; who does not copies what happened elsewhere.
        self._watcher.on_stored(stream, last, entries, time.perf_counter() - start, live=after is not None)
        return last

    def try_queue_append(self, stream: str, batch: EntryBatch, *, after: int, on_done: OnAppended) -> bool:
        if self._queue is None:
            return False
        start = time.perf_counter()

        def on_result(last: int, error: BaseException | None) -> None:
            if error is None:
                self._watcher.on_stored(stream, last, batch, time.perf_counter() - start, live=True)
            elif isinstance(error, JournalError):
                self._watcher.on_failure(error)
            on_done(last, error)

        return self._queue(stream, batch, after=after, on_done=on_result)

    async def replay(self, stream: str, *, after: int = 0, limit: int | None = None) -> AsyncIterator[Page]:
        read = self._watcher.replaying(stream, after)
        async for page in self.inner.replay(stream, after=after, limit=limit):
            read(page)
            yield page

    def __getattr__(self, name: str) -> Any:
        """Everything else is the inner journal's."""
        return getattr(self.inner, name)
