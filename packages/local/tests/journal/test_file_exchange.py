"""Where the successor of a journal is built, and under which names an old one is kept."""

from __future__ import annotations

from pathlib import Path

from dragoman_local.journal.file_exchange import draft_folder, free_name


def test_a_draft_is_beside_its_journal_and_gone_afterwards(tmp_path: Path) -> None:
    """In the same file system: it is renamed to take the journal's place."""
    with draft_folder(tmp_path / "j.db") as folder:
        assert folder.parent == tmp_path
        assert "j.db" in folder.name
    assert list(tmp_path.iterdir()) == []


def test_no_two_journals_are_kept_under_one_name(tmp_path: Path) -> None:
    names = set()
    for end in ("", "-wal", "-shm"):
        name = free_name(tmp_path / "j.db", "damaged")
        assert name.parent == tmp_path
        assert name.name.startswith("j.db.damaged-")
        Path(f"{name}{end}").touch()
        names.add(name)
    assert len(names) == 3
