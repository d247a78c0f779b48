"""Folders of the hub's machine, as somebody types the path of one."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from dragoman_hub.gate.admission import Grant
from dragoman_hub.lending import file_search
from dragoman_hub.lending.file_search import MOST, SKIPPED, complete_folder, find_files
from tests.hub.sessions.agents import obedient
from tests.hub.sessions.stage import staged

ANYBODY = Grant("owner", frozenset({"prompt"}))


@pytest.fixture
def home(tmp_path: Path) -> Path:
    for name in ("parser", "parts", ".hidden", "other"):
        (tmp_path / name).mkdir()
    (tmp_path / "paper.txt").write_text("no folder")
    return tmp_path


def test_folders_that_a_path_may_become_are_offered(home: Path) -> None:
    found = complete_folder(f"{home}/pa", grant=ANYBODY)
    folders = [f"{home}/parser", f"{home}/parts"]
    assert found == {"path": f"{home}/pa", "exists": False, "folders": folders, "repositories": []}


def test_repositories_among_the_folders_and_around_the_path_are_named(home: Path) -> None:
    (home / "parser" / ".git").mkdir()
    (home / "parser" / "src").mkdir()
    assert complete_folder(f"{home}/pa", grant=ANYBODY)["repositories"] == [f"{home}/parser"]
    assert complete_folder(f"{home}/parser/src", grant=ANYBODY)["repositories"] == [f"{home}/parser"]
    stranger = Grant("stranger", frozenset({"prompt"}), roots=(f"{home}/parts",))
    assert complete_folder(f"{home}/pa", grant=stranger)["repositories"] == []


def test_a_folder_exists_and_a_file_or_a_relative_path_does_not(home: Path) -> None:
    assert complete_folder(f"{home}/parser", grant=ANYBODY)["exists"] is True
    for path in (f"{home}/paper.txt", "parser", "", f"{home}/\0"):
        assert complete_folder(path, grant=ANYBODY)["exists"] is False


def test_hidden_folders_are_offered_to_those_who_type_the_dot(home: Path) -> None:
    assert complete_folder(f"{home}/", grant=ANYBODY)["folders"] == [
        f"{home}/other",
        f"{home}/parser",
        f"{home}/parts",
    ]
    assert complete_folder(f"{home}/.", grant=ANYBODY)["folders"] == [f"{home}/.hidden"]


def test_a_token_sees_nothing_outside_its_roots(home: Path) -> None:
    grant = Grant("guest", frozenset({"prompt"}), roots=(str(home / "parser"),))
    assert complete_folder(f"{home}/", grant=grant)["folders"] == [f"{home}/parser"]
    assert complete_folder(f"{home}/other", grant=grant) == {
        "path": f"{home}/other",
        "exists": False,
        "folders": [],
        "repositories": [],
    }


def test_a_folder_that_cannot_be_read_and_one_of_very_many_cost_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert complete_folder(f"{tmp_path}/none/a", grant=ANYBODY)["folders"] == []
    for number in range(MOST + 10):
        (tmp_path / f"{number:03}").mkdir()
    folders = complete_folder(f"{tmp_path}/", grant=ANYBODY)["folders"]
    assert folders == [f"{tmp_path}/{number:03}" for number in range(MOST)]
    monkeypatch.setattr(file_search, "LOOKED_AT", 3)
    looked_at = complete_folder(f"{tmp_path}/", grant=ANYBODY)["folders"]
    assert isinstance(looked_at, list)
    assert len(looked_at) == 3


def test_the_path_of_a_home_is_resolved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "work").mkdir()
    found = complete_folder("~/wo", grant=ANYBODY)
    assert (found["path"], found["folders"]) == (f"{tmp_path}/wo", [f"{tmp_path}/work"])


def test_files_are_found_in_order_and_what_nobody_edits_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for folder in ("src", ".git", *SKIPPED):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "parser.py").touch()
    (tmp_path / "long_parser.py").touch()
    (tmp_path / ".parser.py").touch()
    every_file = [".parser.py", "src/parser.py", "long_parser.py"]
    assert find_files(str(tmp_path), "", 10) == every_file
    assert find_files(str(tmp_path), "", 2) == every_file[:2]
    assert sorted(find_files(str(tmp_path), "parser", 10)) == sorted(every_file)
    assert find_files(str(tmp_path), "src", 10) == ["src/parser.py"]
    monkeypatch.setattr(file_search, "FILES_LOOKED_AT", 1)
    assert "src/parser.py" not in find_files(str(tmp_path), "", 10)


async def test_a_name_that_is_no_text_does_not_keep_the_others_from_being_told(tmp_path: Path) -> None:
    (tmp_path / "good.txt").touch()
    (tmp_path / "good").mkdir()
    os.mkdir(os.fsencode(tmp_path) + b"/goo\xff")
    with open(os.fsencode(tmp_path) + b"/good\xff.txt", "wb"):
        pass
    async with staged({"one": obedient}) as stage:
        client = await stage.client().begin()
        session = await client.new(str(tmp_path))
        found = await client.call("_dragoman/hub/files", {"sessionId": session, "pattern": "good"})
        assert found["files"] == ["good.txt", "good\ufffd.txt"]
        folders = await client.call("_dragoman/hub/folders", {"path": f"{tmp_path}/goo"})
        assert folders["folders"] == [f"{tmp_path}/good", f"{tmp_path}/goo\ufffd"]
