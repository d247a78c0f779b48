"""`dragoman sessions`: reads the journal, and shows the answer.

What an agent said is made harmless for a terminal before it is shown. Exit status 0 means that all of it was
done, 1 that something was not; standard error then says what and why.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from collections.abc import AsyncIterator, Iterable, Sequence
from pathlib import Path

import msgspec

from dragoman.errors import JournalDamaged, JournalError
from dragoman.system.replacement import replace_private
from dragoman.text.sanitize import sanitize, sanitize_line
from dragoman_app.apps.console import ErrorStatus, say, say_json
from dragoman_app.apps.files import FileAct
from dragoman_app.apps.recorded_sessions import SessionMistake, display_time, find_session
from dragoman_app.apps.running_marks import with_current_state
from dragoman_app.cli.session_family import export_family
from dragoman_app.cli.sessions_forget import finish_forgetting
from dragoman_hub.session.notes import parent_in
from dragoman_local.journal import Journal, StreamInfo, open_journal
from dragoman_local.journal.conversation import Moment, MomentFold
from dragoman_local.journal.history import history_path, new_stream
from dragoman_local.journal.salvage import repair
from dragoman_local.journal.transcript import load

KINDS = {"message": "{}", "prompt": "> {}", "thought": "  · {}", "tool": "* {}", "plan": "  {}"}
OTHERS = {"permission": "? {}", "mode": "mode: {}", "end": "— {}", "error": "! {}", "note": "# {}"}


def run(args: argparse.Namespace) -> int:
    """Run one action; returns the exit status."""
    path = Path(args.journal) if args.journal else history_path()
    act: FileAct = "write" if args.action == "export" else "read"
    with ErrorStatus(SessionMistake, JournalError, OSError, status=1, act=act):
        if args.action == "repair":
            _repair(path)
        elif path.exists() or args.action == "import":
            asyncio.run(_run(args, path))
        else:
            _nothing_yet(args, path)
    return 0


async def _run(args: argparse.Namespace, path: Path) -> None:
    async with open_journal(path) as journal:
        if journal.salvage is not None:
            salvage = journal.salvage
            say(
                f"The history was damaged: {salvage.entries} entries of {salvage.streams} sessions were "
                f"saved, {salvage.lost_entries} lost. The damaged file is kept as {salvage.damaged_file}.",
                file=sys.stderr,
            )
        await finish_forgetting(journal)
        await ACTIONS[args.action](journal, args)


def _repair(path: Path) -> None:
    if not path.exists():
        raise SessionMistake(f"{path} does not exist")
    salvage = repair(path)
    say(f"{salvage.entries} entries of {salvage.streams} sessions were saved, {salvage.lost_entries} lost.")
    say(f"The old file is kept as {salvage.damaged_file}.")


def _nothing_yet(args: argparse.Namespace, path: Path) -> None:
    if args.action not in ("list", "search"):
        raise SessionMistake('no sessions are recorded yet. Start one: dragoman run "Explain this folder"')
    if args.json:
        say_json({"sessions": []} if args.action == "list" else {"found": []})
    else:
        say('No sessions are recorded yet. Start one: dragoman run "Explain this folder"', file=sys.stderr)


async def _list(journal: Journal, args: argparse.Namespace) -> None:
    cwd = None if args.cwd is None else _real(args.cwd)
    infos: list[StreamInfo] = []
    cursor = None
    while True:
        remaining = args.limit - len(infos) if args.limit > 0 else 500
        listing = await journal.list(agent=args.agent, cwd=cwd, limit=min(remaining, 500), cursor=cursor)
        infos += map(with_current_state, listing.streams) if args.journal is None else listing.streams
        cursor = listing.cursor
        if cursor is None or 0 < args.limit <= len(infos):
            break
    if args.json:
        say_json({"sessions": infos})
        return
    rows = [("ID", "WHEN", "AGENT", "STATE", "TITLE")]
    rows += [(info.stream, display_time(info.updated), info.agent, info.state, info.title) for info in infos]
    for row in _columns(rows) if infos else ["No session matches."]:
        say(row)


async def _show(journal: Journal, args: argparse.Namespace) -> None:
    info = await find_session(journal, args.id)
    if args.journal is None:
        info = with_current_state(info)
    if args.json:
        moments = [moment async for moment in _moments(journal, info.stream)]
        say_json({"session": info, "moments": moments})
        return
    say(sanitize_line(info.title or info.stream))
    about = (info.agent, info.cwd, display_time(info.created), info.state)
    say(sanitize_line(" · ".join(part for part in about if part)))
    async for moment in _moments(journal, info.stream):
        if moment.kind != "note" or args.notes:
            say(f"\n{_render(moment)}")


async def _search(journal: Journal, args: argparse.Namespace) -> None:
    hits = await journal.search(" ".join(args.words), limit=max(1, args.limit))
    first = await journal.first_entries(list({hit.stream for hit in hits}))
    parents = {stream: parent_in(entry.frame) for stream, entry in first.items()}
    if args.json:
        found = [
            msgspec.to_builtins(hit) | ({"parent": parent} if (parent := parents.get(hit.stream)) else {})
            for hit in hits
        ]
        say_json({"found": found})
        return
    for hit in hits:
        say(sanitize_line(f"{hit.stream}  {hit.title}"))
        if parent := parents.get(hit.stream):
            info = await journal.info(parent)
            say(sanitize_line(f"  child of {parent}  {'' if info is None else info.title}".rstrip()))
        say(sanitize_line(f"  {hit.kind} {hit.sequence}: {hit.excerpt}"))
    if not hits:
        print("No results.", file=sys.stderr)


async def _export(journal: Journal, args: argparse.Namespace) -> None:
    info = await find_session(journal, args.id)
    if args.file == "-":
        async for piece in export_family(journal, info.stream):
            sys.stdout.buffer.write(piece)
        sys.stdout.buffer.flush()
        return
    # A transcript tells as much as the history does: it is for its owner's eyes too.
    with replace_private(args.file) as file:
        async for piece in export_family(journal, info.stream):
            file.write(piece)


async def _import(journal: Journal, args: argparse.Namespace) -> None:
    stream = new_stream()
    source = sys.stdin.fileno() if args.file == "-" else args.file
    with open(source, "rb", closefd=args.file != "-") as file:  # noqa: ASYNC230  # nothing else runs
        await load(journal, stream, file)
    say(stream)


ACTIONS = {
    "list": _list,
    "show": _show,
    "search": _search,
    "export": _export,
    "import": _import,
}


async def _moments(journal: Journal, stream: str) -> AsyncIterator[Moment]:
    """What happened, up to a damage if there is one; the damage is told behind it."""
    fold = MomentFold()
    damage = None
    try:
        async for page in journal.replay(stream):
            for row in page:
                for moment in fold.add(row):
                    yield moment
    except JournalDamaged as error:
        damage = error
    for moment in fold.finish():
        yield moment
    if damage is not None:
        raise damage


def _render(moment: Moment) -> str:
    pattern = KINDS.get(moment.kind) or OTHERS[moment.kind]
    lines = [pattern.format(line) for line in sanitize(moment.text).split("\n")]
    return "\n".join([f"[{sanitize_line(moment.requester)}]", *lines] if moment.requester else lines)


def _columns(rows: Sequence[tuple[str, ...]]) -> Iterable[str]:
    safe_rows = [[sanitize_line(cell) for cell in row] for row in rows]
    widths = [max(len(row[at]) for row in safe_rows) for at in range(len(safe_rows[0]) - 1)]
    for row in safe_rows:
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=False)]
        yield "  ".join([*cells, row[-1]]).rstrip()


def _real(folder: str) -> str:
    return os.path.realpath(folder)
