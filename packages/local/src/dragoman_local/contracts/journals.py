"""Contract checks for journals, ours and yours.

Give `check_journal` a function that makes an empty journal, as an `async with`. Every promise of
`dragoman_local.journal.contract` is tried on a fresh one, and the first that is broken is named in an
`AssertionError`. What happens to a journal's disk is not tried here; that is each implementation's own story.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager

from dragoman.errors import JournalClosed, JournalError, NoSuchStream, StreamMoved
from dragoman.testing.pace import deadline
from dragoman.wire.envelope import Json
from dragoman_local.journal.contract import (
    PAGE_BYTES,
    PAGE_ROWS,
    Direction,
    Entry,
    Journal,
    KeyEntries,
    StoredEntry,
)

MakeJournal = Callable[[], AbstractAsyncContextManager[Journal]]

BOUND = 20.0
"""The most seconds for one promise."""

ODD_NAMES = ("../../etc/passwd", "/etc/passwd", "a\0b", "ünïcode", "'; drop table streams; --", "x" * 5_000)


async def check_journal(make: MakeJournal) -> None:
    """Try every promise of the contract on journals from `make`; raise `AssertionError` for the first
    broken one.

        await check_journal(lambda: open_my_journal(tmp_path / "journal"))

    Each call of `make` opens an empty journal.
    """
    for promise in PROMISES:
        name = (promise.__doc__ or promise.__name__).splitlines()[0]
        tasks = asyncio.all_tasks()
        try:
            async with deadline(BOUND), make() as journal:
                await promise(journal)
        except TimeoutError:
            raise AssertionError(f"{name}: not within {BOUND:g} seconds") from None
        except AssertionError as error:
            raise AssertionError(f"{name}: {error}") from error
        assert asyncio.all_tasks() <= tasks, f"{name}: a task was left behind"


def entries(count: int, *, size: int = 10) -> list[Entry]:
    ways: tuple[Direction, ...] = ("to_agent", "to_client", "note")
    return [Entry(ways[n % 3], b"%d " % n + b"x" * size, 1_000.5 + n) for n in range(count)]


def chunk_entry(kind: str, text: str) -> Entry:
    update = {"sessionUpdate": kind, "content": {"type": "text", "text": text}}
    return Entry("to_client", _frame("session/update", {"sessionId": "s", "update": update}), 1.0)


def prompt_entry(text: str) -> Entry:
    blocks = [{"type": "text", "text": text}]
    return Entry("to_agent", _frame("session/prompt", {"sessionId": "s", "prompt": blocks}), 1.0)


def _frame(method: str, params: object) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "method": method, "params": params}).encode()


async def replay_all(journal: Journal, stream: str, **bounds: Json) -> list[StoredEntry]:
    """Return all pages in one list."""
    return [row async for page in journal.replay(stream, **bounds) for row in page]


async def _keeps(journal: Journal) -> None:
    """What was appended comes back, byte for byte, in order, with sequences from 1."""
    batch = [*entries(7), Entry("note", b"", 0.0), Entry("to_client", bytes(range(256)), 1e300)]
    assert await journal.append("a", batch[:3]) == 3, "append did not return the last sequence"
    assert await journal.append("a", batch[3:]) == 9, "append did not return the last sequence"
    rows = await replay_all(journal, "a")
    assert [row.entry for row in rows] == batch, "an entry changed"
    assert [row.sequence for row in rows] == list(range(1, 10)), "sequences are not 1, 2, 3, …"


async def _apart(journal: Journal) -> None:
    """Streams do not mix, whatever their names."""
    for number, name in enumerate(ODD_NAMES):
        await journal.append(name, [Entry("note", b"%d" % number, 1.0)])
    for number, name in enumerate(ODD_NAMES):
        frames = [row.frame for row in await replay_all(journal, name)]
        assert frames == [b"%d" % number], f"stream {name[:30]!r} holds {frames}"


async def _empty(journal: Journal) -> None:
    """Appending nothing makes the stream and changes no sequence; a stream needs a name."""
    assert await journal.append("a", []) == 0, "an empty stream does not end at 0"
    assert await replay_all(journal, "a") == [], "something is in an empty stream"
    await journal.append("a", entries(2))
    assert await journal.append("a", []) == 2, "appending nothing changed the last sequence"
    try:
        await journal.append("", entries(1))
    except JournalError:
        return
    raise AssertionError("a stream without a name was taken")


async def _pages(journal: Journal) -> None:
    """Pages are bounded in rows and bytes; `after` and `limit` choose a part."""
    await journal.append("a", entries(PAGE_ROWS * 2 + 1))
    sizes = [len(page) async for page in journal.replay("a")]
    assert sum(sizes) == PAGE_ROWS * 2 + 1, "pages do not add up"
    assert max(sizes) <= PAGE_ROWS, "a page has too many rows"
    some = [row.sequence for row in await replay_all(journal, "a", after=298, limit=600)]
    assert some == list(range(299, 899)), "after or limit were not kept"
    assert await replay_all(journal, "a", limit=0) == [], "limit 0 gave something"
    assert await replay_all(journal, "a", after=10**6) == [], "behind the end there was something"
    await journal.append("big", entries(5, size=PAGE_BYTES // 2))
    big = [len(page) async for page in journal.replay("big")]
    assert sum(big) == 5, "large entries were lost"
    assert max(big) <= 3, "a page has too many bytes"


async def _check_first_entries(journal: Journal) -> None:
    """First entries are read of many streams at once, and only of those that have one."""
    for number, name in enumerate(ODD_NAMES):
        await journal.append(name, [Entry("note", b"%d" % number, 1.0), *entries(2)])
    await journal.append("empty", [])
    first = await journal.first_entries([*ODD_NAMES, "empty", "nobody"])
    frames = {name: (entry.sequence, entry.frame) for name, entry in first.items()}
    wanted = {name: (1, b"%d" % number) for number, name in enumerate(ODD_NAMES)}
    assert frames == wanted, f"first entries are {frames}"
    assert await journal.first_entries([]) == {}, "first entries of no stream"


async def _check_missing_stream(journal: Journal) -> None:
    """A stream that is not there is said to be not there."""
    assert await journal.info("a") is None, "there is info about nothing"
    assert await journal.delete("a") is False, "nothing was deleted"
    try:
        await replay_all(journal, "a")
    except NoSuchStream:
        return
    raise AssertionError("replay did not raise NoSuchStream")


async def _fence(journal: Journal) -> None:
    """`after` refuses an append to a stream that has moved, and writes nothing then."""
    assert await journal.append("a", entries(2), after=0) == 2, "a new stream does not end at 0"
    try:
        await journal.append("a", entries(1), after=1)
    except StreamMoved:
        pass
    else:
        raise AssertionError("append did not raise StreamMoved")
    try:
        await journal.append("b", entries(1), after=1)
    except StreamMoved:
        assert await journal.info("b") is None, "a refused append made the stream"
    assert len(await replay_all(journal, "a")) == 2, "a refused append was written"
    assert await journal.append("a", entries(1), after=2) == 3, "an append at the end was refused"


async def _together(journal: Journal) -> None:
    """Appends at the same time all arrive whole, each writer's in its order."""

    async def write(name: str) -> None:
        for n in range(20):
            batch = [Entry("note", f"{name} {n} {part}".encode(), 1.0) for part in range(3)]
            await journal.append("shared", batch)

    await asyncio.gather(*(write(f"w{n}") for n in range(10)))
    frames = [row.frame.decode().split() for row in await replay_all(journal, "shared")]
    assert len(frames) == 600, f"{len(frames)} entries of 600 arrived"
    assert all([frame[2] for frame in frames[at : at + 3]] == ["0", "1", "2"] for at in range(0, 600, 3)), (
        "an append was torn apart"
    )
    for writer in range(10):
        order = [int(n) for name, n, _ in frames if name == f"w{writer}"]
        assert order == sorted(order), "the order of one writer was not kept"


