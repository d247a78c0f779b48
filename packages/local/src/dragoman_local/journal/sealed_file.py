"""The mark in the file of an encrypted journal that identifies its key.

A sealed file is opened with its key and not without it; a plain one is never sealed halfway. The mark is a
table of its own, which plain journals do not have. If it was lost with a damaged page, the streams tell.
"""

from __future__ import annotations

import sqlite3

from dragoman.errors import JournalDamaged
from dragoman_local.journal.seal import Seal, WrongKey
from dragoman_local.journal.tables import SELECT, read_stream


def check_mark(connection: sqlite3.Connection, seal: Seal | None, *, name: str) -> None:
    """Mark a new file, and refuse one that was sealed differently. Raises `WrongKey`."""
    mark = mark_of(connection)
    if mark is None and seal is not None:
        connection.execute("begin immediate")  # another process may be about to do the same
        try:
            mark = mark_of(connection)
            if mark is None and _may_mark(connection, seal):
                set_mark(connection, seal.id)
                mark = seal.id
            connection.execute("commit")
        except BaseException:
            connection.rollback()
            raise
    if mark == (None if seal is None else seal.id):
        return
    if seal is None:
        raise WrongKey(f"{name} is sealed: its key is needed")
    if mark is None:
        raise WrongKey(f"{name} is not sealed, and stays so: name another file for a sealed journal")
    raise WrongKey(f"{name} is sealed with another key than this one")


def mark_of(connection: sqlite3.Connection) -> str | None:
    """Return the id of the key that encrypted the file; None for a plain file."""
    has_table = connection.execute(
        "select 1 from sqlite_master where type = 'table' and name = 'seal'"
    ).fetchone()
    row = connection.execute("select id from seal").fetchone() if has_table else None
    return None if row is None else str(row[0])


def set_mark(connection: sqlite3.Connection, ident: str) -> None:
    connection.execute("create table if not exists seal (id text not null)")
    connection.execute("delete from seal")
    connection.execute("insert into seal values (?)", (ident,))


def _may_mark(connection: sqlite3.Connection, seal: Seal) -> bool:
    """Whether there is nothing in the file, or something that this key opens."""
    rows = connection.execute(SELECT + "order by number").fetchall()
    return not rows or any(_opens(row, seal) for row in rows)


def _opens(row: tuple[object, ...], seal: Seal) -> bool:
    try:
        read_stream(row, seal=seal)
    except JournalDamaged:
        return False
    return True
