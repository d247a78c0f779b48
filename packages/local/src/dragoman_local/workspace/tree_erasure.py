"""Removes turns from the store of snapshots, with all contents that only they had.

The looks of a folder are one line, and others may need what lies behind a turn. So what an erased look found
goes to the next one, where it is nobody's: what was a turn's is not a person's now. Transactions are the
caller's.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from dragoman_local.workspace.packed_contents import PackedContents

_FORGET_FOLDER = (
    "delete from changes where look in (select id from looks where folder = ?)",
    "delete from looks where folder = ?",
    "delete from files where folder = ?",
    "delete from forks where root = (select root from folders where id = ?)",
    "delete from folders where id = ?",
)


def erase_turns(
    connection: sqlite3.Connection, contents: PackedContents, turns: Sequence[tuple[int]]
) -> None:
    """Erase turns, the looks that only they asked for, and the contents that only these found."""
    spans: dict[int, list[tuple[int | None, int | None]]] = {}
    for turn in turns:
        for folder, *looks in connection.execute(
            "select folder, first, last from spans where turn = ?", turn
        ):
            spans.setdefault(folder, []).append((looks[0], looks[1]))
    connection.executemany("delete from spans where turn = ?", turns)
    connection.executemany("delete from turn_keys where turn = ?", turns)
    connection.executemany("delete from turns where id = ?", turns)
    for folder, ends in spans.items():
        _merge_looks(connection, folder, ends)
    rows = connection.execute("select digest from changes union select digest from files")
    contents.sweep(connection, {row[0] for row in rows if isinstance(row[0], bytes)})


def _merge_looks(
    connection: sqlite3.Connection, folder: int, ends: Sequence[tuple[int | None, int | None]]
) -> None:
    """Take looks out of a folder's line. What they found goes to the next one, where it is nobody's."""
    spans = connection.execute("select first, last from spans where folder = ?", (folder,)).fetchall()
    if not spans:
        for statement in _FORGET_FOLDER:
            connection.execute(statement, (folder,))
        return
    for first, last in ends:  # what was a turn's is not a person's now
        connection.execute(
            "update changes set is_sure = 0 where look in "
            "(select id from looks where folder = ? and id > ? and id <= ?)",
            (folder, first or 0, last or first or 0),
        )
    needed = {look for span in spans for look in span if look is not None}
    rows = connection.execute(
        "select id from looks where folder = ? and id < ?", (folder, min(needed, default=0))
    ).fetchall()
    looks = {look for end in ends for look in end if look is not None} | {row[0] for row in rows}
    for look in sorted(looks - needed):
        following = connection.execute(
            "select min(id) from looks where folder = ? and id > ?", (folder, look)
        ).fetchone()[0]
        if following is not None:
            connection.execute(
                "update changes set is_sure = 0 where look = ? and path in "
                "(select path from changes where look = ?)",
                (following, look),
            )
            connection.execute(
                "update or ignore changes set look = ?, is_sure = 0 where look = ?", (following, look)
            )
        connection.execute("delete from changes where look = ?", (look,))
        connection.execute("delete from looks where id = ?", (look,))
    connection.execute(
        "delete from files where folder = ?1 and digest not in (select digest from changes "
        "join looks on look = id where looks.folder = ?1 and digest is not null)",
        (folder,),
    )
