"""The store of snapshots: contents by digest, and the differences that each snapshot found.

    store = TreeStore(path)  # kept beside the journal; without a path, as long as the process lives
    look = store.record_look(root, capture)
    store.content(entry.digest)

A folder has one line of looks, whichever session asked for them: a look holds only what was not so at the
look before it. Contents are kept once, packed against what the same path held before. A turn spans looks:
what is different between its first and its last was changed while it ran.

SQLite in write-ahead mode: a process that is killed leaves whole looks. What is erased is overwritten. With a
seal, folders, paths, digests, prompts and contents are sealed; sessions, agents, times and sizes are in
clear. Of turns whose process is gone nobody knows the end; the next look closes them as torn.
"""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from dragoman.errors import LocalMistake
from dragoman.system.files import CAREFUL
from dragoman_local.secrets.search import redact
from dragoman_local.workspace.packed_contents import TABLE, ContentSeal, PackedContents, unsealed
from dragoman_local.workspace.process_marks import ProcessMarks
from dragoman_local.workspace.snapshot_entries import MEBIBYTE, Capture, Kind, SnapshotEntry
from dragoman_local.workspace.tree_erasure import erase_turns

BUDGET = 400 * MEBIBYTE
"""The most bytes of a store on disk; above it, the oldest snapshots are merged."""

WAIT_SECONDS = 10.0
"""The seconds that a snapshot waits for another process to store its own."""

PROMPT_LENGTH = 2000
"""The most characters of a prompt to keep, without its secrets; the journal has all of it."""

SEALED_NAME = "memory-sealed.db"
"""Plain and sealed journals may be in one folder, so their stores are two."""

_VERSION = 2

_TABLES = """
create table if not exists folders (id integer primary key, root text not null);
create table if not exists files (
    id integer primary key, folder integer not null, path text not null, kind text, digest blob,
    size integer, mode integer, record blob, unique (folder, path)
);
create table if not exists looks (
    id integer primary key autoincrement, folder integer not null, time real not null,
    is_whole integer not null
);
create table if not exists changes (
    look integer not null, file integer not null, kind text, digest blob, size integer, mode integer,
    changed integer, is_sure integer not null, primary key (look, file)
) without rowid;
create table if not exists journals (id integer primary key, path text not null);
create table if not exists turns (
    id integer primary key autoincrement, session text not null, number integer not null, kind text not null,
    journal integer not null, stream text not null, agent text not null, prompt text not null,
    time real not null, mark text not null
);
create table if not exists spans (
    turn integer not null, folder integer not null, first integer, last integer, is_torn integer not null,
    primary key (turn, folder)
) without rowid;
create table if not exists forks (
    root text primary key, source text not null, look integer not null, first integer not null
) without rowid;
create table if not exists turn_keys (turn integer primary key, key text not null);
create index if not exists folders_by_root on folders (root);
create index if not exists looks_by_folder on looks (folder);
create index if not exists changes_by_file on changes (file, look);
create index if not exists turns_by_session on turns (session, kind, number);
create index if not exists open_spans on spans (folder) where last is null;
create index if not exists spans_by_folder on spans (folder, coalesce(last, 1e18));
create index if not exists rewinds on turns (id) where kind = 'rewind';
"""

_OLD_TABLES = "alter table files rename to old_files; alter table changes rename to old_changes;"
"""Version 1 had whole paths and digests in both."""

_FROM_OLD = """
insert into files (folder, path) select folder, path from old_files
    union select folder, path from old_changes join looks on look = looks.id;
update files set (kind, digest, size, mode, record) = (
    select kind, coalesce(blobs.id, old.digest), old.size, mode, record
    from old_files as old left join blobs on blobs.digest = old.digest
    where old.folder = files.folder and old.path = files.path
);
insert into changes
    select look, files.id, old.kind, coalesce(blobs.id, old.digest), old.size, old.mode, changed, is_sure
    from old_changes as old join looks on look = looks.id
    join files on files.folder = looks.folder and files.path = old.path
    left join blobs on blobs.digest = old.digest;
drop table old_files; drop table old_changes;
"""

