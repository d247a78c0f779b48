"""`dragoman journal backup` and `restore`: copy a journal's file while it is in use, and restore it."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from dragoman.errors import JournalError
from dragoman_app.apps.console import ErrorStatus, say, say_json
from dragoman_local.journal.backup import JournalBackup, back_up, restore
from dragoman_local.journal.history import history_path


def hub_journal() -> Path:
    """Return the usual journal of a hub. Its settings have the same value, but take longer to import."""
    return history_path().with_name("hub.db")


def run_backup(args: argparse.Namespace) -> int:
    """Copy the journal into FILE."""
    journal = Path(args.journal).expanduser() if args.journal else hub_journal()
    return _report(args, "backup", journal, Path(args.file).expanduser())


def run_restore(args: argparse.Namespace) -> int:
    """Replace the journal by FILE."""
    journal = Path(args.journal).expanduser() if args.journal else hub_journal()
    return _report(args, "restore", Path(args.file).expanduser(), journal)


def _report(args: argparse.Namespace, action: str, source: Path, target: Path) -> int:
    next_step = "--force keeps it beside the restored one" if action == "restore" else "--force replaces it"
    with (
        ErrorStatus(JournalError, OSError, status=1, act="write"),
        ErrorStatus(FileExistsError, status=1, act="write", next_step=next_step),
    ):
        copy = (back_up if action == "backup" else restore)(source, target, replace=args.force)
    if args.json:
        say_json(copy)
    else:
        _tell(copy, source if action == "backup" else target)
    return 0


def _tell(copy: JournalBackup, journal: Path) -> None:
    say(f"{copy.target}: {copy.streams} sessions, {copy.bytes:,} bytes")
    if copy.replaced:
        say(f"The journal that was there is kept as {copy.replaced}")
    if journal.name == "hub.db" and journal.with_name("tokens.json").exists() and not copy.replaced:
        say(f"Tokens are not in it: {journal.with_name('tokens.json')}", file=sys.stderr)
