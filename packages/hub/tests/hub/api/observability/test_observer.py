"""A hub's journal, watched."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from dragoman.errors import JournalError
from dragoman_hub.api.observability.observer import REASONS, Observer
from dragoman_hub.api.observability.status import SeenAgent
from dragoman_local.contracts import check_journal
from dragoman_local.journal import Entry, Journal, MemoryJournal
from tests.hub.api.observability.fakes import ShownHub, answer, ask, live, note, prompt, update
from tests.hub.api.observability.strict import Read, parse


async def read(observer: Observer) -> dict[str, Read]:
    return parse(await observer.metrics(ShownHub()))


async def test_a_turn_is_counted_from_what_is_stored() -> None:
    observer = Observer()
    journal = observer.measure(MemoryJournal())
    await live(journal, [note("made", agent="review"), prompt("k", at=10.0)])
    await live(
        journal,
        [
            update("agent_message_chunk", content={"type": "text", "text": "hi"}),
            ask(at=11.0, toolCall={"toolCallId": "c"}),
            ask("fs/read_text_file", path="/x"),
            note("settled", request="5", outcome="answered"),
            note("settled", request="4", outcome="answered", at=15.0),
            answer(stopReason="end_turn", usage={"totalTokens": 3, "inputTokens": 1, "outputTokens": 2}),
            note("turn_ended", key="k", result={"stopReason": "end_turn"}, at=20.0),
        ],
    )
    told = await read(observer)
    assert told["dragoman_turns_total"].value(agent="review", stop_reason="end_turn") == 1
    assert told["dragoman_turn_seconds"].samples["dragoman_turn_seconds_sum", ()] == 10
    assert told["dragoman_approvals_settled_total"].value(outcome="answered") == 1
    assert told["dragoman_approval_wait_seconds"].samples["dragoman_approval_wait_seconds_sum", ()] == 4
    assert told["dragoman_frames_total"].value(direction="to_agent") == 1
    assert told["dragoman_frames_total"].value(direction="to_client") == 4
    assert told["dragoman_frame_bytes_total"].value(direction="to_agent") == len(prompt("k").frame)
    assert told["dragoman_journal_entries_total"].value() == 9
    assert told["dragoman_journal_append_seconds"].samples["dragoman_journal_append_seconds_count", ()] == 2
    assert observer.spending.of_agent("review").tokens.total == 3


async def test_a_session_from_before_is_its_agents_all_the_same() -> None:
    observer = Observer(agent_of={"s": "code"}.__getitem__)
    journal = observer.measure(MemoryJournal())
    await live(journal, [note("turn_ended", key="k", error={"code": 1, "message": "no"})])
    told = await read(observer)
    assert told["dragoman_turns_total"].value(agent="code", stop_reason="error") == 1


async def test_what_is_copied_from_elsewhere_happens_not_again() -> None:
    observer = Observer()
    journal = observer.measure(MemoryJournal())
    copied = [note("made", agent="a"), prompt("k"), note("turn_ended", key="k", result={})]
    await journal.append("s", copied)
    told = await read(observer)
    assert told["dragoman_turns_total"].samples == {}
    assert told["dragoman_frames_total"].value(direction="to_agent") == 0
    assert told["dragoman_journal_entries_total"].value() == 3


async def test_what_is_read_back_is_counted_too() -> None:
    observer = Observer()
    journal = observer.measure(MemoryJournal())
    await live(journal, [prompt(str(n)) for n in range(700)])
    assert sum([len(page) async for page in journal.replay("s", after=100)]) == 600
    told = await read(observer)
    assert (told["dragoman_replays_total"].value(), told["dragoman_replayed_entries_total"].value()) == (
        1,
        600,
    )


async def test_what_a_session_cost_before_we_watched_is_not_spent_again() -> None:
    def costs(amount: float) -> Entry:
        return update("usage_update", used=1, size=2, cost={"amount": amount, "currency": "USD"})

    inner = MemoryJournal()
    await live(inner, [note("made", agent="a"), costs(1.0), costs(4.0), prompt("k")])
    observer = Observer(agent_of=lambda session: "a")
    journal = observer.measure(inner)
    assert [len(page) async for page in journal.replay("s")] == [4]  # as a hub does that opens it
    await live(journal, [costs(4.5)])
    assert [len(page) async for page in journal.replay("s")] == [5]
    await live(journal, [costs(5.0)])
    assert observer.spending.of_agent("a").costs == {"USD": 1.0}
    assert observer.spending.of_session("s").costs == {"USD": 5.0}


async def test_an_append_that_is_refused_is_counted_and_refused() -> None:
    observer = Observer()
    journal = observer.measure(MemoryJournal())
    with pytest.raises(JournalError):
        await journal.append("s", [prompt("k")], after=7)
    told = await read(observer)
    assert told["dragoman_journal_append_failures_total"].value() == 1
    assert told["dragoman_journal_entries_total"].value() == 0


async def test_a_mistake_in_counting_is_not_the_journals(caplog: pytest.LogCaptureFixture) -> None:
    def unknown(session: str) -> str:
        raise KeyError(session)

    observer = Observer(agent_of=unknown)
    journal = observer.measure(MemoryJournal())
    assert await live(journal, [note("turn_ended", key="k", result={})]) == 1
    assert "could not be counted" in caplog.text


async def test_who_was_turned_away_is_counted_by_reason() -> None:
    observer = Observer()
    for reason in ("scope", "token", 401, 429, 599):
        observer.on_refused(reason)
    told = (await read(observer))["dragoman_admissions_refused_total"]
    counts = {dict(labels)["reason"]: count for (_, labels), count in told.samples.items()}
    assert counts == {"scope": 1, "token": 2, "rate": 1, "other": 1}
    assert counts.keys() <= REASONS


async def test_what_only_a_turn_needs_is_not_kept_for_thousands_of_idle_sessions() -> None:
    observer = Observer()
    journal = observer.measure(MemoryJournal())
    await live(journal, [note("made", agent="a"), prompt("k")])
    await live(journal, [update("agent_message_chunk", content={"type": "text", "text": "hi"})])
    assert observer._chunks
    await live(journal, [note("turn_ended", key="k", result={"stopReason": "end_turn"})])
    assert not observer._chunks
    assert not observer._turns


async def test_a_session_that_is_closed_is_forgotten() -> None:
    observer = Observer()
    journal = observer.measure(MemoryJournal())
    await live(journal, [note("made", agent="a"), ask(), prompt("k")])
    await live(journal, [update("usage_update", used=1, size=2, cost={"amount": 1, "currency": "USD"})])
    observer.forget("s")
    await live(journal, [note("settled", request="2", outcome="answered")])
    assert (await read(observer))["dragoman_approvals_settled_total"].samples == {}
    assert observer.spending.of_session("s").costs == {}
    assert observer.spending.of_agent("a").costs == {"USD": 1.0}


@pytest.mark.skipif(not os.path.exists("/proc/self/stat"), reason="there is no /proc on this system")
async def test_processes_are_looked_at_when_somebody_asks_and_not_more_often_than_needed() -> None:
    now = 0.0
    observer = Observer(clock=lambda: now)
    hub = ShownHub(agents=[SeenAgent(name="us", state="up", pid=os.getpid())])
    first = await observer.status(hub)
    assert first.agents[0].rss
    assert first.hub.processes == 1
    hub.agents = [SeenAgent(name="other", state="up", pid=os.getpid())]
    assert (await observer.status(hub)).agents[0].rss is None
    now = 5.0
    both = await asyncio.gather(observer.status(hub), observer.status(hub))
    assert all(status.agents[0].rss for status in both)


@pytest.mark.bound(20)
async def test_a_watched_journal_keeps_every_promise() -> None:
    @asynccontextmanager
    async def make() -> AsyncIterator[Journal]:
        async with MemoryJournal() as inner:
            yield Observer().measure(inner)

    await check_journal(make)
