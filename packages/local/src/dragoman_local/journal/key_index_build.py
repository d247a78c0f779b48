"""Builds the index of idempotency keys for a stream that a repair has saved without it.

It is made when a key is first looked up in the stream, in steps that are committed one by one: whoever
appends meanwhile does not wait for all of it, and after a crash the next lookup goes on where this one
stopped. What is appended to the stream meanwhile is indexed with its entry.
"""

from __future__ import annotations

import logging
import sqlite3

from dragoman_local.journal import key_index
from dragoman_local.journal.idempotency import keyed_entries
from dragoman_local.journal.seal import Seal
from dragoman_local.journal.streams import page_of
from dragoman_local.journal.tables import find_stream

log = logging.getLogger(__name__)

STEP_ENTRIES = 5_000
"""The entries to read in one step, which is one commit."""


def build(connection: sqlite3.Connection, stream: str, *, seal: Seal | None) -> None:
    """Run one step of building the index of a stream that has none."""
    row = find_stream(connection, stream, seal=seal)
    if row is None:
        return
    unkeyed_row = connection.execute(
        "select upto, last from unkeyed where number = ?", (row.number,)
    ).fetchone()
    if unkeyed_row is None:
        return
    upto, last = unkeyed_row
    end = min(last, upto + STEP_ENTRIES)
    while upto < end:
        page, damage = page_of(connection, row, upto, end - upto, seal=seal)
        key_index.insert(connection, row.number, keyed_entries(page.runs, upto), seal=seal)
        # Nobody can open a session whose stream is damaged: what lies behind the damage needs no index.
        upto = last if damage is not None or not page else page.last
    if upto < last:
        connection.execute("update unkeyed set upto = ? where number = ?", (upto, row.number))
    else:
        connection.execute("delete from unkeyed where number = ?", (row.number,))
        log.info("journal: the index of keys of stream %s was made from %d entries", stream, last)
