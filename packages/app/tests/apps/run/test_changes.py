"""What a run leaves behind: changes on disk, told and put back; history, and the way back into a session."""

import asyncio
import sqlite3
import subprocess
import threading
from pathlib import Path

import pytest

from dragoman.testing.pace import patience
from dragoman_app.apps.run import changes
from dragoman_app.apps.run.changes import look_before, turn_start, wait_for_look
from dragoman_app.apps.run.output import OutputWriter
from dragoman_app.apps.run.plan import make_plan
from dragoman_app.apps.run.reporter import QuietView, RunReporter
from dragoman_app.cli.parser import make_parser
from dragoman_local.workspace.folder_snapshot import PlainFolder
from dragoman_local.workspace.snapshot_entries import Capture, TurnStart
from tests.apps.run.run_process import DRAGOMAN, home, run, scripted
from tests.apps.run.teletype import in_terminal
from tests.together import SideBySide

together = SideBySide(2)

KEEPER = "agent keeper\n  can load\non prompt\n  say $session\n"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "a.txt").write_text("before\n")
    return folder


def test_changes_are_told_however_they_were_made(project: Path, tmp_path: Path) -> None:
    env = home(tmp_path)
    arguments = ("--agent", "echo", "--approve", "all", "--format", "json")
    done = run(*arguments, "/write a.txt after", folder=project, env=env)
    [changes] = done.named("changes")
    [file] = changes["files"]
    assert (file["path"], file["kind"]) == (str(project / "a.txt"), "modified")
    assert "-before" in file["diff"]
    assert "+after" in file["diff"]
    done = run(*arguments, "/run rm a.txt", folder=project, env=env)
    assert [file["kind"] for file in done.named("changes")[0]["files"]] == ["removed"]
    done = run(*arguments, "/ask new.txt", folder=project, env=env)  # this one is written by the agent itself
    assert [file["kind"] for file in done.named("changes")[0]["files"]] == ["added"]


def test_an_agent_that_dies_is_still_asked_what_it_changed(project: Path, tmp_path: Path) -> None:
    agent = scripted(tmp_path, 'agent rude\non prompt\n  write "$cwd/a.txt" "after"\n  die 1\n')
    done = run(
        "--agent", agent, "--approve", "all", "--format", "json", "x", folder=project, env=home(tmp_path)
    )
    assert done.status == 9
    assert len(done.named("changes")[0]["files"]) == 1


def test_changes_are_put_back_if_that_is_wanted(project: Path, tmp_path: Path) -> None:
    arguments = ("--agent", "echo", "--approve", "all", "--changes", "revert")
    done = run(*arguments, "/write a.txt after", folder=project, env=home(tmp_path))
    assert done.status == 0
    assert "reverted" in done.out
    assert (project / "a.txt").read_text() == "before\n"


def test_what_cannot_be_put_back_makes_the_run_fail(project: Path, tmp_path: Path) -> None:
    # Nobody compares a pipe, and it keeps the folder that stands where the file was.
    (project / "spoil").write_text("#!/bin/sh\nrm a.txt && mkdir a.txt && mkfifo a.txt/pipe\n")
    arguments = ("--agent", "echo", "--approve", "all", "--changes", "revert")
    done = run(*arguments, "/run sh spoil", folder=project, env=home(tmp_path))
    assert done.status == 1, done.out + done.err
    assert "a.txt was not put back" in done.err
    assert "not everything was put back" in done.err


@together
def test_our_own_records_are_no_changes(tmp_path: Path) -> None:
    done = run("--agent", "echo", "--format", "json", "Hello", folder=tmp_path)
    assert done.named("changes")[0]["files"] == []
    assert (tmp_path / ".local/share/dragoman/history.db").exists()


def test_a_person_decides_file_by_file(project: Path, tmp_path: Path) -> None:
    arguments = ("--agent", "echo", "--approve", "all", "--changes", "ask", "--no-color")
    with in_terminal(*arguments, "/write a.txt after", folder=project, env=home(tmp_path)) as person:
        person.read_until("k or r: ")
        person.type("r\n")
        assert person.wait() == 0
    assert (project / "a.txt").read_text() == "before\n"


