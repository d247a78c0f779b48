"""What changed on another machine's disk, asked from here: both ends, joined by a call."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from dragoman.errors import CallFailed, ErrorAnswer, LinkClosed, LocalMistake
from dragoman_local.workspace.change_set import RevertRefused
from dragoman_local.workspace.remote_changes import (
    CHANGES_METHOD,
    LOOK_METHOD,
    REVERT_METHOD,
    DiskLooks,
    look_there,
)


class OtherSide:
    """Answers as a lender does, about one session and its folder."""

    def __init__(self, folder: Path) -> None:
        self.looks = DiskLooks({"s": [str(folder)]}.__getitem__)

    async def call(self, method: str, params: dict[str, Any]) -> Any:
        try:
            return msgspec.json.decode(await self.looks.answer(method, params))
        except ErrorAnswer as error:
            raise CallFailed(error.code, error.message) from None


async def test_changes_are_told_and_put_back(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("before\n")
    side = OtherSide(tmp_path)
    snapshot = await look_there(side.call, "s")
    (tmp_path / "a.txt").write_text("after\n")
    (tmp_path / "b.bin").write_bytes(b"\0\1")
    changes = await snapshot.compare()
    assert [(Path(file.path).name, file.kind, file.binary) for file in changes.files] == [
        ("a.txt", "modified", False),
        ("b.bin", "added", True),
    ]
    assert "-before\n+after\n" in str(changes.files[0].diff)
    await changes.revert(str(tmp_path / "a.txt"))
    assert (tmp_path / "a.txt").read_text() == "before\n"
    (tmp_path / "b.bin").write_bytes(b"\0\2")  # somebody works on it
    with pytest.raises(RevertRefused, match="changed again"):
        await changes.revert(str(tmp_path / "b.bin"))
    with pytest.raises(RevertRefused, match="not among the changes"):
        await changes.revert("/etc/passwd")
    await side.looks.aclose()


async def test_a_look_counts_from_the_last_one_on(tmp_path: Path) -> None:
    side = OtherSide(tmp_path)
    await look_there(side.call, "s")
    (tmp_path / "a.txt").write_text("the first turn")
    snapshot = await look_there(side.call, "s")
    assert (await snapshot.compare()).files == []
    await side.looks.forget("s")
    with pytest.raises(LocalMistake, match="Dragoman has not looked"):
        await snapshot.compare()


async def test_what_makes_no_sense_is_refused(tmp_path: Path) -> None:
    looks = OtherSide(tmp_path).looks
    for method, params in ((CHANGES_METHOD, {}), (REVERT_METHOD, {"sessionId": "s", "path": 7})):
        with pytest.raises(ErrorAnswer, match="Invalid params"):
            await looks.answer(method, params)


async def test_a_folder_that_is_gone_and_a_broken_line_are_named(tmp_path: Path) -> None:
    side = OtherSide(tmp_path / "gone")
    with pytest.raises(LocalMistake, match="is not a folder"):
        await look_there(side.call, "s")

    async def cut(method: str, params: dict[str, Any]) -> Any:
        raise LinkClosed("the line is cut")

    with pytest.raises(LocalMistake, match="the line is cut"):
        await look_there(cut, "s")


async def test_hunks_are_put_back_by_their_places(tmp_path: Path) -> None:
    lines = [f"{number}\n" for number in range(40)]
    (tmp_path / "a.txt").write_text("".join(lines))
    side = OtherSide(tmp_path)
    snapshot = await look_there(side.call, "s")
    (tmp_path / "a.txt").write_text("".join(["first\n", *lines[1:-1], "last\n"]))
    changes = await snapshot.compare()
    await changes.revert_hunks(str(tmp_path / "a.txt"), [1])
    assert (tmp_path / "a.txt").read_text() == "".join(["first\n", *lines[1:]])
    with pytest.raises(ErrorAnswer, match="hunks are numbers"):
        await side.looks.answer(REVERT_METHOD, {"sessionId": "s", "path": "/a", "hunks": "all"})
    await side.looks.aclose()


async def test_a_file_that_is_as_it_was_is_not_read_by_the_next_look(tmp_path: Path) -> None:
    folders = [str(tmp_path)]
    looks = DiskLooks(lambda _: folders)
    (tmp_path / "a.txt").write_text("a")
    await looks.answer(LOOK_METHOD, {"sessionId": "s"})
    first = looks._snapshots["s"]
    await looks.answer(LOOK_METHOD, {"sessionId": "s"})
    second = looks._snapshots["s"]
    assert (first.is_closed, second._archive is first._archive) == (True, True)
    (tmp_path / "b").mkdir()
    folders.append(str(tmp_path / "b"))
    await looks.answer(LOOK_METHOD, {"sessionId": "s"})
    assert (second.is_closed, looks._snapshots["s"].roots) == (True, (str(tmp_path), str(tmp_path / "b")))
    await looks.aclose()
