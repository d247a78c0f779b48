"""Journals are copied while they are in use, and put back; nothing is replaced in silence."""

from __future__ import annotations

from pathlib import Path

import pytest

from dragoman.errors import JournalBusy, JournalError, NotAJournal
from dragoman_app.cli import main
from dragoman_local.journal import Entry, WrongKey, open_journal, open_sealed
from dragoman_local.journal.backup import back_up, restore

KEY = "k" * 40


async def streams(path: Path) -> list[str]:
    async with open_journal(path) as journal:
        return [info.stream for info in (await journal.list()).streams]


async def test_a_journal_is_copied_while_it_is_written_and_put_back(tmp_path: Path) -> None:
    path, copy = tmp_path / "hub.db", tmp_path / "copy.db"
    async with open_journal(path, durability="off") as journal:
        await journal.append("first", [Entry("note", b"1", 1.0)])
        made = back_up(path, copy)
        await journal.append("second", [Entry("note", b"2", 2.0)])
        with pytest.raises(JournalBusy, match="stop the hub"):
            restore(copy, path, replace=True)
    assert (made.streams, copy.stat().st_mode & 0o777) == (1, 0o600)
    assert sorted(file.name for file in tmp_path.iterdir() if "copy" in file.name) == ["copy.db"]
    put_back = restore(copy, path, replace=True)
    assert await streams(path) == ["first"]
    assert await streams(Path(put_back.replaced)) == ["second", "first"]
    assert path.stat().st_mode & 0o777 == 0o600


async def test_a_sealed_journal_stays_sealed(tmp_path: Path) -> None:
    path, copy = tmp_path / "hub.db", tmp_path / "copy.db"
    async with open_sealed(path, KEY.encode()) as journal:
        await journal.append("first", [Entry("note", b"very secret", 1.0)])
        back_up(path, copy)
    assert b"very secret" not in copy.read_bytes()
    with pytest.raises(WrongKey):
        await streams(copy)
    async with open_sealed(copy, KEY.encode()) as journal:
        assert [info.stream for info in (await journal.list()).streams] == ["first"]


def test_what_is_no_journal_is_refused_and_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("no database, but long enough to be taken for one" * 20)
    (tmp_path / "empty").touch()
    for name in ("text", "empty"):
        with pytest.raises(NotAJournal):
            back_up(tmp_path / name, tmp_path / "copy.db")
    with pytest.raises(JournalError, match="no journal"):
        back_up(tmp_path / "nowhere", tmp_path / "copy.db")
    assert sorted(file.name for file in tmp_path.iterdir()) == ["empty", "text"]


async def test_the_command_replaces_nothing_unless_told_to(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, copy = tmp_path / "hub.db", tmp_path / "copy.db"
    async with open_journal(path, durability="off") as journal:
        await journal.append("first", [Entry("note", b"1", 1.0)])
    words = ["--journal", str(path), str(copy)]
    assert [main(["journal", "backup", *words]) for _ in "12"] == [0, 1]
    assert main(["journal", "backup", "--force", *words]) == 0
    assert main(["journal", "restore", *words]) == 1
    assert main(["journal", "restore", "--json", "--force", *words]) == 0
    shown = capsys.readouterr()
    assert "--force" in shown.err
    assert '"replaced":"' in shown.out
