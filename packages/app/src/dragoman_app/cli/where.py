"""`dragoman where`: lists all places of Dragoman's files for this user."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from dragoman.errors import LocalMistake
from dragoman.system.folders import user_folder
from dragoman.version import VERSION
from dragoman_app.agents.code.config import config_path as code_path
from dragoman_app.apps.console import say, say_json
from dragoman_app.cli.hub_client import address_file
from dragoman_hub.settings import settings_path
from dragoman_hub.settings_file import load_settings
from dragoman_local.journal.history import history_path
from dragoman_local.kit.journal_lender import sessions_path
from dragoman_local.known.config import config_path
from dragoman_local.workspace.policy.policy_paths import policy_paths


class FileLocation(Struct, frozen=True, kw_only=True):
    """A file or folder of Dragoman."""

    name: str
    meaning: str
    path: str
    exists: bool
    bytes: int | None = None
    """The size of a file; folders are not counted."""


def run(args: argparse.Namespace) -> int:
    """Print every place, or the path of the named one."""
    places = list(find_places())
    if args.name:
        return _show_path(args.name, places)
    if args.json:
        report = {"version": VERSION, "python": sys.executable, "places": places}
        say_json(report, indent=2)
        return 0
    say(f"dragoman {VERSION}, {sys.executable}\n")
    width = max(len(place.name) for place in places)
    for place in places:
        mark = " " if place.exists else "-"
        say(f"{mark} {place.name:<{width}}  {place.path}\n  {'':<{width}}  {place.meaning}")
    say("\n- does not exist yet. To print one path: dragoman where NAME")
    return 0


def _show_path(name: str, places: list[FileLocation]) -> int:
    for place in places:
        if place.name == name:
            say(place.path)
            return 0
    names = ", ".join(place.name for place in places)
    raise LocalMistake(f"unknown name {name!r}. Choose from {names}")


def find_places() -> Iterator[FileLocation]:
    """Return every place, from the current environment and the hub's configuration."""
    policy, journal = policy_paths(), _hub_journal()
    yield _place("agents", "agents by name (`dragoman help known-agents`)", config_path())
    yield _place("hub", "the hub's configuration (`dragoman help hub-configuration`)", settings_path())
    yield _place("policy", "what agents may do (`dragoman help policy`)", policy.policy)
    yield _place("answers", "your remembered answers", policy.remembered_file)
    yield _place("coder", "the model of `dragoman agent code` (`dragoman help coder`)", code_path(os.environ))
    yield _place("history", "sessions of `dragoman run` and `chat`", history_path())
    yield _place("sessions", "what `dragoman agent code` and `review` remember", sessions_path())
    yield _place("journal", "sessions of the hub", journal)
    yield _place(
        "tokens", "tokens for the hub, hashed", os.path.join(os.path.dirname(journal), "tokens.json")
    )
    yield _place("address", "the address of your running hub", address_file())
    yield _place("audit", "decisions about what agents did", policy.audit)
    yield _place("cache", "caches; remove them at any time", user_folder("cache"))


def _hub_journal() -> str:
    """Of a configuration that cannot be read, the usual one: `dragoman config check` says what is wrong."""
    try:
        return load_settings().journal_place
    except LocalMistake:
        return str(history_path().with_name("hub.db"))


def _place(name: str, meaning: str, path: str | Path) -> FileLocation:
    try:
        status = os.stat(path)
    except OSError:
        return FileLocation(name=name, meaning=meaning, path=str(path), exists=False)
    size = status.st_size if os.path.isfile(path) else None
    return FileLocation(name=name, meaning=meaning, path=str(path), exists=True, bytes=size)
