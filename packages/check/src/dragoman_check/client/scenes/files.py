"""Scenes about a client's files: written, read whole and in part, missing, and outside the allowed folders.

Everything happens in a folder of our own within the session's, which is gone afterwards. Where the session's
folder is not on this machine, only what the client itself keeps is tried.
"""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

from dragoman.wire.envelope import JsonObject
from dragoman_check.client.scenes.permissions import is_allowed
from dragoman_check.client.turn import StandInTurn

READ, WRITE = "fs/read_text_file", "fs/write_text_file"

LINES = "one\ntwo \U0001f409\nthree\n\nfive\n"


async def files(turn: StandInTurn) -> None:
    if not turn.can("fs", "readTextFile") and not turn.can("fs", "writeTextFile"):
        return
    place, outside = _place(turn.folder), Path(tempfile.mkdtemp(prefix="dragoman-check-outside-"))
    try:
        (outside / "secret.txt").write_text("must not be read\n")
        file = place / "lines.txt"
        if turn.can("fs", "writeTextFile") and await is_allowed(
            turn, f"Write {file}", kind="edit", path=str(file)
        ):
            await _writes(turn, file)
        if turn.can("fs", "readTextFile"):
            await _reads(turn, file)
            await _strays(turn, place, outside)
    finally:
        for folder in {place, outside} - {turn.folder}:
            shutil.rmtree(folder, ignore_errors=True)


def _place(folder: Path) -> Path:
    """Ours, if the session's folder is here at all."""
    try:
        return Path(tempfile.mkdtemp(prefix="dragoman-check-", dir=folder))
    except OSError:
        return folder


def _holds(file: Path) -> bool | None:
    """Whether the file has the written text; None if this machine does not have its folder."""
    if not file.parent.is_dir():
        return None
    try:
        return file.read_bytes() == LINES.encode()
    except OSError:
        return False


def _put(file: Path) -> None:
    with contextlib.suppress(OSError):
        file.write_bytes(LINES.encode())


async def _writes(turn: StandInTurn, file: Path) -> None:
    await turn.call(WRITE, {"path": str(file), "content": LINES}, name="write a file")
    turn.fact("written", _holds(file))
    more = {"path": str(file.parent / "missing folder" / "file.txt"), "content": "x\n"}
    await turn.call(WRITE, more, name="write into a missing folder")
    await turn.call(WRITE, {"path": str(file), "content": LINES}, name="write a file again")


async def _reads(turn: StandInTurn, file: Path) -> None:
    if _holds(file) is False:
        _put(file)
    tries: dict[str, JsonObject] = {
        "read a file": {},
        "read lines": {"line": 2, "limit": 2},
        "read from a line": {"line": 3},
        "read some lines": {"limit": 1},
        "read past the end": {"line": 99, "limit": 1},
        "read line 0": {"line": 0, "limit": 1},
        "read no lines": {"line": 1, "limit": 0},
        "read with null": {"line": None, "limit": None},
        "read with a bad line": {"line": "x"},
        "read with meta": {"bogus": 1, "_meta": {"path": "/etc/hostname"}},
    }
    for name, more in tries.items():
        await turn.call(READ, {"path": str(file), **more}, name=name)
    await turn.call(READ, {"path": str(file.parent / "missing.txt")}, name="read a missing file")


def _is_lent(outside: Path, folders: Sequence[Path]) -> bool:
    return any(outside.resolve().is_relative_to(folder.resolve()) for folder in folders)


async def _strays(turn: StandInTurn, place: Path, outside: Path) -> None:
    """Try files outside of the session's folders, only on this machine."""
    if place == turn.folder or _is_lent(outside, turn.folders):
        return
    await turn.call(READ, {"path": str(outside / "secret.txt")}, name="read outside")
    up = [".."] * len(place.parts[1:])
    dots = place.joinpath(*up, *outside.parts[1:], "secret.txt")
    await turn.call(READ, {"path": str(dots)}, name="read through dots")
    if _link(place / "link.txt", outside / "secret.txt"):
        await turn.call(READ, {"path": str(place / "link.txt")}, name="read through a link")
    (place / "bytes.txt").write_bytes(b"no text: \xff\xc3\x28\n")
    await turn.call(READ, {"path": str(place / "bytes.txt")}, name="read what is not text")
    stranger = {"path": str(place / "lines.txt"), "sessionId": "nobody's"}
    await turn.call(READ, stranger, name="read for an unknown session")


def _link(path: Path, target: Path) -> bool:
    """Whether there are links here."""
    try:
        path.symlink_to(target)
    except (OSError, NotImplementedError):
        return False
    return True
