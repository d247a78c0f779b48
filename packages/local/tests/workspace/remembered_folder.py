"""A folder with a store of trees, in which turns and people work, for tests."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from dragoman_local.workspace.line_history import LineHistory
from dragoman_local.workspace.snapshots import take_snapshot
from dragoman_local.workspace.tree_store import TreeStore


class RememberedFolder:
    """`write` is a person's; what `turn` writes is a turn's."""

    def __init__(self, tmp_path: Path, *, store: TreeStore | None = None) -> None:
        self.root = tmp_path / "root"
        self.root.mkdir(parents=True, exist_ok=True)
        self.store = store or TreeStore(str(tmp_path / "memory.db"))

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
        work: Callable[[], object] = lambda: None,
        is_killed: bool = False,
    ) -> int:
        """One turn; its number in the store. One that is killed has no look after it."""
        turn = self.store.begin_turn(
            session, [str(self.root)], stream=session, agent="a", prompt=f"do {session}"
        )
        async with await take_snapshot([str(self.root)], store=self.store) as before:
            await before.record(turn, "begin")
            self.write(files)
            work()
            if is_killed:
                self.store.end_turn(turn)
                return turn
            async with await before.retake() as after:
                await after.record(turn, "end")
        return turn

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