_UPSERT_FILE = (
    "insert into files (folder, path, kind, digest, size, mode, record) values (?1, ?2, ?3, coalesce("
    "(select id from blobs where substr(digest, 1, 6) = substr(?4, 1, 6) and digest = ?4), ?4), ?5, ?6, ?7) "
    "on conflict (folder, path) do update set kind = excluded.kind, digest = excluded.digest, "
    "size = excluded.size, mode = excluded.mode, record = excluded.record"
)
_NEW_CHANGE = """
insert into changes select ?, id, kind, digest, size, mode, ?, ? from files where folder = ? and path = ?
"""
_CHANGES_AT = (
    "select path, changes.kind, coalesce(blobs.digest, changes.digest), changes.size, changes.mode, changed, "
    "is_sure from changes join files on file = files.id left join blobs on blobs.id = changes.digest "
    "where look = ?"
)
_CHANGES_OF = (
    "select look, changes.kind, coalesce(blobs.digest, changes.digest), changes.size, changes.mode, changed, "
    "is_sure from folders join files on folder = folders.id join changes on file = files.id "
    "left join blobs on blobs.id = changes.digest where root = ? and path = ? order by look"
)
# As the files are now, but for those that changed since: of these, the last change before.
_TREE = """
with here as (select id from folders where root = :root),
later as (
    select distinct file from looks cross join changes on look = looks.id
    where folder = (select id from here) and looks.id > :look
),
entries as (
    select path, kind, digest, size, mode from files
        where folder = (select id from here) and kind is not null and id not in (select file from later)
    union all select path, old.kind, old.digest, old.size, old.mode from later
        join files on files.id = later.file
        join changes as old on old.file = later.file
        and old.look = (select max(look) from changes where file = later.file and look <= :look)
        where old.kind is not null
)
select path, kind, coalesce(blobs.digest, entries.digest), entries.size, mode
    from entries left join blobs on blobs.id = entries.digest
"""
_TURNS = (
    "select turns.id, session, number, turns.kind, journals.path, stream, agent, prompt, time, first, last, "
    "is_torn, coalesce(key, '') from turns join journals on journal = journals.id "
    "left join turn_keys on turn_keys.turn = turns.id "
    "join spans on spans.turn = turns.id join folders on folder = folders.id "
    "where coalesce(last, 1e18) > :since"
)
_NEW_TURN = (
    "insert into turns (session, kind, number, journal, stream, agent, prompt, time, mark) "
    "values (?1, ?2, 1 + coalesce((select max(number) from turns indexed by turns_by_session "
    "where session = ?1 and kind = ?2), 0), ?3, ?4, ?5, ?6, ?7, ?8)"
)
# The index is named: SQLite would plan anew for each kind, because another index has only rewinds.
# Rewinds had no stream at first: these belong to their session.
_FORGOTTEN = (
    "select id from turns where stream in forgotten or stream = '' and kind <> 'turn' "
    "and session in (select session from turns where stream in forgotten)"
)
_NEW_SPAN = "insert into spans values (?, ?, null, null, 0)"
_SET_END = {
    "begin": "insert into spans values (?, ?, ?, null, 0) on conflict do update set first = excluded.first",
    "end": "insert into spans values (?, ?, null, ?, 0) on conflict do update set last = excluded.last",
}
# With whether other turns are open there, whose processes may be dead.
_LAST_LOOK = """
select id, time, is_whole, exists (
    select 1 from spans where folder = ?1 and last is null and turn <> ?2
) from looks where folder = ?1 order by id desc limit 1
"""


class Look(NamedTuple):
    """One snapshot of a folder."""

    id: int
    time: float
    is_whole: bool
    """Whether everything was read; files that an interrupted snapshot did not find may still exist."""


class Change(NamedTuple):
    """A change that a snapshot found at one path."""

    path: str
    entry: SnapshotEntry | None
    """None if there is no file any more."""
    changed_at: int | None = None
    """The time of its change from the system, in nanoseconds since 1970."""
    is_sure: bool = True
    """Whether it was read before and after; otherwise the time of its change is unknown."""


class Turn(NamedTuple):
    """A turn of a session in one folder, between two snapshots."""

    id: int
    session: str
    number: int
    kind: str
    """`turn`, or `rewind` for files that we restored."""
    journal: str
    stream: str
    agent: str
    prompt: str
    time: float
    first: int | None
    """The snapshot before it; None if there was none."""
    last: int | None
    """The snapshot after it; None while it runs."""
    is_torn: int
    """Whether its process died: the last snapshot came at some time after its end."""
    key: str = ""
    """A hub's key of its prompt."""


