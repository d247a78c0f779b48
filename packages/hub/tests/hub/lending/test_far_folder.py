"""A session's folder on another machine: both ends of the questions about it, joined by a call."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from dragoman.errors import CallFailed, ErrorAnswer, LinkClosed
from dragoman_hub.lending import turn_changes
from dragoman_hub.lending.far_folder import FarSide
from dragoman_hub.lending.turn_changes import TurnChanges
from dragoman_local.workspace.remote_changes import DiskLooks


class OtherSide:
    """Looks at one folder, which sessions call by other names than the hub does; `is_cut` is a line that is
    down.
    """

    def __init__(self, folder: Path, *, place: str = "ssh:there") -> None:
        self.place = place
        self.is_cut = False
        self.looks = DiskLooks(
            lambda session_id: {"far-s": [str(folder)], "far-t": [str(folder)]}[session_id]
        )

    def side_of(self, session_id: str) -> FarSide:
        return FarSide(place=self.place, session_id=f"far-{session_id}", call=self._call)

    async def _call(self, method: str, params: dict[str, Any]) -> Any:
        if self.is_cut:
            raise LinkClosed("the line is cut")
        try:
            return msgspec.json.decode(await self.looks.answer(method, params))
        except ErrorAnswer as error:
            raise CallFailed(error.code, error.message) from None


@pytest.fixture
async def there(tmp_path: Path) -> AsyncIterator[OtherSide]:
    side = OtherSide(tmp_path)
    yield side
    await side.looks.aclose()


@pytest.fixture
async def changes(there: OtherSide) -> AsyncIterator[TurnChanges]:
    changes = TurnChanges(is_enabled=True)
    changes.far_side = there.side_of
    await changes.open()
    yield changes
    await changes.aclose()


def names(told: list[dict[str, Any]]) -> list[str]:
    return [Path(file["path"]).name for file in told]


async def test_what_a_turn_changed_there_is_told_and_nothing_that_came_later(
    changes: TurnChanges, tmp_path: Path
) -> None:
    (tmp_path / "old.txt").write_text("1\n")
    await changes.begin("s", "turn", ["/elsewhere"])
    (tmp_path / "old.txt").write_text("2\n")
    assert names((await changes.changes("s"))["files"]) == ["old.txt"]  # while it runs
    (tmp_path / "new.txt").write_text("1\n2\n")
    changes.end("s", "turn")
    told = await changes.changes("s")
    assert (names(told["files"]), told["others"], told["notes"]) == (["new.txt", "old.txt"], [], [])
    (tmp_path / "later.txt").write_text("by hand\n")
    assert names((await changes.changes("s"))["files"]) == ["new.txt", "old.txt"]
    assert await changes.tally("s") == {"files": 2, "added": 3, "removed": 1}
    await changes.begin("s", "next", ["/elsewhere"])
    changes.end("s", "next")
    assert (await changes.changes("s"))["files"] == []


async def test_files_and_hunks_are_put_back_there(changes: TurnChanges, tmp_path: Path) -> None:
    lines = [f"{number}\n" for number in range(40)]
    (tmp_path / "two.txt").write_text("".join(lines))
    await changes.begin("s", "turn", ["/elsewhere"])
    (tmp_path / "two.txt").write_text("".join(["first\n", *lines[1:-1], "last\n"]))
    (tmp_path / "new.txt").write_text("new\n")
    changes.end("s", "turn")
    two, new = str(tmp_path / "two.txt"), str(tmp_path / "new.txt")
    await changes.revert("s", two, [0])
    assert (tmp_path / "two.txt").read_text() == "".join([*lines[:-1], "last\n"])
    left = (await changes.changes("s"))["files"]
    assert (names(left), [len(file["hunks"]) for file in left]) == (["new.txt", "two.txt"], [1, 1])
    await changes.revert("s", new, None)
    assert not (tmp_path / "new.txt").exists()
    assert names((await changes.changes("s"))["files"]) == ["two.txt"]
    (tmp_path / "two.txt").write_text("by hand\n")
    with pytest.raises(ErrorAnswer, match="changed again"):
        await changes.revert("s", two, None)


async def test_turns_of_two_sessions_meet_in_a_folder_of_one_machine_alone(
    there: OtherSide, changes: TurnChanges, tmp_path: Path
) -> None:
    other_machine = OtherSide(tmp_path, place="ssh:elsewhere")
    for side, is_shared in ((there, True), (other_machine, False)):
        changes.far_side = lambda session_id, side=side: (  # type: ignore[misc]  # bound now
            side if session_id == "t" else there
        ).side_of(session_id)
        await changes.begin("s", "turn", ["/elsewhere"])
        await changes.begin("t", "turn", ["/elsewhere"])
        (tmp_path / f"{is_shared}.txt").write_text("whose?\n")
        changes.end("s", "turn")
        changes.end("t", "turn")
        told = await changes.changes("s")
        assert names(told["others"] if is_shared else told["files"]) == [f"{is_shared}.txt"]
        await changes.changes("t")
    await other_machine.looks.aclose()


async def test_a_line_that_is_down_is_named_and_a_turn_is_not_kept_by_it(
    there: OtherSide, changes: TurnChanges, tmp_path: Path
) -> None:
    there.is_cut = True
    await changes.begin("s", "turn", ["/elsewhere"])
    changes.end("s", "turn")
    unknown = "changes in ssh:there:/elsewhere are not known: the line is cut"
    assert await changes.changes("s") == {"files": [], "others": [], "notes": [unknown]}
    there.is_cut = False
    await changes.begin("s", "next", ["/elsewhere"])
    there.is_cut = True
    assert (await changes.changes("s"))["notes"] == [unknown]  # while it runs
    there.is_cut = False
    (tmp_path / "a.txt").write_text("a\n")
    changes.end("s", "next")
    assert names((await changes.changes("s"))["files"]) == ["a.txt"]


async def test_a_turn_does_not_wait_for_a_line_that_says_nothing(
    there: OtherSide, changes: TurnChanges, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(turn_changes, "LOOK_SECONDS", 0.01)
    silence = asyncio.Event()

    async def wait(method: str, params: dict[str, Any]) -> Any:
        await silence.wait()
        return {}

    changes.far_side = lambda session_id: FarSide(place="ssh:there", session_id=session_id, call=wait)
    await changes.begin("s", "turn", ["/elsewhere"])
    changes.end("s", "turn")
    (note,) = (await changes.changes("s"))["notes"]
    assert note.startswith("changes in ssh:there:/elsewhere are not known: a look at it took longer")
    silence.set()
    await changes.aclose()
