"""`dragoman check client`: starts a client with a stand-in for its agent, and reports what the client did."""

from __future__ import annotations

import argparse
import asyncio
import shlex
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

import msgspec

from dragoman.errors import LocalMistake, SpawnFailed
from dragoman_app.apps.console import CommandFailed, ErrorStatus, say, tell_person
from dragoman_app.cli.check_interruption import Interruption
from dragoman_app.cli.check_report import MISTAKEN, UNEXAMINED, Examined, Wishes, frame_lines
from dragoman_app.cli.recordings import hide_in_file, read_recording
from dragoman_check.client.client_run import ClientRun, fill_command, run_client
from dragoman_check.client.profiles import PROFILES
from dragoman_check.conversation import Conversation
from dragoman_check.examination_control import run_until_stopped
from dragoman_check.recording import Recording
from dragoman_local.journal.contract import Entry
from dragoman_local.journal.transcript import line


def run(args: argparse.Namespace) -> int:
    with ErrorStatus(OSError, status=MISTAKEN), ErrorStatus(SpawnFailed, status=UNEXAMINED):
        wishes = Wishes(args)
        _look_over(args)
        if not args.command:
            return _run_by_hand(args, wishes)
        prefix = "dragoman-check-client-"
        with tempfile.TemporaryDirectory(prefix=prefix) as temporary, Interruption() as interruption:
            recordings, complaints = _start_all(args, Path(args.save or temporary), interruption)
            return _finish(args, wishes, recordings, complaints, interruption)


def _look_over(args: argparse.Namespace) -> None:
    """Raises `LocalMistake` for what makes no sense, before anything is started."""
    unknown = [name for name in args.profile if name not in PROFILES]
    if unknown:
        raise LocalMistake(f"unknown profile {unknown[0]!r}. Choose from {', '.join(PROFILES)}")
    if args.command:
        fill_command(args.command, [])
    if args.save and Path(args.save).is_dir() and any(Path(args.save).glob("*.ndjson")):
        raise LocalMistake(f"{args.save} already has recordings. Choose an empty or new folder")


# A client that we start.


def _start_all(
    args: argparse.Namespace, folder: Path, interruption: Interruption
) -> tuple[list[Path], list[str]]:
    """One run for each profile: their recordings, and what was wrong with the runs themselves. A run that a
    signal ended is left out: what the client would have done in it is not known.
    """
    recordings: list[Path] = []
    complaints: list[str] = []
    names = args.profile or list(PROFILES)
    for number, name in enumerate(names, 1):
        _progress(args, f"run {number} of {len(names)}: {PROFILES[name].about}")
        stand_in = _stand_in(args, folder.absolute(), name, people=args.timeout)
        client = run_client(
            fill_command(args.command, stand_in), says=args.say, cwd=args.cwd, seconds=args.deadline
        )
        run = interruption.run(partial(run_until_stopped, work=client))
        if run is None:
            break
        _note(folder, name, run)
        recordings += _paths(folder, name)
        complaints += _complaints(args, folder, name, run)
    return recordings, complaints


def _stand_in(args: argparse.Namespace, folder: Path, profile: str, *, people: float) -> list[str]:
    record = str(folder / f"{profile}.ndjson")
    options = ["--record", record, "--profile", profile, "--timeout", f"{args.timeout:g}"]
    return [sys.executable, "-m", "dragoman", "check", "stand-in", *options, "--people", f"{people:g}"]


def _note(folder: Path, profile: str, run: ClientRun) -> None:
    """How the client ended is a fact of its last connection. If it got what it came for, its status says
    something about its agent's work and nothing about itself: then it has left in good order.
    """
    for path in _paths(folder, profile)[-1:]:
        turns = Conversation(read_recording(path)).turns
        is_served = bool(turns) and turns[-1].exchange.answer is not None
        facts = {"exit": 0 if is_served and (run.status or 0) > 0 else run.status, "client exit": run.status}
        with path.open("ab") as file:
            for name, value in facts.items():
                fact = msgspec.json.encode({"event": "fact", "name": name, "value": value})
                file.write(line(Entry("note", fact, time.time())))


def _complaints(args: argparse.Namespace, folder: Path, profile: str, run: ClientRun) -> list[str]:
    complaints = []
    if run.status is None:
        complaints.append(f"{profile}: the client did not end within {args.deadline:g} s")
    if not _paths(folder, profile):
        last = (run.complaints or run.output).strip().splitlines()[-1:]
        why = f"; its last output: {last[0]}" if last else ""
        complaints.append(f"{profile}: the client did not start the stand-in{why}")
    return complaints


# A client that somebody else starts.


def _run_by_hand(args: argparse.Namespace, wishes: Wishes) -> int:
    folder = Path(args.save or tempfile.mkdtemp(prefix="dragoman-check-client-")).absolute()
    profile = (args.profile or ["full"])[0]
    words = _stand_in(args, folder, profile, people=600.0)
    print("Give your client this agent, send it a prompt, and close it:", file=sys.stderr)
    say(f"  {shlex.join(words)}", file=sys.stderr)
    server = {"command": words[0], "args": words[1:], "env": {}}
    say(f"  {msgspec.json.encode(server).decode()}", file=sys.stderr)
    say(f"Recordings: {folder}. Ctrl-C stops and shows the report.", file=sys.stderr)
    with Interruption() as interruption:
        interruption.run(partial(run_until_stopped, work=_wait(folder)))
        return _finish(args, wishes, _paths(folder), [], interruption)


async def _wait(folder: Path) -> None:
    """Until a connection was made, and all have ended."""
    is_over = False
    while not is_over:
        await asyncio.sleep(0.3)  # the files are written by processes that others start
        recordings = [read_recording(path) for path in _paths(folder)]
        is_over = bool(recordings) and all("over" in recording.facts for recording in recordings)


# Both.


def _finish(
    args: argparse.Namespace,
    wishes: Wishes,
    paths: list[Path],
    complaints: list[str],
    interruption: Interruption,
) -> int:
    recordings: list[Recording] = [read_recording(path) for path in paths]
    if not interruption.reason and not any(Conversation(recording).initialize for recording in recordings):
        for complaint in complaints:
            tell_person("check client", complaint)
        raise CommandFailed("no client connected to the stand-in", status=UNEXAMINED)
    title = " ".join(args.command) or "a client"
    names = [path.stem if not args.save else str(path) for path in paths]
    lines = [frame_lines(path) for path in paths] if args.save else ()
    examined = Examined(recordings, ("client",), title, names, lines)
    try:
        return wishes.finish(examined, complaints=complaints, interruption=interruption)
    finally:
        for path in paths:
            hide_in_file(path, wishes.hide)


def _paths(folder: Path, profile: str = "") -> list[Path]:
    """The recordings in the order in which they were begun."""
    order = list(PROFILES)
    paths = [path for path in folder.glob("*.ndjson") if path.name.split(".")[0] in order]
    mine = [path for path in paths if not profile or path.name.split(".")[0] == profile]
    return sorted(mine, key=lambda path: (order.index(path.name.split(".")[0]), len(path.name), path.name))


def _progress(args: argparse.Namespace, text: str) -> None:
    if not args.quiet:
        say(f"dragoman check client: {text}", file=sys.stderr)
