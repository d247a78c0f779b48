"""Folders of the hub's machine, as somebody types the path of one."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from dragoman_hub.gate.admission import Grant
from dragoman_hub.lending.file_search import complete_folder
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
