"""The interface of every journal: append, replay, list, search and delete streams of frames.

- `append` returns when its entries are as safe as the journal's durability says, all of them or none. The
  sequences of a stream begin at 1 and have no gaps; appends to one stream keep the order of the calls.
- `replay` gives what was appended, byte for byte, in pages; what is damaged is never served as if it were
  true.
- An append that nobody waits for any more is carried out all the same.
- An append changes the time by which streams are listed, unless all that it holds is housekeeping of a hub
  (`entry_runs.is_housekeeping`): a list is sorted by what people and agents did.
- Entries that have an idempotency key (see `idempotency`) are found by it as long as their stream exists,
  whatever its length, from the moment in which `append` returns.
- A journal may redact what it stores. Of an entry that is `pending` it keeps the original as well, apart from
  the stream, until that is dropped: `replay`, `search` and all that is made of them never see originals.

A stream is one recorded conversation. Its name is the caller's choice and only a name: nothing opens a file
by it. The journal knows bytes; what they mean matters to search alone, and only as a reader would skim them.
`dragoman_local.contracts.check_journal` holds an implementation to this page.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from typing import Literal, Protocol, TypeAlias

from msgspec import Struct

from dragoman.errors import JournalError

Direction: TypeAlias = Literal["to_agent", "to_client", "note"]
"""Where a frame was going; a note was said by nobody on the wire, such as a line of standard error."""

Durability: TypeAlias = Literal["full", "normal", "off"]
"""`full` survives the loss of power, `normal` the death of the process, `off` is for what may be lost."""

PAGE_ROWS = 2000
PAGE_BYTES = 1024 * 1024
"""A page ends with the entry that reaches either bound, so that a reader's memory is bounded."""


class Entry(Struct, frozen=True, gc=False):
    """One frame, without its newline, and the time when it passed, in seconds since 1970."""

    direction: Direction
    frame: bytes
    time: float
    pending: bool = False
    """Whether somebody still has to act upon it, and needs it as it was said."""


class StoredEntry(Struct, frozen=True, gc=False):
    """An entry and its place in the stream."""

    sequence: int
    direction: Direction
    frame: bytes
    time: float

    @property
    def entry(self) -> Entry:
        return Entry(self.direction, self.frame, self.time)


class StreamInfo(Struct, frozen=True, kw_only=True):
    """The description of a stream. The caller sets the texts; an empty one is not known."""

    stream: str
    agent: str = ""
    cwd: str = ""
    title: str = ""
    state: str = ""
    """How it stands, in a word of the caller's, such as `running` or `end_turn`."""
    session: str = ""
    """The id by which the agent knows the session; it need not be unique among agents."""
    created: float = 0.0
    updated: float = 0.0
    last: int = 0
    """The sequence of the last entry; 0 if there is none."""


class StreamListing(Struct, frozen=True, kw_only=True):
    """One page of streams, the latest first, and the cursor of the next page if there is one."""

    streams: Sequence[StreamInfo]
    cursor: str | None = None


class SearchHit(Struct, frozen=True, kw_only=True):
    """A passage with all words of the search. `excerpt` shows them in context."""

    stream: str
    sequence: int
    """Of the entry with which the passage begins."""
    kind: str
    """Who speaks: `prompt`, `message`, `thought`, `tool`, `plan`."""
    excerpt: str
    title: str = ""


class KeyEntries(Struct, frozen=True, kw_only=True, gc=False):
    """The entries of one stream with a certain idempotency key, by sequence; 0 where there is none."""

    prompt: int = 0
    """The prompt was accepted."""
    answer: int = 0
    """Its turn has ended, or it was withdrawn: this entry holds its answer."""
    made: int = 0
    """The stream was made under this key."""


Page: TypeAlias = Sequence[StoredEntry]


class Journal(Protocol):
    """Streams of frames. Every method raises `JournalClosed` after `aclose`."""

    async def append(self, stream: str, entries: Sequence[Entry], *, after: int | None = None) -> int:
        """Store the entries behind what is there; returns the sequence of the last one. Makes the stream.

        With `after`, only if the stream still ends there: else `StreamMoved`, and nothing is written.
        """

    def replay(self, stream: str, *, after: int = 0, limit: int | None = None) -> AsyncIterator[Page]:
        """The entries behind sequence `after`, at most `limit`, in pages. What is appended meanwhile is
        included. Raises `NoSuchStream`, and `JournalDamaged` behind the last good entry.
        """

    async def first_entries(self, names: Sequence[str]) -> Mapping[str, StoredEntry]:
        """The first entry of each of the streams with these names. One that does not exist, is empty
        or begins with damage is left out.
        """

    async def info(self, stream: str) -> StreamInfo | None:
        """The known facts about a stream; None if there is no such stream."""

    async def describe(
        self,
        stream: str,
        *,
        agent: str | None = None,
        cwd: str | None = None,
        title: str | None = None,
        state: str | None = None,
        session: str | None = None,
    ) -> StreamInfo:
        """Change the fields that are given and leave the rest. Makes the stream."""

    async def list(
        self,
        *,
        cursor: str | None = None,
        limit: int = 50,
        agent: str | None = None,
        cwd: str | None = None,
        state: str | None = None,
        session: str | None = None,
    ) -> StreamListing:
        """Streams that match all that is given, the latest change first. A stream that changes while one
        pages moves to the front, and may so be missed.
        """

    async def search(self, text: str, *, limit: int = 20, stream: str | None = None) -> Sequence[SearchHit]:
        """Passages that have all words of `text`, or words that begin so; the best first."""

    async def find_key(self, stream: str, key: str) -> KeyEntries | None:
        """Where the entries of an idempotency key lie in a stream; None if it has none, or does not exist."""

    async def find_stream_by_key(self, key: str) -> str | None:
        """The stream that was made under this idempotency key; None if there is none."""

    async def delete(self, stream: str) -> bool:
        """Forget a stream, all its text and all its keys; says whether there was one."""

    async def originals(self, stream: str) -> Mapping[int, bytes]:
        """Frames of pending entries as they were appended, by their sequence: those that redaction changed or
        that held its mark before, and that were not dropped. A pending entry that holds the mark and is not
        among them is known in its redacted form alone. Empty if there is no such stream.
        """

    async def drop_originals(self, stream: str, sequences: Iterable[int]) -> None:
        """Erase the originals of these entries, which need no further action."""

    async def drop_originals_before(self, time: float) -> int:
        """Erase the originals of all entries with an earlier time, in all streams; returns how many."""

    async def aclose(self) -> None:
        """Finish what was asked for, then let go of everything. May be called again."""


def make_cursor(time: float, number: int) -> str:
    return f"{time.hex()}/{number}"


def read_cursor(cursor: str) -> tuple[float, int]:
    time, _, number = cursor.partition("/")
    try:
        return float.fromhex(time), int(number)
    except (ValueError, OverflowError):
        raise JournalError("this is not a cursor of a listing") from None
