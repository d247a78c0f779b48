"""`dragoman sessions` over a history file, as a person or a script uses it."""

from __future__ import annotations

import asyncio
import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from dragoman_app.cli import main
from dragoman_hub.folder_lock import lock_folder
from dragoman_local.contracts.journals import chunk_entry, prompt_entry
from dragoman_local.journal import Entry, open_journal
from dragoman_local.journal.sqlite_file import FolderLock


@pytest.fixture
def history(tmp_path: Path) -> Path:
    """Two sessions; the second is the later one, and its agent is up to no good."""

    async def fill() -> None:
        async with open_journal(tmp_path / "h.db") as journal:
            chunks = [chunk_entry("agent_message_chunk", text) for text in ("Of co", "urse, a song")]
            await journal.append("20260101-a", [prompt_entry("Please sing"), *chunks])
            await journal.describe("20260101-a", agent="echo", title="Singing", cwd="/home", session="s1")
            evil = chunk_entry("agent_message_chunk", "\x1b]0;gotcha\x07 nice\rtext \u202e reversed")
            await journal.append("20260102-b", [evil, Entry("note", b'{"stderr":"oh"}', 1.0)])
            await journal.describe("20260102-b", agent="wild", title="\x1b[2Jtitle", state="end_turn")

    asyncio.run(fill())
    return tmp_path / "h.db"


@pytest.fixture
def sessions(history: Path, capsysbinary: pytest.CaptureFixture[bytes]) -> Sessions:
    return Sessions(history, capsysbinary)


class Sessions:
    """Runs the command on the history; `status` is that of the last run, `err` what it complained about."""

    def __init__(self, history: Path, captured: pytest.CaptureFixture[bytes]) -> None:
        self.history = history
        self.status = 0
        self.err = ""
        self._captured = captured

    def __call__(self, *arguments: str) -> str:
        self.status = main(["sessions", *arguments, "--journal", str(self.history)])
        out, err = self._captured.readouterr()
        self.err = err.decode()
        return out.decode()


def test_sessions_are_listed_the_latest_first(sessions: Sessions) -> None:
    head, first, second = sessions("list").splitlines()
    assert head.split() == ["ID", "WHEN", "AGENT", "STATE", "TITLE"]
    assert first.startswith("20260102-b ")
    assert second.split()[0] == "20260101-a"
    assert second.endswith("Singing")
    assert sessions("list", "--agent", "echo").count("2026010") == 1
    assert sessions("list", "--cwd", "/home").count("2026010") == 1
    assert sessions("list", "--limit", "1").count("2026010") == 1
    assert sessions("list", "--agent", "nobody") == "No session matches.\n"


def test_a_conversation_is_shown_as_text(sessions: Sessions) -> None:
    shown = sessions("show", "20260101-a")
    assert shown.startswith("Singing\necho · /home · ")
    assert "\n> Please sing\n\nOf course, a song\n" in shown


def test_what_an_agent_said_cannot_command_the_terminal(sessions: Sessions) -> None:
    everything = "".join(
        sessions(*arguments)
        for arguments in (
            ("list",),
            ("list", "--json"),
            ("show", "last"),
            ("show", "last", "--json"),
            ("search", "nice"),
            ("search", "nice", "--json"),
        )
    )
    assert "nice" in everything
    assert all(char.isprintable() or char == "\n" for char in everything)


def test_notes_are_shown_when_asked_for(sessions: Sessions) -> None:
    assert "stderr" not in sessions("show", "20260102-b")
    assert '# {"stderr":"oh"}' in sessions("show", "20260102-b", "--notes")


@pytest.mark.parametrize("name", ["20260101-a", "20260101", "s1"])
def test_a_session_is_found_by_what_is_clear(sessions: Sessions, name: str) -> None:
    assert sessions("show", name).startswith("Singing")
    assert sessions.status == 0


@pytest.mark.parametrize(
    ("name", "why"),
    [("2026", "matches 2 sessions: 2026"), ("nothing", "no session 'nothing'")],
)
def test_what_is_not_clear_is_said(sessions: Sessions, name: str, why: str) -> None:
    assert sessions("show", name) == ""
    assert sessions.status == 1
    assert why in sessions.err


def test_words_of_a_child_are_found_with_its_parent(sessions: Sessions) -> None:
    async def fill() -> None:
        async with open_journal(sessions.history) as journal:
            made = Entry("note", b'{"hub":"made","parent":"20260101-a"}', 1.0)
            await journal.append("kid", [made, chunk_entry("agent_message_chunk", "hippopotamus")])
            await journal.describe("kid", agent="echo", title="Helper")

    asyncio.run(fill())
    assert "kid  Helper\n  child of 20260101-a  Singing\n" in sessions("search", "hippopotamus")
    (hit,) = json.loads(sessions("search", "hippopotamus", "--json"))["found"]
    assert hit["parent"] == "20260101-a"


def test_words_are_found(sessions: Sessions) -> None:
    assert "20260101-a  Singing\n  message 2: Of course, a song\n" in sessions("search", "course", "SONG")
    assert json.loads(sessions("search", "sing", "--json"))["found"][0]["stream"] == "20260101-a"
    assert sessions("search", "elephants") == ""
    assert "No results" in sessions.err


def test_json_has_everything(sessions: Sessions) -> None:
    listed = json.loads(sessions("list", "--json"))["sessions"]
    assert [one["stream"] for one in listed] == ["20260102-b", "20260101-a"]
    shown = json.loads(sessions("show", "s1", "--json"))
    assert shown["session"]["agent"] == "echo"
    assert [(one["kind"], one["text"]) for one in shown["moments"]] == [
        *(("prompt", "Please sing"), ("message", "Of course, a song"))
    ]