class Fork(NamedTuple):
    """A folder that was copied from another."""

    source: str
    look: int
    """The source's snapshot that was copied."""
    first: int
    """The first snapshot of the fork."""


class _Files(NamedTuple):
    """The files of a look, by path, and the system's records of them."""

    entries: Mapping[str, SnapshotEntry]
    records: Mapping[str, bytes]


class StaleLook(Exception):
    """A later snapshot of the folder exists: take a new one."""


def store_beside(journal: str | Path, *, seal: ContentSeal | None = None) -> TreeStore:
    """Return the store that belongs to a journal: all plain journals of a folder share one, and all sealed
    ones another.
    """
    path = Path(journal).expanduser().absolute()
    name = "memory.db" if seal is None else SEALED_NAME
    return TreeStore(os.fspath(path.with_name(name)), journal=os.fspath(path), seal=seal)


class TreeStore:
    """The store. May be used from several threads and processes. Files are created when they are first
    needed.
    """

    def __init__(
        self,
        path: str = "",
        *,
        journal: str = "",
        budget: int = BUDGET,
        seal: ContentSeal | None = None,
    ) -> None:
        self._seal = seal
        self.path = path
        self.journal = journal
        """The journal that has the frames of its turns."""
        self._budget = budget
        self._lock = threading.RLock()
        self._connection: sqlite3.Connection | None = None
        self._is_closed = False
        self._contents = PackedContents(seal)
        self._last_files: dict[int, tuple[tuple[int, float], _Files]] = {}
        """By folder, our last look and what it found."""
        self._new_captures: list[Capture] = []
        """Those whose looks are not committed yet."""
        self._numbers: dict[tuple[str, str], int] = {}
        """By table and name, for one transaction: other processes write, too."""
        self._marks = ProcessMarks(path)
        self._page_bytes = self._bytes = 0
        """In the file, when a turn ended last."""

    @property
    def is_lasting(self) -> bool:
        """Whether its content is kept beyond this process."""
        return bool(self.path)

    @cached_property
    def folder(self) -> str:
        """Return its folder, without links. Reads the disk."""
        return os.path.realpath(os.path.dirname(self.path))

    def own_paths(self, root: str) -> frozenset[str]:
        """Return our own paths that change in a root with every turn: our folder, or our files in it."""
        below = os.path.relpath(self.folder, root) if self.path else ""
        if below != ".":
            return frozenset({below})
        names = map(os.path.basename, filter(None, (self.path, self.journal)))
        return frozenset(name + end for name in names for end in ("", "-wal", "-shm", "-journal"))

    def close(self) -> None:
        with self._lock:
            self._is_closed = True
            if self._connection is not None:
                self._connection.close()
                self._connection = None
            self._marks.close()

    def together(self, works: Sequence[Callable[[], Any]]) -> list[Any]:
        """Run these in one transaction; return a result each, `StaleLook`, or the reason of a failure. If the
        transaction fails, each is tried alone.
        """
        try:
            with self._writing():
                return [_unless_stale(work) for work in works]
        except Exception as error:  # noqa: BLE001  # whoever waits is told
            return [error] if len(works) == 1 else [self.together([work])[0] for work in works]

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        """A transaction: all or nothing, without other writers. Within another one it is part of that."""
        with self._reading() as connection:
            if connection.in_transaction:
                yield connection
                return
            connection.execute("begin immediate")
            try:
                yield connection
                connection.execute("commit")
            except BaseException:
                connection.rollback()
                self._last_files.clear()
                for capture in self._new_captures:
                    capture.look = None
                raise
            finally:
                self._new_captures.clear()
                self._numbers.clear()

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection]:
        with self._lock:
            try:
                yield self._connection or self._open()
            except sqlite3.Error as error:
                where = self.path or "the store for this process"
                raise LocalMistake(f"what turns changed cannot be kept in {where}: {error}") from error

    def _open(self) -> sqlite3.Connection:
        if self._is_closed:
            raise FileNotFoundError("the store is closed")
        if self.path:
            Path(self.path).parent.mkdir(parents=True, mode=0o700, exist_ok=True)
            os.close(os.open(self.path, os.O_RDWR | os.O_CREAT | CAREFUL, 0o600))
        connection = sqlite3.connect(
            self.path, timeout=WAIT_SECONDS, isolation_level=None, check_same_thread=False
        )
        try:
            version = _version(connection)
            if version > _VERSION:
                raise LocalMistake(f"{self.path} was written by a newer Dragoman: update this one")
            if not version:
                connection.execute("pragma page_size = 1024")
            connection.executescript(
                "pragma journal_mode = wal; pragma synchronous = normal; pragma secure_delete = on"
            )
            if version < _VERSION:
                _make_tables(connection)
            _check_mark(connection, "" if self._seal is None else self._seal.id)
            self._page_bytes = int(connection.execute("pragma page_size").fetchone()[0])
        except BaseException:
            connection.close()
            raise
        self._connection = connection
        return connection

    def _hide(self, name: str) -> str | bytes:
        """As a name is stored."""
        return name if self._seal is None else self._seal.hide(name.encode())

    def _show(self, stored: str | bytes) -> str:
        if isinstance(stored, str):
            return stored
        assert self._seal is not None
        return unsealed(self._seal.show(stored)).decode()

    def _row_of(self, entry: SnapshotEntry) -> tuple[object, ...]:
        """For the table of files, which has the number of a content that is kept, and else its digest."""
        digest: str | bytes = entry.digest
        if entry.is_kept:
            digest = bytes.fromhex(entry.digest)
            digest = digest if self._seal is None else self._seal.hide(digest)
        return (entry.kind, digest, *entry[2:])

    def _entry(self, kind: Kind, digest: bytes | str, size: int, mode: int | None) -> SnapshotEntry:
        if isinstance(digest, bytes):
            digest = (digest if self._seal is None else unsealed(self._seal.show(digest))).hex()
        return SnapshotEntry(kind, digest, size, mode)

    def _change(
        self,
        path: str,
        kind: Kind | None,
        digest: bytes | str,
        size: int,
        mode: int | None,
        changed: int | None,
        is_sure: int,
    ) -> Change:
        entry = None if kind is None else self._entry(kind, digest, size, mode)
        return Change(path, entry, changed, bool(is_sure))

    # Contents.

    def keep(self, contents: Mapping[str, tuple[bytes, str | None]]) -> int:
        """Store contents by digest, each compressed against the content with the given digest; return the new
        bytes.
        """
        with self._writing() as connection:
            return self._contents.keep(connection, contents)

    def missing(self, digests: Iterable[str]) -> set[str]:
        """Return digests without stored content."""
        with self._reading() as connection:
            return self._contents.missing(connection, digests)

    def content(self, name: str) -> bytes:
        """Return the stored content with a digest; FileNotFoundError if there is none."""
        with self._reading() as connection:
            return self._contents.content(connection, name)

    # Looks.

    def files(self, root: str) -> dict[str, tuple[SnapshotEntry, bytes | None, bool]]:
        """Return the files of the last snapshot, with the system's records, and whether the content is
        stored.
        """
        with self._reading() as connection:
            rows = connection.execute(
                "select path, kind, coalesce(blobs.digest, files.digest), files.size, mode, record, "
                "blobs.id is not null from files join folders on folder = folders.id "
                "left join blobs on blobs.id = files.digest where root = ? and kind is not null",
                (self._hide(root),),
            ).fetchall()
        return {self._show(row[0]): (self._entry(*row[1:5]), row[5], bool(row[6])) for row in rows}

    def record_look(self, root: str, capture: Capture, *, turn: int | None = None, at: str = "") -> int:
        """Add a snapshot to the folder's history, and let a turn begin or end there; return its number. A
        snapshot is added once. `StaleLook` if the folder's last snapshot is younger than this one.
        """
        with self._writing() as connection:
            folder = self._number_of("folders", "root", root)
            if capture.look is not None:
                self._set_end(connection, folder, capture.look, turn, at)
                return capture.look
            last = connection.execute(_LAST_LOOK, (folder, turn or 0)).fetchone()
            if last is not None and last[1] > time.time():  # the clock was set back
                connection.execute("update looks set time = ?1 where time > ?1", (capture.began_at,))
                connection.execute("update turns set time = ?1 where time > ?1", (capture.began_at,))
            elif last is not None and last[1] > capture.began_at:
                raise StaleLook
            known = self._known_files(root, folder, None if last is None else last[:2])
            changes = list(_changes(known.entries, capture, is_sure=last is not None and bool(last[2])))
            self._update_files(connection, folder, known, capture)
            if last is not None and not changes and capture.is_complete and last[2] and not capture.unknown:
                look: int = last[0]
                connection.execute("update looks set time = ? where id = ?", (capture.began_at, look))
            else:
                cursor = connection.execute(
                    "insert into looks (folder, time, is_whole) values (?, ?, ?)",
                    (folder, capture.began_at, capture.is_complete),
                )
                look = int(cursor.lastrowid or 0)
                rows = [
                    (look, changed, is_sure, folder, self._hide(path)) for path, changed, is_sure in changes
                ]
                _execute_many(connection, _NEW_CHANGE, rows)
            if last is None or last[3]:
                self._close_torn(connection, folder, look)
            self._set_end(connection, folder, look, turn, at)
            capture.look = look
            self._new_captures.append(capture)
            files = _Files({**capture.entries}, capture.records)  # snapshots may adopt entries of others
            if capture.is_complete:
                self._last_files[folder] = (look, capture.began_at), files
            else:
                self._last_files.pop(folder, None)
            return look

    def _set_end(
        self, connection: sqlite3.Connection, folder: int, look: int, turn: int | None, at: str
    ) -> None:
        if turn is not None:
            connection.execute(_SET_END[at], (turn, folder, look))

    def _number_of(self, table: str, column: str, name: str) -> int:
        """The number of a name; there are few of them. For whoever writes."""
        number = self._numbers.get((table, name))
        if number is None:
            assert self._connection is not None
            query = f"select id from {table} where {column} = ?"  # noqa: S608  # names of ours
            stored = self._hide(name)
            row = self._connection.execute(query, (stored,)).fetchone()
            if row is None:
                insert = f"insert into {table} ({column}) values (?)"  # noqa: S608
                row = (self._connection.execute(insert, (stored,)).lastrowid,)
            number = self._numbers[table, name] = int(row[0])
        return number

    def _known_files(self, root: str, folder: int, last: tuple[int, float] | None) -> _Files:
        """The files of the last look at a folder; mostly it was ours."""
        at, files = self._last_files.get(folder, (None, None))
        if last is None:
            return _Files({}, {})
        if files is not None and at == last:
            return files
        stored = self.files(root)
        return _Files(
            {path: entry for path, (entry, _, _) in stored.items()},
            {path: record for path, (_, record, _) in stored.items() if record is not None},
        )

    def _update_files(
        self, connection: sqlite3.Connection, folder: int, known: _Files, capture: Capture
    ) -> None:
        entries, records = known
        rows: list[tuple[object, ...]] = [
            (folder, self._hide(path), *self._row_of(entry), capture.records.get(path))
            for path, entry in capture.entries.items()
            if entries.get(path) != entry or records.get(path) != capture.records.get(path)
        ]
        if capture.is_complete:
            gone = entries.keys() - capture.entries.keys()
            rows += [(folder, self._hide(path), None, None, None, None, None) for path in gone]
        _execute_many(connection, _UPSERT_FILE, rows)

    def looks(self, root: str, *, since: int = 0) -> list[Look]:
        """Return snapshots, the oldest first; with `since`, from that one on."""
        with self._reading() as connection:
            rows = connection.execute(
                "select looks.id, time, is_whole from folders join looks on folder = folders.id "
                "where root = ? and looks.id >= ? order by looks.id",
                (self._hide(root), since),
            )
            return [Look(row[0], row[1], bool(row[2])) for row in rows]

    def time_of(self, look: int) -> float:
        """Return when a snapshot began."""
        with self._reading() as connection:
            return float(connection.execute("select time from looks where id = ?", (look,)).fetchone()[0])

    def changes_at(self, look: int) -> dict[str, Change]:
        """Return the differences that a snapshot found, by path."""
        with self._reading() as connection:
            rows = connection.execute(_CHANGES_AT, (look,)).fetchall()
        changes = (self._change(self._show(row[0]), *row[1:]) for row in rows)
        return {change.path: change for change in changes}

    def changes_of(self, root: str, path: str) -> dict[int, Change]:
        """Return the differences of one file, by snapshot, the oldest first."""
        with self._reading() as connection:
            rows = connection.execute(_CHANGES_OF, (self._hide(root), self._hide(path))).fetchall()
        return {row[0]: self._change(path, *row[1:]) for row in rows}

    def tree(self, root: str, look: int) -> dict[str, SnapshotEntry]:
        """Return all files of a snapshot."""
        with self._reading() as connection:
            rows = connection.execute(_TREE, {"root": self._hide(root), "look": look}).fetchall()
        return {self._show(row[0]): self._entry(*row[1:]) for row in rows}

    def roots(self) -> list[str]:
        with self._reading() as connection:
            return [self._show(row[0]) for row in connection.execute("select root from folders")]

    def record_fork(self, root: str, fork: Fork) -> None:
        """Store the origin of a folder, from which the authors of its lines are known."""
        with self._writing() as connection:
            values = (self._hide(root), self._hide(fork.source), fork.look, fork.first)
            connection.execute("insert or replace into forks values (?, ?, ?, ?)", values)

    def fork_of(self, root: str) -> Fork | None:
        """Return the origin of a folder; None if it is not a fork."""
        with self._reading() as connection:
            row = connection.execute(
                "select source, look, first from forks where root = ?", (self._hide(root),)
            ).fetchone()
            return None if row is None else Fork(self._show(row[0]), *row[1:])

    # Turns.

    def begin_turn(
        self,
        session: str,
        roots: Iterable[str] = (),
        *,
        kind: str = "turn",
        stream: str = "",
        agent: str = "",
        prompt: str = "",
        key: str = "",
    ) -> int:
        """Begin the next turn of a session, in folders without links. Its snapshots name it."""
        text = self._hide(redact(prompt)[:PROMPT_LENGTH])
        with self._writing() as connection:
            journal = self._number_of("journals", "path", self.journal)
            values = (session, kind, journal, stream, agent, text, time.time(), self._marks.own())
            turn = int(connection.execute(_NEW_TURN, values).lastrowid or 0)
            if key:
                connection.execute("insert into turn_keys values (?, ?)", (turn, self._hide(key)))
            for root in dict.fromkeys(roots):
                folder = self._number_of("folders", "root", root)
                connection.execute(_NEW_SPAN, (turn, folder))
            return turn

    def end_turn(self, turn: int) -> None:
        """Note that a turn has ended; without a snapshot after it, the next one closes it as torn."""
        with self._writing() as connection:
            connection.execute("update turns set mark = '' where id = ?", (turn,))
            pages = int(connection.execute("pragma page_count").fetchone()[0])
            self._bytes = pages * self._page_bytes

    def turns(self, root: str | None = None, *, session: str | None = None, since: int = -1) -> list[Turn]:
        """Return the turns of a folder, of a session, or all, the oldest first; with `since`, those that
        ended after that snapshot.
        """
        query = _TURNS  # without an "or": what is not asked for must not keep SQLite from its indexes
        query += "" if root is None else " and root = :root"
        query += "" if session is None else " and session = :session"
        with self._reading() as connection:
            rows = connection.execute(
                f"{query} order by turns.id",
                {"root": root and self._hide(root), "session": session, "since": since},
            )
            return [self._turn(*row) for row in rows]

    def _turn(self, *row: Any) -> Turn:
        turn = Turn._make(row)
        if self._seal is None:
            return turn
        journal, prompt, key = map(self._show, (turn.journal, turn.prompt, turn.key))
        return turn._replace(journal=journal, prompt=prompt, key=key)

    def folders_of(self, turn: int) -> list[tuple[str, int | None, int | None]]:
        """Return the folders of a turn, with the snapshots before and after it."""
        with self._reading() as connection:
            query = "select root, first, last from spans join folders on folder = folders.id where turn = ?"
            return [(self._show(row[0]), *row[1:]) for row in connection.execute(query, (turn,))]

    def has_rewinds(self) -> bool:
        """Whether files were ever restored, anywhere."""
        with self._reading() as connection:
            query = "select 1 from turns where kind = 'rewind' limit 1"
            return connection.execute(query).fetchone() is not None

    def is_busy(self, root: str) -> bool:
        """Whether a turn runs in a folder."""
        with self._reading() as connection:
            rows = connection.execute(
                "select mark from spans join turns on turn = turns.id join folders on folder = folders.id "
                "where root = ? and last is null",
                (self._hide(root),),
            ).fetchall()
        return any(self._marks.is_alive(row[0]) for row in rows)

    def _close_torn(self, connection: sqlite3.Connection, folder: int, look: int) -> None:
        rows = connection.execute(
            "select turn, mark from spans join turns on turn = turns.id where folder = ? and last is null",
            (folder,),
        ).fetchall()
        for turn, mark in rows:
            if not self._marks.is_alive(mark):
                connection.execute(
                    "update spans set last = ?, is_torn = 1 where turn = ? and folder = ?",
                    (look, turn, folder),
                )

    # What is not needed any more.

    def forget(self, streams: Collection[str]) -> None:
        """Erase the turns of these streams, with snapshots and contents that only they used."""
        if os.path.exists(self.path):
            with self._writing() as connection:
                connection.execute("create temp table if not exists forgotten (name text primary key)")
                connection.execute("delete from forgotten")
                connection.executemany(
                    "insert or ignore into forgotten values (?)", ((name,) for name in streams)
                )
                turns = connection.execute(_FORGOTTEN).fetchall()
                erase_turns(connection, self._contents, turns)
            self._shrink()

    def keep_within_budget(self) -> None:
        """Erase the oldest half of all turns as long as the store was too large when a turn ended."""
        while self.path and self._bytes > self._budget:
            with self._writing() as connection:
                turns = connection.execute("select id from turns order by id").fetchall()
                if not turns:
                    return
                erase_turns(connection, self._contents, turns[: (len(turns) + 1) // 2])
            self._shrink()

    def _shrink(self) -> None:
        with self._reading() as connection:
            connection.execute("vacuum")
            connection.execute("pragma wal_checkpoint(truncate)")
        self._bytes = os.path.getsize(self.path)


def _version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("pragma user_version").fetchone()[0])


def _make_tables(connection: sqlite3.Connection) -> None:
    """All tables, in one transaction, with what the tables of an earlier version hold."""
    connection.execute("begin immediate")
    version = _version(connection)  # another process may have been first
    script = {0: f"{TABLE} {_TABLES}", 1: f"{_OLD_TABLES} {_TABLES} {_FROM_OLD}"}.get(version, "")
    for statement in f"{script} pragma user_version = {_VERSION}".split(";"):
        connection.execute(statement)
    connection.execute("commit")


def _check_mark(connection: sqlite3.Connection, ident: str) -> None:
    """Mark a new store with the key that it is sealed with; refuse one of another key, or without one."""
    has_mark = connection.execute("select 1 from sqlite_master where name = 'seal'").fetchone() is not None
    if ident and not has_mark:
        if connection.execute("select 1 from folders").fetchone() is not None:
            raise LocalMistake("the memory of turns is not sealed, and stays so: move it away")
        connection.execute("create table if not exists seal (one integer primary key, id text not null)")
    if ident:
        connection.execute("insert or ignore into seal values (1, ?)", (ident,))
    if (ident or has_mark) and connection.execute("select id from seal").fetchone() != (ident,):
        raise LocalMistake("the memory of turns is sealed with another key")


def _unless_stale(work: Callable[[], Any]) -> Any:
    try:
        return work()
    except StaleLook as error:
        return error


def _execute_many(connection: sqlite3.Connection, statement: str, rows: Sequence[tuple[object, ...]]) -> None:
    """Nothing for no rows: each statement lets other threads run, and then waits for its turn."""
    if rows:
        connection.executemany(statement, rows)


def _changes(
    known: Mapping[str, SnapshotEntry], capture: Capture, *, is_sure: bool
) -> Iterator[tuple[str, int | None, bool]]:
    """Paths of what is different, and when it changed. It is sure if the look before it saw everything."""
    for path, entry in capture.entries.items():
        before = known.get(path)
        if before is not entry and (before is None or before[:2] != entry[:2] or before.mode != entry.mode):
            yield path, capture.changed_at.get(path), is_sure
    if capture.is_complete:
        for path in known.keys() - capture.entries.keys():
            # One that changed as the turn began is seen with its next look.
            yield path, None, is_sure and path not in capture.unknown