async def _in_order(journal: Journal) -> None:
    """Appends that are begun in order are stored in that order, waited for or not."""
    appends = [asyncio.ensure_future(journal.append("a", entries(1))) for _ in range(50)]
    assert await asyncio.gather(*appends) == list(range(1, 51)), "appends overtook each other"


async def _cancels(journal: Journal) -> None:
    """An append that nobody waits for any more is carried out, or was never begun; the rest goes on."""
    task = asyncio.ensure_future(journal.append("a", entries(3)))
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.wait([task])
    last = await journal.append("a", entries(1))
    assert last in (1, 4), f"the stream ends at {last}"
    assert len(await replay_all(journal, "a")) == last, "entries and sequences do not agree"


async def _describes(journal: Journal) -> None:
    """A description changes in what is given, and nothing else does."""
    before = await journal.describe("a", agent="echo", title="first")
    assert (before.stream, before.agent, before.title, before.cwd) == ("a", "echo", "first", ""), (
        "not as described"
    )
    await journal.append("a", entries(4))
    after = await journal.describe("a", title="second", state="end_turn", session="s1", cwd="/home")
    assert (after.agent, after.title, after.last) == ("echo", "second", 4), "something else changed"
    assert await journal.info("a") == after, "info tells something else"
    assert after.created == before.created, "the time of creation changed"
    assert after.updated >= before.updated, "time went backwards"


