"""`dragoman sessions forget` by its effect on the disk: every file of this person is searched."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from dragoman.testing.pace import patience
from dragoman_app.apps.running_marks import RunningMark
from dragoman_app.cli import main
from dragoman_hub.session import notes
from dragoman_local.contracts.journals import prompt_entry
from dragoman_local.journal import Entry, open_journal
from dragoman_local.journal.erasure import FORGETTING
from dragoman_local.journal.history import history_path
from dragoman_local.kit.journal_lender import sessions_path
from tests.cli.command_forks import run_command
from tests.journal.test_erasure import files_with

pytestmark = pytest.mark.bound(60)

MARKER = "zanzibarquagga"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("DATA", "STATE", "CONFIG", "CACHE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name.lower()))
    (tmp_path / "work").mkdir()
    return tmp_path


def command(*words: str, folder: Path) -> subprocess.CompletedProcess[str]:
    environ: Mapping[str, str] = {
        "PATH": str(Path(sys.executable).parent),
        "HOME": str(folder),
        **{f"XDG_{name}_HOME": str(folder / name.lower()) for name in ("DATA", "STATE", "CONFIG", "CACHE")},
    }
    return run_command(*words, cwd=folder / "work", env=environ)


def record(path: Path, streams: Mapping[str, list[Entry]], **fields: str) -> None:
    async def append() -> None:
        async with open_journal(path, durability="off") as journal:
            for stream, entries in streams.items():
                await journal.append(stream, entries)
                await journal.describe(stream, **fields)

    asyncio.run(append())


def streams_in(path: Path) -> list[str]:
    async def read() -> list[str]:
        async with open_journal(path) as journal:
            return sorted(info.stream for info in (await journal.list(limit=500)).streams)

    return asyncio.run(read())


def test_nothing_of_a_turn_is_on_the_disk_once_it_is_forgotten(folder: Path) -> None:
    done = command("run", f"please review {MARKER}", "--agent", "review", folder=folder)
    assert done.returncode == 0, done.stderr
    assert command("sessions", "search", MARKER, folder=folder).stdout  # the index of words is made
    # The agent has a journal of its own, from which it brings the session back.
    assert set(files_with(MARKER, folder)) >= {"history.db", "sessions.db"}

    done = command("sessions", "forget", "last", "--yes", folder=folder)
    assert (done.returncode, done.stdout[:7]) == (0, "forgot ")
    assert "Not erased: the audit log" in done.stderr
    assert files_with(MARKER, folder) == []
    assert json.loads(command("sessions", "--json", folder=folder).stdout) == {"sessions": []}


def test_a_look_erases_nothing_and_a_script_must_say_yes(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    record(history_path(), {"20260101-a": [prompt_entry(MARKER)]}, agent="echo")
    assert main(["sessions", "forget", "--all", "--dry-run", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert (report["sessions"], report["dry_run"]) == (["20260101-a"], True)
    assert main(["sessions", "forget", "last"]) == 1
    assert "Add --yes, or --dry-run to see the plan" in capsys.readouterr().err
    assert streams_in(history_path()) == ["20260101-a"]
    assert main(["sessions", "forget"]) == 2
    assert main(["sessions", "forget", "last", "--all"]) == 2


def test_sessions_are_chosen_by_agent_and_age(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    record(history_path(), {"a": [prompt_entry("1")], "b": [prompt_entry("2")]}, agent="echo")
    record(history_path(), {"c": [prompt_entry("3")]}, agent="other")
    assert main(["sessions", "forget", "--older-than", "1d", "--yes"]) == 0
    assert "no session matches" in capsys.readouterr().err
    assert main(["sessions", "forget", "--agent", "echo", "--yes"]) == 0
    assert streams_in(history_path()) == ["c"]
    assert main(["sessions", "forget", "--older-than", "0s", "--yes"]) == 0
    assert streams_in(history_path()) == []


def test_by_the_agents_own_id_all_parts_of_a_session_go(folder: Path) -> None:
    parts = {"a": [prompt_entry("1")], "b": [prompt_entry("2")]}
    record(history_path(), parts, agent="echo", session="own-1")
    record(history_path(), {"c": [prompt_entry("3")]}, agent="echo", session="own-2")
    record(sessions_path(), {"echo/own-1": [prompt_entry(MARKER)]}, session="own-1")
    assert main(["sessions", "forget", "own-1", "--yes"]) == 0
    assert streams_in(history_path()) == ["c"]
    assert streams_in(sessions_path()) == []


def test_a_session_that_is_open_is_kept(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    record(history_path(), {"a": [prompt_entry("1")], "b": [prompt_entry("2")]})
    with RunningMark("a"):
        assert main(["sessions", "forget", "b", "a", "--yes"]) == 1
        assert (
            "a: `dragoman run` or `dragoman chat` has the session open: end that first"
            in capsys.readouterr().err
        )
        assert streams_in(history_path()) == ["a", "b"]
        assert main(["sessions", "forget", "--all", "--yes", "--json"]) == 1
        assert list(json.loads(capsys.readouterr().out)["kept"]) == ["a"]
    assert streams_in(history_path()) == ["a"]


def test_children_of_a_hubs_session_go_with_it_and_not_without_it(folder: Path) -> None:
    def note(kind: str, **fields: str) -> Entry:
        return Entry("note", notes.note(kind, **fields), 1.0)

    hub = folder / "data" / "dragoman" / "hub.db"
    record(
        hub,
        {
            "parent": [note("made"), note("bound", session="own"), note("child", session="kid")],
            "kid": [note("made", parent="parent"), prompt_entry(MARKER)],
            "@rules": [note("made")],
        },
        state="idle",
    )
    record(sessions_path(), {"code/own": [prompt_entry(MARKER)]}, session="own")
    assert main(["sessions", "forget", "--all", "--yes", "--journal", str(hub)]) == 0
    assert streams_in(hub) == ["@rules"]
    assert files_with(MARKER, folder) == []


def test_what_a_kill_has_left_half_erased_is_never_shown(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    record(history_path(), {"a": [prompt_entry(MARKER)]}, state=FORGETTING, session="own")
    record(sessions_path(), {"code/own": [prompt_entry(MARKER)]}, session="own")
    assert main(["sessions", "list", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"sessions": []}
    assert (streams_in(history_path()), streams_in(sessions_path())) == ([], [])


@pytest.mark.skipif(sys.platform == "win32", reason="a terminal of POSIX")
def test_a_person_is_shown_what_goes_and_asked(folder: Path) -> None:
    record(history_path(), {"20260101-a": [prompt_entry(MARKER)]}, agent="echo", title="Singing")
    assert answer_on_a_terminal("n") == 1
    assert streams_in(history_path()) == ["20260101-a"]
    assert answer_on_a_terminal("y") == 0
    assert streams_in(history_path()) == []


def answer_on_a_terminal(letter: str) -> int:
    ours, theirs = os.openpty()
    words = [sys.executable, "-m", "dragoman", "sessions", "forget", "--all"]
    process = subprocess.Popen(words, stdin=theirs, stderr=theirs, stdout=subprocess.DEVNULL)
    os.close(theirs)
    shown = b""
    while b"[y/N]" not in shown:
        shown += os.read(ours, 1000)
    assert b"20260101-a  echo  Singing\r\nErase 1 session? This cannot be undone. [y/N]" in shown
    os.write(ours, f"{letter}\n".encode())
    status = process.wait(patience(30))
    os.close(ours)
    return status
