"""`dragoman agents registry`: the list of installable agents, and its update.

Nothing is fetched unless a person names a file or an address here. What comes is bounded, read as the public
form, and kept only if it makes sense.
"""

from __future__ import annotations

import argparse
import tempfile
from datetime import date
from pathlib import Path

import msgspec

from dragoman.errors import LocalMistake
from dragoman.system.replacement import replace_file
from dragoman.text.sanitize import sanitize_line
from dragoman_app.apps.console import ErrorStatus, print_json, say
from dragoman_local.known.installation.archives import InstallFailed, download
from dragoman_local.known.installation.registry import (
    MOST_BYTES,
    AgentRegistry,
    RegistryFile,
    parse_registry,
    read_bounded,
    read_registry,
    refreshed_path,
)

SECONDS = 60.0


def run_show(args: argparse.Namespace) -> int:
    registry = read_registry()
    age = (date.today() - registry.made).days
    if args.json:
        return print_json(_describe(registry, age))
    for entry in sorted(registry.entries.values(), key=lambda entry: entry.agent_name):
        ways = ", ".join(entry.kinds()) or "not available for this system"
        trial = f"tried {entry.tested}" if entry.tested else "not tried"
        head = f"{entry.agent_name:<20} {entry.version:<14} {ways:<12} {trial:<17}"
        line = f"{head} {entry.license:<14} {entry.name}"
        say(sanitize_line(line.rstrip()))
    origin = f"from {sanitize_line(registry.origin)}" if registry.origin else "the built-in list"
    say(f"\n{len(registry.entries)} agents, as of {registry.made} ({age} days ago), {origin}.")
    return 0


def run_refresh(args: argparse.Namespace) -> int:
    """0: the list is stored. 1: the download failed. 2: it is not a list of agents; the old list stays."""
    with ErrorStatus(InstallFailed, status=1):
        data, origin = _fetch(args.source)
        file, notes = parse_registry(data, origin=origin, today=date.today())
        before = read_registry().entries
        if not args.dry_run:
            _keep(file)
    changes = [
        f"{entry.agent_name} {before[entry.id].version if entry.id in before else '(new)'} → {entry.version}"
        for entry in file.agents
        if entry.id not in before or before[entry.id].version != entry.version
    ]
    if args.json:
        report = {
            "schema": 1,
            "origin": origin,
            "agents": len(file.agents),
            "changes": changes,
            "notes": notes,
        }
        return print_json({**report, "written": None if args.dry_run else str(refreshed_path())})
    for line in (*changes, *(f"note: {note}" for note in notes)):
        say(f"  {sanitize_line(line)}")
    kept = "Nothing was written." if args.dry_run else f"Kept in {refreshed_path()}."
    say(f"{len(file.agents)} agents from {sanitize_line(origin)}. {kept}")
    return 0


def run_reset(args: argparse.Namespace) -> int:
    place = refreshed_path()
    if not place.exists():
        say("The list that comes with dragoman is in use already.")
        return 0
    place.unlink()
    say(f"Removed {place}; the built-in list is in use.")
    return 0


def _fetch(source: str) -> tuple[bytes, str]:
    if "://" not in source:
        path = Path(source).absolute()
        return read_bounded(path), str(path)
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder, "registry.json")
        download(source, target, folder=None, seconds=SECONDS, progress=_ignore, most=MOST_BYTES)
        return target.read_bytes(), source


def _ignore(text: str) -> None:
    """A list is small: its progress is no news."""


def _keep(file: RegistryFile) -> None:
    place = refreshed_path()
    try:
        place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        replace_file(place, msgspec.json.encode(file))
    except OSError as error:
        raise LocalMistake(f"cannot write {place}: {error.strerror}") from None


def _describe(registry: AgentRegistry, age: int) -> dict[str, object]:
    return {
        "schema": 1,
        "made": registry.made,
        "age_days": age,
        "origin": registry.origin or None,
        "agents": [
            {
                "name": entry.agent_name,
                "id": entry.id,
                "title": entry.name,
                "version": entry.version,
                "tested": entry.tested,
                "license": entry.license,
                "kinds": entry.kinds(),
            }
            for entry in registry.entries.values()
        ],
    }