async def _lists(journal: Journal) -> None:
    """Streams are listed once each, the latest change first, in pages by cursor, and by what they are."""
    for n in range(25):
        await journal.describe(f"s{n}", agent="odd" if n % 2 else "even", cwd=f"/{n % 3}")
    names, cursor = [], None
    while True:
        listing = await journal.list(limit=7, cursor=cursor)
        assert len(listing.streams) <= 7, "a page is too long"
        names += [info.stream for info in listing.streams]
        cursor = listing.cursor
        if cursor is None:
            break
    assert sorted(names) == sorted(f"s{n}" for n in range(25)), "some are missing, or there twice"
    matches = (await journal.list(agent="odd", cwd="/1", limit=100)).streams
    assert {info.stream for info in matches} == {f"s{n}" for n in range(25) if n % 2 and n % 3 == 1}, "filter"
    await journal.append("s4", entries(1))
    await journal.append("s3", entries(1))
    assert (await journal.list(limit=1)).streams[0].stream == "s3", "the latest change is not first"
    await journal.append("s4", [Entry("note", b'{"hub":"released"}', 1.0)])
    assert (await journal.list(limit=1)).streams[0].stream == "s3", "a hub's own note moved a stream"
    try:
        await journal.list(cursor="nonsense")
    except JournalError:
        return
    raise AssertionError("a cursor that is none was taken")


async def _searches(journal: Journal) -> None:
    """Words are found in what was said, also when chunks cut them; from their beginning, without case."""
    chunks = [
        chunk_entry("agent_message_chunk", text) for text in ("The quick br", "own fox jumps over ", "Zürich")
    ]
    await journal.append("a", [prompt_entry("Please sing"), *chunks])
    await journal.append("b", [chunk_entry("agent_thought_chunk", "lazy dogs; 世界你好")])
    await journal.describe("a", title="A song")

    async def streams(text: str, **bounds: Json) -> list[tuple[str, int]]:
        return [(hit.stream, hit.sequence) for hit in await journal.search(text, **bounds)]

    assert await streams("brown") == [("a", 2)], "a word that two chunks share was not found"
    assert await streams("FOX qui") == [("a", 2)], "all words, in any case and order"
    assert await streams("zurich") == [("a", 2)], "an accent makes a difference"
    assert await streams("sing") == [("a", 1)], "a prompt was not found"
    assert await streams("fox dogs") == [], "words of two passages were taken for one"
    assert await streams("你好") == [("b", 1)], "a script without spaces is not searched"
    for odd in ("", '"', "AND", "fox OR dogs", "a*b", "(", "text:fox", "-", "\0"):
        await journal.search(odd)  # a query is words, and never an error
    (hit,) = await journal.search("brown")
    assert "quick brown fox" in hit.excerpt, "the excerpt does not show the words"
    assert (hit.kind, hit.title) == ("message", "A song"), "who spoke, and where"
    await journal.append("a", [chunk_entry("agent_message_chunk", " today")])
    assert await streams("zurich today") == [("a", 2)], "a passage that went on was not found again"
    assert await streams("lazy", stream="a") == [], "found in another stream"


