"""Removes turns from the store of snapshots, with all contents that only they used.

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

_RENEW_FILES = (
    "delete from files where folder = ? and id not in (select file from changes)",
    "update files set record = null where folder = ? and digest is not "
    "(select digest from changes where file = files.id order by look desc limit 1)",
    "update files set (kind, digest, size, mode) = (select kind, digest, size, mode from changes "
    "where file = files.id order by look desc limit 1) where folder = ?",
)
"""Files are as the last look that is left found them."""


def erase_turns(
    connection: sqlite3.Connection, contents: PackedContents, turns: Sequence[tuple[int]]
) -> None:
    """Erase turns, the snapshots that only they used, and the contents that only these found."""
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
    contents.sweep(connection, {row[0] for row in rows if isinstance(row[0], int)})


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
                "update changes set is_sure = 0 where look = ? and file in "
                "(select file from changes where look = ?)",
                (following, look),
            )
            connection.execute(
                "update or ignore changes set look = ?, is_sure = 0 where look = ?", (following, look)
            )
        else:  # whoever looks next finds what an erased turn left
            connection.execute(
                "update looks set is_whole = 0 "
                "where id = (select max(id) from looks where folder = ? and id < ?)",
                (folder, look),
            )
        connection.execute("delete from changes where look = ?", (look,))
        connection.execute("delete from looks where id = ?", (look,))
    for statement in _RENEW_FILES:
        connection.execute(statement, (folder,))