@pytest.mark.parametrize("which", [["--continue"], ["--session", "last"]], ids=" ".join)
def test_the_last_session_of_a_folder_is_gone_on_with(
    which: list[str], project: Path, tmp_path: Path
) -> None:
    agent, env = scripted(tmp_path, KEEPER), home(tmp_path)
    first = run("--agent", agent, "--format", "json", "x", folder=project, env=env)
    again = run("--agent", agent, "--format", "json", *which, "x", folder=project, env=env)
    assert (first.named("session")[0]["how"], again.named("session")[0]["how"]) == ("new", "loaded")
    assert again.named("session")[0]["sessionId"] == first.named("session")[0]["sessionId"]
    assert again.status == 0
    elsewhere = run("--agent", agent, "--continue", "x", folder=tmp_path, env=env)
    assert elsewhere.status == 2
    assert "no session" in elsewhere.err


@together
def test_a_session_is_gone_on_with_by_its_id(tmp_path: Path) -> None:
    agent = scripted(tmp_path, KEEPER)
    done = run("--agent", agent, "--format", "json", "--session", "session-7", "x", folder=tmp_path)
    assert (done.status, done.named("session")[0]["sessionId"], done.text) == (0, "session-7", "session-7")


@together
def test_a_replay_is_told_as_one_and_not_shown(tmp_path: Path) -> None:
    script = "agent keeper\n  can load\non load\n  say old\n  answer {}\non prompt\n  say new\n"
    agent = scripted(tmp_path, script)
    done = run("--agent", agent, "--format", "json", "--session", "s", "x", folder=tmp_path)
    assert [(event["text"], event.get("phase")) for event in done.named("text")] == [
        ("old", "replay"),
        ("new", None),
    ]
    assert run("--agent", agent, "--session", "s", "x", folder=tmp_path).out == "new\n"


@together
def test_history_is_kept_unless_nobody_wants_it(tmp_path: Path) -> None:
    path = tmp_path / ".local/share/dragoman/history.db"
    run("--agent", "echo", "--no-history", "Hello", folder=tmp_path)
    assert not path.exists()
    run("--agent", "echo", "Hello", folder=tmp_path)
    with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as database:
        assert database.execute("select count(*) from sqlite_master").fetchone()[0] > 0


@together
def test_the_history_says_how_a_run_ended(tmp_path: Path) -> None:
    agent = scripted(tmp_path, "agent rude\non prompt\n  die 1\n")
    run("--agent", agent, "Hello", folder=tmp_path)
    listed = subprocess.run(
        [*DRAGOMAN, "sessions", "list"], capture_output=True, text=True, env=home(tmp_path), check=True
    )
    assert "rude" in listed.stdout
    assert "agent_died" in listed.stdout


@together
def test_a_history_that_cannot_be_written_stops_nothing(tmp_path: Path) -> None:
    (tmp_path / ".local").write_text("in the way")
    done = run("--agent", "echo", "Hello", folder=tmp_path)
    assert (done.status, done.out) == (0, "You said: Hello\n")
    assert "history" in done.err


# The look before a turn.


@pytest.mark.parametrize(
    ("words", "waits"),
    [
        ([], False),
        (["--strict"], True),
        (["--changes", "revert"], True),
        (["--changes", "ask"], True),
        (["--add-dir", "/"], True),
    ],
)
def test_a_turn_waits_for_a_look_by_which_something_is_decided(words: list[str], waits: bool) -> None:
    line = ["run", "Hello", "--agent", "echo", *words]
    assert (turn_start(make_plan(make_parser(line).parse_args(line))) is None) is waits


@pytest.mark.parametrize("overlaps", [True, False])
async def test_a_slow_look_at_a_folder_without_git_goes_on_beside_the_turn(
    overlaps: bool, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(changes, "BESIDE_AFTER", 0.01)
    reached, go_on = threading.Event(), threading.Event()
    capture = PlainFolder.capture

    def slow_capture(self: PlainFolder, *, keep: bool, start: TurnStart | None = None) -> Capture:
        if start is not None:
            start.is_heeded = True
        if keep:
            reached.set()
            assert go_on.wait(patience(20))
        return capture(self, keep=keep, start=start)

    monkeypatch.setattr(PlainFolder, "capture", slow_capture)
    output = OutputWriter(1)
    reporter = RunReporter(QuietView(), output, verbose=False)
    start = TurnStart() if overlaps else None
    looking = asyncio.create_task(look_before([str(project)], reporter, start))
    assert await asyncio.to_thread(reached.wait, patience(20))
    if not overlaps:
        go_on.set()
    await wait_for_look(looking, start)
    assert looking.done() is not overlaps
    (project / "a.txt").write_text("after\n")
    go_on.set()
    snapshot = await looking
    assert snapshot is not None
    found = await snapshot.compare()
    assert [file.path for file in found.files] == ([] if overlaps else [str(project / "a.txt")])
    assert any("a.txt" in note for note in found.notes) is overlaps
    await snapshot.aclose()
    output.close()
