"""Nothing that a repository's configuration names is run, by whatever command of ours looks at it."""

from __future__ import annotations

import subprocess
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from dragoman.errors import DragomanError
from dragoman.system.git import find_git, read_settings
from dragoman.testing.pace import patience
from dragoman_app.apps.chat.files import list_files
from dragoman_local.workspace.snapshots import take_snapshot
from dragoman_review import git as review_git
from tests.forks import DRAGOMAN
from tests.system.hostile_repository import HostileRepository


@pytest.fixture
def hostile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> HostileRepository:
    # Whoever runs the tests has settings of their own.
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    monkeypatch.setenv("HOME", str(tmp_path))
    return HostileRepository(tmp_path)


@pytest.mark.parametrize("words", [("diff",), ("status",), ("ls-files", "-m"), ("add", "a.py")])
def test_the_traps_work(hostile: HostileRepository, words: tuple[str, ...]) -> None:
    hostile.plain_git(*words)
    assert hostile.canaries()


async def _changes(folder: Path) -> None:
    found = await review_git.changes(folder)
    assert {file.path: file.lines for file in found.files}["a.py"] == frozenset({2})
    assert {"new.py", "a.py"} <= {file.path for file in found.files}


async def _staged(folder: Path) -> None:
    assert (await review_git.changes(folder, is_staged=True)).files == ()


async def _against(folder: Path) -> None:
    assert (await review_git.changes(folder, against="main")).files


async def _listing(folder: Path) -> None:
    files = await review_git.list_files(folder)
    assert files is not None
    assert folder / "a.py" in files


async def _text(folder: Path) -> None:
    assert await review_git.text_at(folder, "HEAD", "a.py") == b"one\ntwo\n"
    assert await review_git.text_at(folder, ":0", "a.py") == b"one\ntwo\n"


async def _names(folder: Path) -> None:
    assert "a.py" in list_files(str(folder))


async def _snapshot(folder: Path) -> None:
    async with await take_snapshot([str(folder)]) as snapshot:
        (folder / "a.py").write_text("three\n")
        changes = await snapshot.compare()
        assert [Path(change.path).name for change in changes.files] == ["a.py"]
        await changes.revert(changes.files[0].path)
    assert (folder / "a.py").read_text() == "one\nTWO\n"


LOOKS: list[Callable[[Path], Awaitable[None]]] = [
    _changes,
    _staged,
    _against,
    _listing,
    _text,
    _names,
    _snapshot,
]


@pytest.mark.bound(30)
@pytest.mark.parametrize("look", LOOKS)
async def test_looking_at_a_repository_runs_nothing_of_it(
    hostile: HostileRepository, look: Callable[[Path], Awaitable[None]]
) -> None:
    await look(hostile.folder)
    assert hostile.canaries() == []


@pytest.mark.bound(30)
@pytest.mark.parametrize("look", LOOKS)
@pytest.mark.parametrize("missing", ["HEAD", "HEAD:a.py"])
async def test_what_is_missing_is_not_fetched(
    hostile: HostileRepository, look: Callable[[Path], Awaitable[None]], missing: str
) -> None:
    hostile.lose_object(missing)
    try:
        await look(hostile.folder)
    except (AssertionError, DragomanError):
        pass  # it cannot be seen without the object; only what was run counts here
    assert hostile.canaries() == []


@pytest.mark.parametrize("words", [["review", "--diff"], ["review", "--staged"], ["review", "."]])
def test_the_commands_of_the_reviewer_run_nothing_of_it(hostile: HostileRepository, words: list[str]) -> None:
    done = subprocess.run(
        [*DRAGOMAN, *words],
        cwd=hostile.folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=patience(120),
    )
    assert hostile.canaries() == []
    assert "Traceback" not in done.stderr
    assert done.returncode in (0, 1), done.stderr


async def test_settings_that_say_how_files_are_stored_are_kept(tmp_path: Path) -> None:
    repository = HostileRepository(tmp_path)
    config = repository.folder / ".git/config"
    config.write_text("[core]\n\trepositoryformatversion = 0\n\tautocrlf = true\n\texcludesFile = hidden\n")
    (repository.folder / ".gitattributes").unlink()
    (repository.folder / ".git/info/attributes").unlink()
    (repository.folder / "hidden").write_text("new.py\nhidden\ninner\n")
    (repository.folder / "a.py").write_bytes(b"one\r\ntwo\r\nthree\r\n")
    found = await review_git.changes(repository.folder)
    assert {file.path: file.lines for file in found.files} == {"a.py": frozenset({3})}


def test_settings_are_read_by_name_alone() -> None:
    answer = b"core.autocrlf\ninput\0core.eol\0core.fsmonitor\n/x\0filter.x.clean\ny\0"
    assert read_settings(answer) == ("core.autocrlf=input", "core.eol=true")


def test_git_is_not_taken_from_the_folder_that_is_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "git").write_text("#!/bin/sh\n")
    (tmp_path / "git").chmod(0o755)
    monkeypatch.chdir(tmp_path)
    assert find_git({"PATH": ".:bin:"}) is None
