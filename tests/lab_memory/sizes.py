"""How large the store is, beside what `git gc` makes of the same content."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from tests.lab_memory.edits import Editor
from tests.lab_memory.model import BEFORE, Chance, Origin, Pen
from tests.lab_memory.stage import Stage
from tests.lab_memory.world import Step, Turn


def size_of(folder: Path) -> int:
    return sum(os.lstat(f"{where}/{name}").st_size for where, _, names in os.walk(folder) for name in names)


def store_files(stage: Stage) -> dict[str, int]:
    """Everything in the home of the run but the journal's own files and the audit log: the store, wherever it
    is.
    """
    found = {}
    for where, _, names in os.walk(stage.home):
        for name in names:
            path = Path(where, name)
            if not name.startswith(("history.db", "audit.jsonl")):
                found[str(path.relative_to(stage.home))] = path.lstat().st_size
    return found


class Reference:
    """A repository that gets each state of the folder as a commit, without what is ignored."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def _git(self, stage: Stage, *words: str) -> None:
        stage.git(f"--git-dir={self.folder}", f"--work-tree={stage.folder}", *words)

    def keep(self, stage: Stage) -> None:
        if not self.folder.exists():
            self._git(stage, "init", "-q")
        self._git(stage, "add", "-A")
        self._git(stage, "commit", "-q", "--allow-empty", "-m", "state")

    def packed(self, stage: Stage) -> int:
        """Bytes after `git gc`."""
        self._git(stage, "reflog", "expire", "--expire=now", "--all")
        self._git(stage, "gc", "-q", "--prune=now")
        return size_of(self.folder / "objects")


MONTH = 30 * 50
"""Turns of a month."""


def month(stage: Stage, seed: int, turns: int, files: int, say: Callable[[str], None]) -> list[str]:
    """Some turns in a folder of many files, from which a month of 50 turns a day is reckoned; what failed."""
    chance = Chance(seed)
    editor = Editor(chance, Pen(chance))
    code = {}
    for place in range(files):
        edit = editor.new_file(f"src/part{place // 100}/file{place}.py", chance.between(20, 90), BEFORE)
        assert edit.after is not None
        code[edit.path] = edit.after
    stage.begin(code)
    paths, first = sorted(code), 0
    for number in range(1, turns + 1):
        steps = []
        for _ in range(chance.between(1, 5)):
            path = chance.pick(paths)
            edit = editor.edit(path, code[path], chance.between(0, 20), Origin("agent", 1, number))
            assert edit.after is not None
            code[path] = edit.after
            steps.append(Step(chance.pick(("lent", "own", "terminal")), (edit,)))
        stage.play(Turn(1, number, f"Go on (task 1-{number})", tuple(steps)))
        if number == 1:
            first = sum(store_files(stage).values())
    last = sum(store_files(stage).values())
    whole = first + (last - first) / max(turns - 1, 1) * (MONTH - 1)
    say(
        f"{files} files: the store has {first:,} bytes after one turn, {last:,} after {turns}; "
        f"a month of {MONTH} turns would have {whole / 1e6:.1f} MB"
    )
    if not last:
        return ["a month: no store was found"]
    return (
        [] if whole < 500e6 else [f"a month of turns would have {whole / 1e6:.0f} MB, below 500 are wanted"]
    )


def compare(stage: Stage, reference: Reference, say: Callable[[str], None]) -> list[str]:
    """The store beside git's packs of the same states; what failed."""
    store, packed = store_files(stage), reference.packed(stage)
    size = sum(store.values())
    journal = sum(path.stat().st_size for path in stage.home.rglob("history.db*"))
    say(
        f"store {size:,} bytes in {len(store)} files, git gc {packed:,}: {size / packed:.2f}x; "
        f"journal {journal:,}"
    )
    if not store:
        return ["no store was found beside the journal"]
    return (
        []
        if size <= 1.2 * packed
        else [f"the store is {size / packed:.2f}x of git's, at most 1.2x is wanted"]
    )
