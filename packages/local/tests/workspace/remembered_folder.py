"""A folder with a store of trees, in which turns and people work, for tests."""

from __future__ import annotations

import json
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from dragoman_local.journal import StoredEntry
from dragoman_local.workspace.line_history import LineHistory
from dragoman_local.workspace.snapshots import take_snapshot
from dragoman_local.workspace.tree_store import TreeStore


class Announcements:
    """A journal of what the turns of some streams announce."""

    def __init__(self) -> None:
        self._streams: dict[str, list[StoredEntry]] = {}

    def add(self, stream: str, frame: Mapping[str, Any], direction: Any = "to_client") -> None:
        entries = self._streams.setdefault(stream, [])
        entries.append(StoredEntry(len(entries) + 1, direction, json.dumps(frame).encode(), time.time()))

    def call(self, stream: str, **fields: Any) -> None:
        update = {"sessionUpdate": "tool_call", **fields}
        self.add(stream, {"method": "session/update", "params": {"update": update}})

    async def info(self, stream: str) -> object | None:
        return self._streams.get(stream)

    async def replay(self, stream: str) -> AsyncIterator[Sequence[StoredEntry]]:
        yield self._streams[stream]

    @asynccontextmanager
    async def open(self, place: str) -> AsyncIterator[Announcements]:
        yield self


class RememberedFolder:
    """`write` is a person's; what `turn` writes is a turn's, and announced."""

    def __init__(self, tmp_path: Path, *, store: TreeStore | None = None) -> None:
        self.root = tmp_path / "root"
        self.root.mkdir(parents=True, exist_ok=True)
        self.store = store or TreeStore(str(tmp_path / "memory.db"))
        self.journal = Announcements()

    def write(self, files: Mapping[str, str | None]) -> None:
        for name, text in files.items():
            path = self.root / name
            if text is None:
                path.unlink()
            else:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)

    async def turn(
        self,
        session: str,
        files: Mapping[str, str | None],
        *,
        meanwhile: Callable[[], object] = lambda: None,
        work: Callable[[], object] | None = None,
        then: Callable[[], object] = lambda: None,
        is_killed: bool = False,
    ) -> int:
        """One turn; its number in the store. `work` is done by a command, `meanwhile` by nobody knows whom,
        and `then` by whoever is quick after the answer. One that is killed has no look after it.
        """
        turn = self.store.begin_turn(
            session, [str(self.root)], stream=session, agent="a", prompt=f"do {session}"
        )
        async with await take_snapshot([str(self.root)], store=self.store) as before:
            await before.record(turn, "begin")
            self.journal.add(session, {"id": turn, "method": "session/prompt"}, "to_agent")
            meanwhile()
            if files:
                places = [{"path": str(self.root / name)} for name in files]
                self.journal.call(session, toolCallId=f"edit {turn}", kind="edit", locations=places)
                self.write(files)
            if work is not None:
                self.journal.call(session, toolCallId=f"run {turn}", kind="execute", status="in_progress")
                work()
                self.journal.call(session, toolCallId=f"run {turn}", status="completed")
            self.journal.add(session, {"id": turn, "result": {"stopReason": "end_turn"}})
            then()
            if is_killed:
                self.store.end_turn(turn)
                return turn
            async with await before.retake() as after:
                await after.record(turn, "end")
        return turn

    def write_late(self, name: str, text: str) -> None:
        """Write a file so that the system's clock of files shows that it is later than now."""
        now = time.time()
        self.write({name: text})
        while (self.root / name).stat().st_ctime <= now:
            self.write({name: text})

    async def look(self) -> None:
        async with await take_snapshot([str(self.root)], store=self.store) as now:
            await now.record(None, "now")

    async def blame(self, path: str) -> list[str]:
        """Of each line `person`, `unknown`, or session and turn."""
        await self.look()
        found = LineHistory(self.store, str(self.root)).origins(path)
        assert found is not None
        return [
            f"{origin.turn.session} {origin.turn.number}"
            if origin.turn
            else "person"
            if origin.is_known
            else "unknown"
            for _, origin in found
        ]
