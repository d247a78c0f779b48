"""What `dragoman journal copy` does: opens both journals, copies, and says what came of it."""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec

from dragoman.apps.console import say, say_json
from dragoman.errors import JournalError
from dragoman.journal import Journal, SqliteJournal
from dragoman.journal.journal_copy import CopiedStream, CopyClock, copy_journal
from dragoman.journal.nats import is_nats_address, open_nats, read_address


def run(args: argparse.Namespace) -> int:
    if args.source == args.target:
        print("dragoman journal copy: FROM and TO are the same journal", file=sys.stderr)
        return 2
    done: list[CopiedStream] = []
    try:
        _check_source(args.source)
        asyncio.run(_copy(args, done))
    except JournalError as error:
        _tell(args, done, error)
        return 1
    _tell(args, done, None)
    return 0


def _check_source(place: str) -> None:
    """To open a file that is not there would make it."""
    if not is_nats_address(place) and not Path(place).expanduser().is_file():
        raise JournalError(f"there is no journal {place}: check FROM")


async def _copy(args: argparse.Namespace, done: list[CopiedStream]) -> None:
    clock = CopyClock()
    async with _opened(args.source, CopyClock()) as source, _opened(args.target, clock) as target:
        async for copied in copy_journal(source, target, clock):
            done.append(copied)
            if not args.json:
                was = "" if copied.written == copied.entries else f", {copied.written} of them new"
                say(f"{copied.stream}  {copied.entries} entries{was}  {copied.digest[:16]}")


@asynccontextmanager
async def _opened(place: str, clock: CopyClock) -> AsyncIterator[Journal]:
    if is_nats_address(place):
        options = msgspec.structs.replace(read_address(place), redact=None)
        async with open_nats(place, options=options, clock=clock) as opened:
            yield opened.journal
    else:
        async with _file(place, clock) as journal:
            yield journal


def _file(place: str, clock: CopyClock) -> SqliteJournal:
    return SqliteJournal(Path(place).expanduser(), redact=None, clock=clock)


def _tell(args: argparse.Namespace, done: list[CopiedStream], error: JournalError | None) -> None:
    entries, written = sum(copy.entries for copy in done), sum(copy.written for copy in done)
    if args.json:
        said = {"streams": done, "entries": entries, "written": written, "same": error is None}
        if error is not None:
            said["error"] = str(error)
        say_json(msgspec.json.encode(said))
        return
    if error is None:
        say(
            f"{len(done)} streams with {entries} entries are the same in both; {written} entries were written"
        )
        return
    again = f"\n{len(done)} streams were copied before; another run goes on behind them" if done else ""
    say(f"dragoman journal copy: {error}{again}", file=sys.stderr)
