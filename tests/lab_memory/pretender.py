"""A stage without Dragoman, whose answers are the truth and whose rewinds put remembered bytes back.

It examines the examination: whoever is right passes it, and each planted mistake fails it.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from tests.lab_memory.model import rows
from tests.lab_memory.stage import Stage, is_kept_apart, session_name
from tests.lab_memory.world import Turn, World

MISTAKES = ("a mode", "a canary", "the index", "a typed line", "a secret", "the way back")
"""What a rewind can do wrong, one thing at a time."""

Kept = Mapping[str, tuple[int, bytes] | str]
"""Mode and bytes of files, targets of links."""


class Pretender(Stage):
    def __init__(self, root: Path, world: World) -> None:
        # Nothing is run, so nothing has to fork.
        super().__init__(root, None)  # type: ignore[arg-type]
        self._world = world
        self.mistake: str | None = None
        self._before: dict[tuple[str, int], Kept] = {}
        self._undone: Kept = {}

    def play(self, turn: Turn) -> None:
        self._before[session_name(turn.session), turn.number] = self._kept()
        for step in turn.steps:
            if step.way != "review":
                self.do(step)

    def dragoman(
        self, *words: str, timeout: float = 120, folder: Path | None = None
    ) -> subprocess.CompletedProcess[bytes]:
        status, told = 0, ""
        if words[0] == "sessions":
            streams = [{"stream": f"stream {place}", "created": place} for place in range(self._world.turns)]
            told = json.dumps({"sessions": streams})
        elif words[0] == "blame" and "--help" not in words:
            told = self._blame(words[1])
        elif words[0] == "rewind" and "--help" not in words:
            status = self._rewind(words)
        return subprocess.CompletedProcess(words, status, told.encode(), b"")

    def _blame(self, path: str) -> str:
        prompts = self._world.prompts()
        lines = [
            {
                "line": number,
                "by": line.origin.by if line.origin.is_of_turn else "person",
                "prompt": prompts.get((line.origin.session, line.origin.turn)),
                "session": session_name(line.origin.session),
                "turn": line.origin.turn,
            }
            for number, line in enumerate(rows(self._world.before[path]), start=1)
        ]
        return json.dumps({"lines": lines})

    def _rewind(self, words: tuple[str, ...]) -> int:
        if "--undo" in words:
            self._put(self._undone)
            if self.mistake == "the way back":
                (self.folder / "src/left_behind.py").touch()
            return 0
        if "--dry-run" in words or ("--force" not in words and self.mistake != "a typed line"):
            return 0 if "--dry-run" in words else 3
        self._undone = self._kept()
        self._put(self._before[words[1], int(words[3])])
        if self.mistake == "a mode":
            os.chmod(self.folder / "src/first.py", 0o600)
        elif self.mistake == "a canary":
            (self.root / "outside/canary.txt").write_text("silent\n", encoding="utf-8")
        elif self.mistake == "the index":
            (self.folder / "src/staged.py").write_text("staged = 1\n", encoding="utf-8")
            self.git("add", "src/staged.py")
            (self.folder / "src/staged.py").unlink()
        elif self.mistake == "a secret":
            (self.folder / ".env").write_text("TOKEN=another\n", encoding="utf-8")
        return 0

    def _kept(self) -> Kept:
        found: dict[str, tuple[int, bytes] | str] = {}
        for path, (kind, mode, target) in self.state().items():
            if not is_kept_apart(path):
                found[path] = target if kind == "link" else (mode, (self.folder / path).read_bytes())
        return found

    def _put(self, kept: Kept) -> None:
        for path in self._kept():
            (self.folder / path).unlink()
            with suppress(OSError):
                (self.folder / path).parent.rmdir()
        for path, entry in kept.items():
            place = self.folder / path
            place.parent.mkdir(parents=True, exist_ok=True)
            if isinstance(entry, str):
                place.symlink_to(entry)
            else:
                place.write_bytes(entry[1])
                place.chmod(entry[0])
