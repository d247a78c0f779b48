"""`dragoman journal copy`: opens both journals, copies, and reports the result."""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec

from dragoman.errors import JournalError, LocalMistake
from dragoman_app.apps.console import say, say_json
from dragoman_hub.nats import is_nats_address, open_nats, read_address
from dragoman_local.journal import Journal, SqliteJournal
from dragoman_local.journal.journal_copy import CopiedStream, CopyClock, copy_journal


def run(args: argparse.Namespace) -> int:
    if args.source == args.target:
        raise LocalMistake("FROM and TO are the same journal")
    copies: list[CopiedStream] = []
    try:
        _check_source(args.source)
        asyncio.run(_copy(args, copies))
    except JournalError as error:
        _tell(args, copies, error)
        return 1
    _tell(args, copies, None)
    return 0


def _check_source(place: str) -> None:
    """To open a file that is not there would make it."""
    if not is_nats_address(place) and not Path(place).expanduser().is_file():
        raise JournalError(f"no journal {place}. Check FROM")


async def _copy(args: argparse.Namespace, copies: list[CopiedStream]) -> None:
    clock = CopyClock()
    async with _open_place(args.source, CopyClock()) as source, _open_place(args.target, clock) as target:
        async for copy in copy_journal(source, target, clock):
            copies.append(copy)
            if not args.json:
                was = "" if copy.written == copy.entries else f", {copy.written} of them new"
                say(f"{copy.stream}  {copy.entries} entries{was}  {copy.digest[:16]}")


@asynccontextmanager
async def _open_place(place: str, clock: CopyClock) -> AsyncIterator[Journal]:
    if is_nats_address(place):
        options = msgspec.structs.replace(read_address(place), redact=None)
        async with open_nats(place, options=options, clock=clock) as nats:
            yield nats.journal
    else:
        async with _file(place, clock) as journal:
            yield journal


def _file(place: str, clock: CopyClock) -> SqliteJournal:
    return SqliteJournal(Path(place).expanduser(), redact=None, clock=clock)


def _tell(args: argparse.Namespace, copies: list[CopiedStream], error: JournalError | None) -> None:
    entries, written_entries = sum(copy.entries for copy in copies), sum(copy.written for copy in copies)
    if args.json:
        report = {"streams": copies, "entries": entries, "written": written_entries, "same": error is None}
        if error is not None:
            report["error"] = str(error)
        say_json(report)
        return
    if error is None:
        say(
            f"{len(copies)} streams with {entries} entries are the same in both; "
            f"{written_entries} entries were written"
        )
        return
    again = f"\n{len(copies)} streams were copied before; another run continues after them" if copies else ""
    say(f"dragoman journal copy: {error}{again}", file=sys.stderr)
