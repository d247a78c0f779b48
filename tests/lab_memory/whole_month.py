"""A month of turns in a folder of 10,000 files, all of them: `python -m tests.lab_memory.whole_month`.

The lab plays its turns through `dragoman run`, and reckons a month from some of them. This program talks to
the store itself, which is quick enough for 1,500 turns: each begins and ends with a look, and a few dozen
files change between them. The store must stay below 500 MB, and rewinds must lead to the same bytes.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import tempfile
import time
from pathlib import Path

from dragoman_app.apps.folder_memory import open_recorded
from dragoman_local.workspace.rewind import plan_rewind
from dragoman_local.workspace.snapshots import take_snapshot
from dragoman_local.workspace.tree_store import TreeStore
from tests.lab_memory.edits import Editor
from tests.lab_memory.model import BEFORE, Chance, File, Origin, Pen
from tests.lab_memory.sizes import MONTH

LIMIT = 500e6
WAYS_BACK = 20
"""Rewinds at the end, to turns chosen by chance, each with the way forth."""


class Month:
    """The folder and its store."""

    def __init__(self, root: Path, seed: int) -> None:
        self.folder, self.store = root / "folder", TreeStore(str(root / "memory.db"))
        self._chance = Chance(seed)
        self._editor = Editor(self._chance, Pen(self._chance))
        self._code: dict[str, File] = {}
        self._looks: list[tuple[int, str]] = []

    def begin(self, files: int) -> None:
        for place in range(files):
            edit = self._editor.new_file(
                f"src/part{place // 100}/file{place}.py", self._chance.between(20, 90), BEFORE
            )
            self._write(edit.path, edit.after, edit.content)

    def _write(self, path: str, file: File | None, content: str | None) -> None:
        assert file is not None
        assert content is not None
        self._code[path] = file
        (self.folder / path).parent.mkdir(parents=True, exist_ok=True)
        (self.folder / path).write_text(content, encoding="utf-8")

    async def turn(self, number: int) -> None:
        turn = self.store.begin_turn(
            "month", [str(self.folder)], stream="month", agent="lab", prompt=f"Go on {number}"
        )
        async with await take_snapshot([str(self.folder)], store=self.store) as before:
            await before.record(turn, "begin")
            if number % 10 == 1:
                first = self.store.turns()[-1].first
                assert first is not None
                self._looks.append((first, self.digest()))
            paths = sorted(self._code)
            for _ in range(self._chance.between(24, 48)):
                path = self._chance.pick(paths)
                edit = self._editor.edit(
                    path, self._code[path], self._chance.between(0, 20), Origin("agent", 1, number)
                )
                self._write(path, edit.after, edit.content)
            async with await before.retake() as after:
                await after.record(turn, "end")
        self.store.end_turn(turn)

    def digest(self) -> str:
        """Of all bytes and modes."""
        digest = hashlib.sha256()
        for path in sorted(self.folder.rglob("*")):
            if path.is_file():
                digest.update(f"{path} {path.stat().st_mode}\n".encode() + path.read_bytes())
        return digest.hexdigest()

    async def go_back(self) -> int:
        """Rewinds that did not lead to the state that was there, or not back."""
        wrong = 0
        for _ in range(WAYS_BACK):
            look, wanted = self._chance.pick(self._looks)
            there = self.digest()
            await self._rewind(look, is_undo=False)
            found = self.digest()
            first = self.store.turns()[-1].first
            assert first is not None
            await self._rewind(first, is_undo=True)
            wrong += found != wanted or self.digest() != there
        return wrong

    async def _rewind(self, look: int, *, is_undo: bool) -> None:
        plan = await plan_rewind(self.store, str(self.folder), look, open_recorded)
        try:
            await plan.carry_out("month", is_undo=is_undo)
        finally:
            await plan.aclose()


def main() -> int:
    reader = argparse.ArgumentParser(prog="python -m tests.lab_memory.whole_month", description=__doc__)
    reader.add_argument("--seed", type=int, default=1)
    reader.add_argument("--turns", type=int, default=MONTH)
    reader.add_argument("--files", type=int, default=10_000)
    options = reader.parse_args()
    with tempfile.TemporaryDirectory(prefix="lab-month-") as root:
        month = Month(Path(root), options.seed)
        month.begin(options.files)
        database = Path(root, "memory.db")
        most = 0
        begin = time.process_time()
        for number in range(1, options.turns + 1):
            asyncio.run(month.turn(number))
            if number in (1, options.turns) or number % 100 == 0:
                size = sum(path.stat().st_size for path in Path(root).glob("memory.db*"))
                most = max(most, size)
                print(f"{number} turns: {size:,} bytes, {time.process_time() - begin:.0f} s", flush=True)
        left = len(month.store.turns())
        wrong = asyncio.run(month.go_back())
        month.store.close()
        size = database.stat().st_size
    print(
        f"at the end {size:,} bytes, at most {most:,}; {left} turns remembered; "
        f"{wrong} of {WAYS_BACK} ways back wrong"
    )
    is_good = most < LIMIT and not wrong and left == options.turns
    print("PASSED" if is_good else "FAILED")
    return 0 if is_good else 1


if __name__ == "__main__":
    raise SystemExit(main())
