"""`dragoman journal` shows what is stored, since when and for how long; `dragoman journal prune` erases old
sessions in every journal of this user.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from dragoman.errors import CallFailed, DragomanError, LocalMistake
from dragoman_app.apps.console import say, say_json
from dragoman_app.apps.files import explain_error
from dragoman_app.cli.sessions_forget import (
    ForgetChoice,
    ForgetReport,
    count_sessions,
    forget_at_hub,
    forget_here,
)
from dragoman_hub.folder_lock import running_hub
from dragoman_hub.nats import is_nats_address
from dragoman_hub.settings import HubSettings
from dragoman_hub.settings_file import load_settings
from dragoman_local.journal import open_journal
from dragoman_local.journal.history import history_path
from dragoman_local.journal.journal_copy import all_streams
from dragoman_local.kit.journal_lender import sessions_path


class StoredSessions(Struct, frozen=True, kw_only=True):
    """The size of one journal."""

    name: str
    place: str
    sessions: int | None = None
    bytes: int | None = None
    since: float | None = None
    """The start of the oldest session."""
    problem: str = ""


# What is stored.


def run_status(args: argparse.Namespace) -> int:
    """Show each journal of this user, and the setting."""
    settings = _settings()
    journals = [_look(name, place) for name, place in _places(settings)]
    if args.json:
        say_json({"journals": journals, "keep_days": settings.keep_days})
        return 0
    for journal in journals:
        say(f"{journal.name:<8}  {_summary(journal)}\n{'':<8}  {journal.place}")
    days = settings.keep_days
    say(f"keep_days = {days}: " + (f"the hub erases a session after {days} days." if days else KEPT_UNTIL))
    say("\nTo erase: dragoman sessions forget, or dragoman journal prune. See `dragoman help retention`.")
    return 0


KEPT_UNTIL = "sessions are kept until you erase them."


def _look(name: str, place: str) -> StoredSessions:
    if is_nats_address(place):
        return StoredSessions(
            name=name, place=place, problem="kept by NATS: ask a hub (`dragoman hub status`)"
        )
    path = Path(place)
    if not path.exists():
        return StoredSessions(name=name, place=place, sessions=0, bytes=0)
    try:
        times = asyncio.run(_creation_times(path))
    except (DragomanError, OSError) as error:
        return StoredSessions(name=name, place=place, problem=explain_error(error))
    size = sum(file.stat().st_size for file in path.parent.glob(f"{path.name}*") if file.is_file())
    return StoredSessions(
        name=name, place=place, sessions=len(times), bytes=size, since=min(times, default=None)
    )


async def _creation_times(path: Path) -> list[float]:
    async with open_journal(path) as journal:
        return [info.created async for info in all_streams(journal) if not info.stream.startswith("@")]


def _summary(journal: StoredSessions) -> str:
    if journal.sessions is None or journal.since is None:
        return journal.problem or "nothing stored"
    since = time.strftime("%Y-%m-%d", time.localtime(journal.since))
    plural = "" if journal.sessions == 1 else "s"
    return f"{journal.sessions} session{plural} since {since}, {journal.bytes:,} bytes"


def _places(settings: HubSettings) -> Iterator[tuple[str, str]]:
    yield "history", str(history_path())
    yield "agents", str(sessions_path())
    yield "hub", settings.journal_place


def _settings() -> HubSettings:
    """Of a configuration that cannot be read, the usual one: `dragoman config check` says what is wrong."""
    try:
        return load_settings()
    except LocalMistake:
        return HubSettings()


# What is old.


def run_prune(args: argparse.Namespace) -> int:
    """Erase the old sessions of every journal; return the exit status."""
    args.yes, args.hub = True, ""
    choice = ForgetChoice(before=time.time() - args.older_than)
    settings = _settings()
    places = [args.journal] if args.journal else [place for _, place in _places(settings)]
    reports: list[ForgetReport] = []
    problems: dict[str, str] = {}
    for place in places:
        path, is_hubs = Path(place).expanduser(), place == settings.journal_place
        try:
            if is_hubs and (is_nats_address(place) or running_hub(path)):
                reports.append(asyncio.run(forget_at_hub(args, choice)))
            elif path.exists():
                reports.append(asyncio.run(forget_here(path, args, choice)))
            elif args.journal:
                problems[place] = "no such file. To see what is stored: dragoman journal"
        except CallFailed as error:
            problems[place] = f"the hub refused: {error.message}"
        except (DragomanError, OSError) as error:
            problems[place] = explain_error(error, act="write")
    if args.json:
        say_json({"journals": reports, "problems": problems})
    else:
        _show(reports, problems)
    return 1 if problems or any(report.kept for report in reports) else 0


def _show(reports: list[ForgetReport], problems: dict[str, str]) -> None:
    for report in reports:
        verb = "would forget" if report.dry_run else "forgot"
        say(f"{report.place}: {verb} {count_sessions(report.sessions)}")
        for name, why in report.kept.items():
            say(f"  kept {name}: {why}", file=sys.stderr)
    for place, why in problems.items():
        say(f"dragoman journal prune: {place}: {why}", file=sys.stderr)
    if not reports and not problems:
        say("Nothing is stored yet. Sessions appear here after your first `dragoman run`.", file=sys.stderr)
