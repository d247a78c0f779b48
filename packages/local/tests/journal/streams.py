"""What tests of the journal share: entries, and a writer in a process of its own."""

from __future__ import annotations

from pathlib import Path

from dragoman_local.journal import Entry, Journal, StoredEntry

WRITER = """
import asyncio, sys
from dragoman_local.journal import Entry, open_journal

async def main(path, stream, size, most):
    async with open_journal(path) as journal:
        n = (await journal.append(stream, []))
        while n < most:
            batch = [Entry("note", b"%d" % (n + i + 1), 1.0) for i in range(size)]
            n = await journal.append(stream, batch)
            sys.stdout.write(f"{n}\\n")
            sys.stdout.flush()

asyncio.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])))
"""


def note(text: str | bytes) -> Entry:
    return Entry("note", text if isinstance(text, bytes) else text.encode(), 1.0)


def notes(count: int, *, size: int = 0) -> list[Entry]:
    return [note(b"%d" % n + b" " * size) for n in range(1, count + 1)]


async def frames(journal: Journal, stream: str) -> list[bytes]:
    return [stored.frame async for page in journal.replay(stream) for stored in page]


async def replayed(journal: Journal, stream: str) -> list[StoredEntry]:
    return [stored async for page in journal.replay(stream) for stored in page]


def all_bytes(folder: Path) -> bytes:
    """Everything that is on disk in a folder."""
    return b"".join(path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file())
