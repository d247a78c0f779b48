"""`dragoman journal` and `dragoman journal prune`, over the journals of one person."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from dragoman.testing.pace import patience
from dragoman_app.cli import main
from dragoman_hub.folder_lock import lock_folder
from dragoman_local.contracts.journals import prompt_entry
from dragoman_local.journal.history import history_path
from dragoman_local.journal.sqlite import SqliteJournal
from dragoman_local.kit.journal_lender import sessions_path
from tests.cli.test_sessions_forget import MARKER, folder, streams_in
from tests.journal.test_erasure import files_with

__all__ = ["folder"]

pytestmark = pytest.mark.bound(60)


def record(path: Path, *streams: str, days: float, text: str = "hello") -> None:
    """Sessions in which nothing was said for so many days."""

    async def append() -> None:
        late = time.time() - days * 86400
        async with SqliteJournal(path, durability="off", clock=lambda: late) as journal:
            for stream in streams:
                await journal.append(stream, [prompt_entry(text)])
                await journal.describe(stream, state="end_turn", session=stream)

    asyncio.run(append())


def prune(*words: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, dict[str, list[dict[str, object]]]]:
    status = main(["journal", "prune", *words, "--json"])
    return status, json.loads(capsys.readouterr().out)


def test_it_says_how_much_is_stored_since_when_and_the_setting(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    record(history_path(), "a", "b", days=400)
    settings = folder / "config" / "dragoman" / "hub.toml"
    settings.parent.mkdir(parents=True)
    settings.write_text("keep_days = 30\n")
    assert main(["journal"]) == 0
    said = capsys.readouterr().out
    since = time.strftime("%Y-%m-%d", time.localtime(time.time() - 400 * 86400))
    assert f"history   2 sessions since {since}, " in said
    assert "hub       nothing stored\n" in said
    assert "keep_days = 30: the hub erases a session after 30 days.\n" in said
    assert main(["journal", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert [(journal["name"], journal["sessions"]) for journal in report["journals"]] == [
        ("history", 2),
        ("agents", 0),
        ("hub", 0),
    ]


def test_old_sessions_of_every_journal_go_and_others_stay(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    hub = history_path().with_name("hub.db")
    for path in (history_path(), sessions_path(), hub):
        record(path, f"old-{path.stem}", days=100, text=MARKER)
        record(path, f"new-{path.stem}", days=10)
    status, report = prune("--older-than", "90d", "--dry-run", capsys=capsys)
    assert [journal["sessions"] for journal in report["journals"]] == [
        ["old-history"],
        ["old-sessions"],
        ["old-hub"],
    ]
    assert status == 0
    assert len(files_with(MARKER, folder)) == 3

    assert prune("--older-than", "90d", capsys=capsys)[0] == 0
    assert [streams_in(path) for path in (history_path(), sessions_path(), hub)] == [
        ["new-history"],
        ["new-sessions"],
        ["new-hub"],
    ]
    assert files_with(MARKER, folder) == []
    assert main(["journal", "prune", "--older-than", "90d", "--journal", str(folder / "no.db")]) == 1
    assert "no such file" in capsys.readouterr().err


def test_a_hub_that_runs_is_asked_and_not_passed_over(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    record(history_path().with_name("hub.db"), "old", days=100)
    record(history_path(), "old", days=100)
    place = history_path().with_name("hub")
    place.mkdir()
    with lock_folder(place):
        assert main(["journal", "prune", "--older-than", "90d"]) == 1
    assert "the hub needs a token. Set DRAGOMAN_TOKEN, or use --token-file" in capsys.readouterr().err
    assert streams_in(history_path().with_name("hub.db")) == ["old"]
    assert streams_in(history_path()) == []


@pytest.mark.skipif(sys.platform == "win32", reason="kills a process with a signal")
def test_a_prune_that_is_killed_is_finished_by_the_next(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    record(history_path(), *(f"old-{number}" for number in range(160)), days=100, text=MARKER)
    record(history_path(), "new", days=1)
    process = subprocess.Popen(
        [sys.executable, "-m", "dragoman", "journal", "prune", "--older-than", "90d"],
        env=dict(os.environ),
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
    )
    assert process.stderr is not None
    assert b"erased 50 of 160" in process.stderr.readline()
    process.send_signal(signal.SIGKILL)
    process.wait(patience(30))
    process.stderr.close()
    main(["sessions", "list", "--limit", "0", "--json"])
    states = {session["state"] for session in json.loads(capsys.readouterr().out)["sessions"]}
    assert states == {"end_turn"}, "nothing is half erased"
    assert prune("--older-than", "90d", capsys=capsys)[0] == 0
    assert streams_in(history_path()) == ["new"]
    assert files_with(MARKER, folder) == []