def test_a_session_is_exported_and_imported(sessions: Sessions, tmp_path: Path) -> None:
    file = tmp_path / "out.ndjson"
    assert sessions("export", "s1", str(file)) == ""
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert file.read_text() == sessions("export", "s1")
    assert json.loads(file.read_text().splitlines()[0])["transcript"] == 1
    name = sessions("import", str(file)).strip()
    assert sessions("show", name).splitlines()[2:] == sessions("show", "20260101-a").splitlines()[2:]
    assert sessions("show", name).startswith("Singing")


def test_a_file_that_is_no_transcript_is_named_with_its_line(sessions: Sessions, tmp_path: Path) -> None:
    (tmp_path / "bad").write_text("nonsense\n")
    sessions("import", str(tmp_path / "bad"))
    assert sessions.status == 1
    assert "line 1: no JSON object" in sessions.err
    sessions("import", str(tmp_path / "missing"))
    assert sessions.status == 1
    assert "no such file" in sessions.err


def test_nothing_is_deleted_beneath_a_hub_that_runs(sessions: Sessions, history: Path) -> None:
    folder = history.parent / "hub"
    folder.mkdir()
    with lock_folder(folder):
        sessions("forget", "--yes", "20260101-a")
        assert sessions.status == 1
        assert f"a hub (process {os.getpid()}) uses this journal" in sessions.err
        assert "Singing" in sessions("list")
    sessions("forget", "--yes", "20260101-a")
    assert sessions.status == 0
    assert "Singing" not in sessions("list")


def test_what_is_open_elsewhere_is_not_called_damaged(sessions: Sessions, history: Path) -> None:
    lock = FolderLock(history)
    lock.share()
    try:
        sessions("repair")
    finally:
        lock.release()
    assert sessions.status == 1
    assert "is open in another process" in sessions.err
    assert "damaged" not in sessions.err


def test_deleting_finds_all_before_it_deletes_one(sessions: Sessions) -> None:
    sessions("forget", "--yes", "20260101-a", "nothing")
    assert sessions.status == 1
    assert len(json.loads(sessions("list", "--json"))["sessions"]) == 2
    assert sessions("forget", "--yes", "20260101-a", "20260102-b") == "forgot 20260101-a\nforgot 20260102-b\n"
    assert json.loads(sessions("list", "--json"))["sessions"] == []


def test_without_a_history_nothing_is_made(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "none" / "h.db"
    assert main(["sessions", "list", "--journal", str(path)]) == 0
    assert "No sessions are recorded yet" in capsys.readouterr().err
    assert main(["sessions", "search", "x", "--json", "--journal", str(path)]) == 0
    assert json.loads(capsys.readouterr().out) == {"found": []}
    assert main(["sessions", "show", "last", "--journal", str(path)]) == 1
    assert not path.parent.exists()


def test_the_default_is_the_persons_own_history(
    monkeypatch: pytest.MonkeyPatch, history: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (history.parent / "dragoman").mkdir()
    history.rename(history.parent / "dragoman" / "history.db")
    monkeypatch.setenv("XDG_DATA_HOME", str(history.parent))
    assert main(["sessions"]) == 0
    assert "Singing" in capsys.readouterr().out


def test_options_may_come_before_the_action(history: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in (["--json"], ["--json", "list"], ["list", "--json"]):
        assert main(["sessions", "--journal", str(history), *arguments]) == 0
        assert len(json.loads(capsys.readouterr().out)["sessions"]) == 2


def test_damage_is_told_behind_what_could_be_read(sessions: Sessions) -> None:
    content = sessions.history.read_bytes()
    sessions.history.write_bytes(content.replace(b"urse, a song", b"urse, a gong"))
    shown = sessions("show", "20260101-a")
    assert "> Please sing" in shown
    assert "Of co" in shown
    assert "ong" not in shown
    assert sessions.status == 1
    assert "entry 3 of 3 was changed or lost on disk" in sessions.err


def test_a_damaged_history_is_repaired_on_request(sessions: Sessions) -> None:
    assert "5 entries of 2 sessions were saved, 0 lost." in sessions("repair")
    assert len(list(sessions.history.parent.glob("h.db.damaged-*"))) == 1
    assert "Singing" in sessions("list")


def test_a_salvage_on_opening_is_told(sessions: Sessions) -> None:
    content = sessions.history.read_bytes()
    sessions.history.write_bytes(b"\0" * 4096 + content[4096:])
    assert "Singing" in sessions("list")
    assert "The history was damaged: 5 entries of 2 sessions were saved" in sessions.err


def test_a_file_that_is_no_journal_is_refused(sessions: Sessions, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("notes " * 500)
    assert main(["sessions", "list", "--journal", str(tmp_path / "notes.txt")]) == 1
    assert (tmp_path / "notes.txt").read_text() == "notes " * 500


@pytest.mark.skipif(sys.platform == "win32", reason="pipes of a shell")
def test_a_reader_that_has_enough_is_no_failure_to_complain_about(history: Path) -> None:
    async def more() -> None:
        async with open_journal(history) as journal:
            await journal.append("big", [prompt_entry(f"{n} " + "word " * 100) for n in range(2_000)])

    asyncio.run(more())
    command = [sys.executable, "-m", "dragoman", "sessions", "show", "big", "--journal", str(history)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as shown:
        assert shown.stdout is not None
        assert shown.stderr is not None
        os.read(shown.stdout.fileno(), 10)
        shown.stdout.close()
        assert shown.stderr.read() == b""