async def _deletes(journal: Journal) -> None:
    """A deleted stream is gone from everywhere, and a new one of its name begins anew."""
    for name in ("a", "b"):
        await journal.append(name, [chunk_entry("agent_message_chunk", "unforgettable")])
    assert len(await journal.search("unforgettable")) == 2, "not found before"
    assert await journal.delete("a") is True, "it was there"
    assert await journal.info("a") is None, "there is still info"
    assert [info.stream for info in (await journal.list()).streams] == ["b"], "it is still listed"
    assert [hit.stream for hit in await journal.search("unforgettable")] == ["b"], "it is still found"
    assert await journal.append("a", entries(1)) == 1, "a new stream does not begin at 1"
    assert len(await replay_all(journal, "a")) == 1, "old entries are still there"


async def _originals(journal: Journal) -> None:
    """A pending frame is given whole until it is dropped, whatever the stream holds of it."""
    secret = "sk-" + "a1B2" * 8
    request = _frame("fs/write_text_file", {"content": f"key {secret}", "apiKey": "pass" + "word"})
    marked_frame = _frame("session/prompt", {"prompt": "what does [redacted] mean?"})
    large = _frame("session/prompt", {"prompt": f"{secret} " * 30_000})
    plain = _frame("session/prompt", {"prompt": "nothing to hide"})
    frames = [request, marked_frame, plain, large]
    await journal.append("a", [Entry("to_client", frame, 10.0 + n, n != 2) for n, frame in enumerate(frames)])
    await journal.append("b", [Entry("note", request, 20.0, True), Entry("note", request, 21.0)])

    async def whole(stream: str) -> list[bytes]:
        originals = await journal.originals(stream)
        return [originals.get(row.sequence, row.frame) for row in await replay_all(journal, stream)]

    assert await whole("a") == frames, "what is pending is not what was said"
    originals = await journal.originals("a")
    assert 2 in originals, "a frame that held the mark of redaction before has no original"
    assert 3 not in originals, "a frame that redaction leaves alone has an original"
    assert 2 not in await journal.originals("b"), "an entry that is not pending has an original"
    await journal.drop_originals("a", [1, 3, 77])
    assert set(await journal.originals("a")) == set(originals) - {1}, (
        "others than asked for were dropped, or none"
    )
    await journal.drop_originals_before(12.0)
    assert set(await journal.originals("a")) == set(originals) - {1, 2}, (
        "those before a time were not dropped"
    )
    assert await journal.drop_originals_before(12.0) == 0, "there was nothing left to drop"
    assert await journal.originals("nobody") == {}, "there are originals of nothing"
    await journal.drop_originals("nobody", [1])
    await journal.delete("b")
    await journal.append("b", entries(2))
    assert await journal.originals("b") == {}, "originals of a deleted stream are still there"


async def _closes(journal: Journal) -> None:
    """Closing waits for what was asked, may be done twice, and ends everything."""
    pending_append = asyncio.ensure_future(journal.append("a", entries(3)))
    await asyncio.sleep(0)
    await journal.aclose()
    await journal.aclose()
    assert await pending_append == 3, "an append that was begun was not finished"
    attempts: tuple[Callable[[], Awaitable[Json]], ...] = (
        lambda: journal.append("a", entries(1)),
        lambda: replay_all(journal, "a"),
        lambda: journal.info("a"),
        lambda: journal.describe("a", title="x"),
        lambda: journal.list(),
        lambda: journal.search("x"),
        lambda: journal.find_key("a", "k"),
        lambda: journal.find_stream_by_key("k"),
        lambda: journal.delete("a"),
        lambda: journal.originals("a"),
        lambda: journal.drop_originals("a", [1]),
        lambda: journal.drop_originals_before(1.0),
    )
    for attempt in attempts:
        try:
            await attempt()
        except JournalClosed:
            continue
        raise AssertionError("something was possible after closing")


def hub_note(kind: str, key: str, **members: object) -> Entry:
    """Return an entry with an idempotency key, as a hub writes it."""
    frame = json.dumps({"hub": kind, "key": key, **members}, separators=(",", ":")).encode()
    return Entry("note", frame, 1.0)


