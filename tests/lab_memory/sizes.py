"""How large the store is, beside what `git gc` makes of the same content."""

from __future__ import annotations

import os
from pathlib import Path

from tests.lab_memory.stage import Stage


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
