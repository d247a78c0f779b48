"""How often SQLite plans what the store of snapshots asks of it."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from dragoman_local.workspace.snapshots import take_snapshot
from dragoman_local.workspace.tree_store import TreeStore


async def test_sqlite_plans_a_turn_once(tmp_path: Path) -> None:
    store = TreeStore(str(tmp_path / "memory.db"))
    planned: list[tuple[object, ...]] = []

    def plan(*act: object) -> int:
        planned.append(act)
        return sqlite3.SQLITE_OK

    async with await take_snapshot([str(tmp_path)], store=store) as look:
        for number in range(3):
            if number == 1:
                assert store._connection is not None
                store._connection.set_authorizer(plan)  # then everything is planned anew
            elif number == 2:
                planned.clear()
            turn = store.begin_turn("s", [str(tmp_path)], prompt="go", key=str(number))
            for at in ("begin", "end"):
                look.write_turn(turn, at)
    # SQLite never keeps the plan of a pragma.
    assert {act[0] for act in planned} == {sqlite3.SQLITE_PRAGMA}
    store.close()