def keyed_turn(key: str) -> list[Entry]:
    """Return four entries: the prompt and the answer, which have the key, and two entries between them."""
    return [
        hub_note("taken", key, params={"prompt": []}),
        prompt_entry("a question"),
        chunk_entry("agent_message_chunk", "an answer"),
        hub_note("turn_ended", key, result={"stopReason": "end_turn"}),
    ]


async def _finds_keys(journal: Journal) -> None:
    """A key is found in its stream and in no other, whatever came behind it, and the first entry counts."""
    assert await journal.find_key("a", "k0") is None, "a key was found in a stream that is not there"
    for block in range(4):
        turns = [keyed_turn(f"k{block * 50 + number}") for number in range(50)]
        await journal.append("a", [entry for turn in turns for entry in turn])
    await journal.append("b", [*entries(2), hub_note("queued", "k0")])
    for number in (0, 77, 199):
        key_entries = await journal.find_key("a", f"k{number}")
        assert key_entries == KeyEntries(prompt=number * 4 + 1, answer=number * 4 + 4), (
            f"k{number} is at {key_entries}"
        )
    assert await journal.find_key("a", "k200") is None, "a key was found that nobody gave"
    assert await journal.find_key("b", "k0") == KeyEntries(prompt=3), "keys of two streams were mixed up"
    await journal.append("a", keyed_turn("k0"))
    assert await journal.find_key("a", "k0") == KeyEntries(prompt=1, answer=4), "a later entry counted"
    await journal.append("b", [hub_note("turn_ended", "k0")])
    assert await journal.find_key("b", "k0") == KeyEntries(prompt=3, answer=4), "an answer was not found"


async def _finds_made(journal: Journal) -> None:
    """The stream that was made under a key is found among all streams, and only by that key."""
    assert await journal.find_stream_by_key("m") is None, "a stream was found that is not there"
    await journal.append("a", [hub_note("made", "m"), *keyed_turn("k")])
    await journal.append("b", [hub_note("made", ""), *entries(3), hub_note("forked", "f")])
    assert await journal.find_stream_by_key("m") == "a", "the stream was not found"
    assert await journal.find_stream_by_key("f") == "b", "the stream of a fork was not found"
    assert await journal.find_stream_by_key("k") is None, "the key of a prompt was taken for that of a stream"
    assert await journal.find_stream_by_key("") is None, "a stream without a key was found"
    assert await journal.find_key("a", "m") == KeyEntries(made=1), "the entry was not found"


async def _forgets_keys(journal: Journal) -> None:
    """The keys of a stream go with it; a stream of the same name later has none of them."""
    await journal.append("a", [hub_note("made", "m"), *keyed_turn("k")])
    await journal.append("b", keyed_turn("k"))
    await journal.delete("a")
    assert await journal.find_key("a", "k") is None, "a deleted stream has keys"
    assert await journal.find_stream_by_key("m") is None, "a deleted stream was found"
    await journal.append("a", [*entries(5), *keyed_turn("new")])
    assert await journal.find_key("a", "k") is None, "a new stream has keys of an old one"
    assert await journal.find_key("a", "new") == KeyEntries(prompt=6, answer=9), "a key was lost"
    assert await journal.find_key("b", "k") == KeyEntries(prompt=1, answer=4), "another stream lost its key"


async def _keys_at_once(journal: Journal) -> None:
    """Keys of appends that come together are all found, as soon as their append has returned."""

    async def append(stream: str, key: str) -> None:
        last = await journal.append(stream, keyed_turn(key))
        key_entries = await journal.find_key(stream, key)
        assert key_entries == KeyEntries(prompt=last - 3, answer=last), (
            f"{key} of {stream} is at {key_entries}"
        )

    streams, keys = ("a", "b", "c"), [f"k{number}" for number in range(8)]
    await asyncio.gather(*(append(stream, key) for key in keys for stream in streams))


PROMISES: tuple[Callable[[Journal], Awaitable[None]], ...] = (
    _keeps,
    _apart,
    _empty,
    _pages,
    _check_first_entries,
    _check_missing_stream,
    _fence,
    _together,
    _in_order,
    _cancels,
    _describes,
    _lists,
    _searches,
    _deletes,
    _originals,
    _finds_keys,
    _finds_made,
    _forgets_keys,
    _keys_at_once,
    _closes,
)
