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
"""The direction of a frame; a note is not from the connection, such as a line of standard error."""

Durability: TypeAlias = Literal["full", "normal", "off"]
"""`full` survives a power failure, `normal` the death of the process, `off` is for data that may be lost."""

PAGE_ROWS = 2000
PAGE_BYTES = 1024 * 1024
"""A page ends with the entry that reaches either limit, to limit a reader's memory."""


class Entry(Struct, frozen=True, gc=False):
    """One frame, without its newline, and its time in seconds since 1970."""

    direction: Direction
    frame: bytes
    time: float
    pending: bool = False
    """Whether it still needs an action, which needs its original text."""


class StoredEntry(Struct, frozen=True, gc=False):
    """An entry and its position in the stream."""

    sequence: int
    direction: Direction
    frame: bytes
    time: float

    @property
    def entry(self) -> Entry:
        return Entry(self.direction, self.frame, self.time)


class StreamInfo(Struct, frozen=True, kw_only=True):
    """The description of a stream. The caller sets the texts; an empty one means unknown."""

    stream: str
    agent: str = ""
    cwd: str = ""
    title: str = ""
    state: str = ""
    """The state in a word of the caller, such as `running` or `end_turn`."""
    session: str = ""
    """The agent's id of the session, which need not be unique among agents."""
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
    """The sequence of the passage's first entry."""
    kind: str
    """The kind of the text: `prompt`, `message`, `thought`, `tool`, `plan`."""
    excerpt: str
    title: str = ""


class KeyEntries(Struct, frozen=True, kw_only=True, gc=False):
    """The entries of one stream with a certain idempotency key, by sequence; 0 if there is none."""

    prompt: int = 0
    """The entry that accepted the prompt."""
    answer: int = 0
    """The entry with its answer: its turn has ended, or it was withdrawn."""
    made: int = 0
    """The entry that created the stream under this key."""


Page: TypeAlias = Sequence[StoredEntry]


class Journal(Protocol):
    """Streams of frames. Every method raises `JournalClosed` after `aclose`."""

    async def append(self, stream: str, entries: Sequence[Entry], *, after: int | None = None) -> int:
        """Store the entries at the end of a stream, which is created if necessary; return the last sequence.

        With `after`, only if the stream still ends there: else `StreamMoved`, and nothing is written.
        """

    def replay(self, stream: str, *, after: int = 0, limit: int | None = None) -> AsyncIterator[Page]:
        """Yield the entries after sequence `after`, at most `limit`, in pages. Entries appended in the
        meantime are included. Raises `NoSuchStream`, and `JournalDamaged` after the last good entry.
        """

    async def first_entries(self, names: Sequence[str]) -> Mapping[str, StoredEntry]:
        """Return the first entry of each stream with these names. Streams that do not exist, are empty or
        begin with damage are left out.
        """

    async def info(self, stream: str) -> StreamInfo | None:
        """Return the known facts about a stream; None if it does not exist."""

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
        """Change the given fields and keep the others. Creates the stream if necessary."""

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
        """Return streams that match all conditions, the latest change first. A stream that changes between
        two pages moves to the front, and may be missed.
        """

    async def search(self, text: str, *, limit: int = 20, stream: str | None = None) -> Sequence[SearchHit]:
        """Return passages with all words of `text`, or words that begin with them; the best first."""

    async def find_key(self, stream: str, key: str) -> KeyEntries | None:
        """Return the entries of an idempotency key in a stream; None if there are none, or no stream."""

    async def find_stream_by_key(self, key: str) -> str | None:
        """Return the stream that was created under this idempotency key; None if there is none."""

    async def delete(self, stream: str) -> bool:
        """Erase a stream with all its text and all its keys; return whether it existed."""

    async def originals(self, stream: str) -> Mapping[int, bytes]:
        """Return original frames of pending entries by their sequence: those that redaction changed or that
        already contained its mark, and that were not dropped. A pending entry with the mark that is not among
        them is known only in its redacted form. Empty if there is no such stream.
        """

    async def drop_originals(self, stream: str, sequences: Iterable[int]) -> None:
        """Erase the originals of these entries, which need no further action."""

    async def drop_originals_before(self, time: float) -> int:
        """Erase the originals of all entries before this time, in all streams; return how many."""

    async def aclose(self) -> None:
        """Finish waiting operations, then free all resources. A second call has no effect."""


def make_cursor(time: float, number: int) -> str:
    return f"{time.hex()}/{number}"


def read_cursor(cursor: str) -> tuple[float, int]:
    time, _, number = cursor.partition("/")
    try:
        return float.fromhex(time), int(number)
    except (ValueError, OverflowError):
        raise JournalError("this is not a cursor of a listing") from None
