"""The file operations of one session for an agent, without blocking: with editors, users and approval.

The disk is used in threads, so that a slow one stops nobody. What an editor holds comes before what is on
disk. A guard, if there is one, is asked before anything happens, about the path that is really meant. A write
over something that the agent does not know is decided here, and never in silence.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Literal, Protocol, TypeAlias

from msgspec import Struct

from dragoman_local.workspace.commands import PlannedCommand
from dragoman_local.workspace.disk_threads import in_disk_thread
from dragoman_local.workspace.file_read import RangeRead
from dragoman_local.workspace.files import FileDraft, FileStatus, FileText, SessionFiles
from dragoman_local.workspace.merge import merge
from dragoman_local.workspace.paths import parse
from dragoman_local.workspace.refusals import path_changed
from dragoman_local.workspace.search import SearchMatches
from dragoman_local.workspace.text import LineWindow, with_endings_of
from dragoman_local.workspace.versions import Version, version_of
from dragoman_local.workspace.write_conflicts import (
    AskConflict,
    ConflictDecision,
    Outcome,
    RecordConflict,
    Verdict,
    WriteClash,
    WriteConflict,
    WriteResult,
    base_of,
    conflict_refused,
    kind_of_clash,
)

_TRIES = 10
"""How often a file may change while its conflict is being decided."""

_PIECE = 65_536


class Access(Struct, frozen=True, kw_only=True):
    """An access that a guard decides on."""

    session_id: str
    kind: Literal["read", "write", "stat", "search", "run"]
    path: str
    """The real path, with links resolved; of a search, its pattern; of a command, the file of its program."""
    text: str | None = None
    """The text to write."""
    command: PlannedCommand | None = None
    """The command to run; set if and only if the kind is `run`."""


Guard: TypeAlias = Callable[[Access], Awaitable[None]]
"""Returns to permit, raises an `ErrorAnswer` to refuse."""


class WorkspaceHooks(Struct, frozen=True, kw_only=True):
    """The parts of a workspace besides the disk: editors and guards."""

    buffers: Buffers | None = None
    ask: AskConflict | None = None
    record: RecordConflict | None = None
    guard: Guard | None = None


class LentFiles:
    """The files of one session for an agent."""

    def __init__(self, session_id: str, files: SessionFiles, around: WorkspaceHooks) -> None:
        self.session_id = session_id
        self.files = files
        self._folder = files.roots.folders[0]
        self._around = around

    async def read(self, path: str, *, line: int = 1, limit: int | None = None) -> FileText:
        """Return lines from `line` on, counted from 1; 0 counts as 1."""
        at = await self._admit("read", path)
        name = self._buffer_name(path, at)
        if name is not None and at is not None:
            return self._read_buffer(name, at, line, limit)
        return await in_disk_thread(self._folder, self.files.read, path, first=line, limit=limit, at=at)

    async def read_range(
        self, path: str, *, offset: int = 0, limit: int | None = None, if_version: Version | None = None
    ) -> RangeRead:
        """Read bytes from the disk: an editor has only text."""
        at = await self._admit("read", path)
        return await in_disk_thread(
            self._folder,
            self.files.read_range,
            path,
            offset=offset,
            limit=limit,
            if_version=if_version,
            at=at,
        )

    async def stat(self, path: str) -> FileStatus:
        """Describe a file, with its unsaved text."""
        at = await self._admit("stat", path)
        name = self._buffer_name(path, at)
        if name is not None:
            return FileStatus(
                exists=True, size=len(_bytes(self._buffer_of(name) or "")), modified_at=time.time()
            )
        return await in_disk_thread(self._folder, self.files.stat, path, at=at)

    async def search(self, pattern: str, *, hidden: bool = False, limit: int | None = None) -> SearchMatches:
        if self._around.guard is not None:
            await self._around.guard(Access(session_id=self.session_id, kind="search", path=pattern))
        return await in_disk_thread(self._folder, self.files.search, pattern, hidden=hidden, limit=limit)

    async def write(self, path: str, text: str) -> WriteResult:
        """Write, merge, or refuse; conflicts are recorded."""
        at = await self._admit("write", path, text)
        draft = FileDraft(text)
        outcome: Outcome | None = None
        clash: WriteClash | None = None
        for _ in range(_TRIES):
            result = await self._try(path, at, draft)
            if isinstance(result, WriteResult):
                if clash is not None and outcome is not None:
                    self._record(clash, outcome)
                return result._replace(outcome=outcome)
            clash = result
            verdict = await self._verdict(clash, text)
            if verdict == "refuse":
                self._record(clash, "refused")
                raise conflict_refused(clash)
            if verdict == "overwrite":
                draft, outcome = FileDraft(text, accepted_version=clash.version), "overwritten"
            else:
                draft, outcome = await self._merge_draft(clash, text), "merged"
        raise path_changed()

    # Before anything happens.

    async def _admit(
        self, kind: Literal["read", "write", "stat"], path: str, text: str | None = None
    ) -> str | None:
        """Ask the guard. Returns where the path leads; None if neither a guard nor an editor has to know."""
        if self._around.guard is None and self._around.buffers is None:
            return None
        at = await in_disk_thread(self._folder, self.files.locate, path, may_be_folder=kind == "stat")
        if self._around.guard is not None:
            access = Access(session_id=self.session_id, kind=kind, path=at, text=text)
            await self._around.guard(access)
        return at

    # What an editor holds.

    def _buffer_name(self, path: str, at: str | None) -> str | None:
        """The name under which an editor has this file open."""
        if self._around.buffers is None or at is None:
            return None
        names = (str(parse(path)), at)
        return next((name for name in names if self._around.buffers.get(name) is not None), None)

    def _read_buffer(self, name: str, at: str, line: int, limit: int | None) -> FileText:
        text = self._buffer_of(name) or ""
        window = LineWindow(first=line, limit=limit, most=self.files.settings.read_bytes)
        for begin in range(0, len(text), _PIECE):
            window.feed(text[begin : begin + _PIECE])
        version = version_of(_bytes(text))
        self.files.known_versions.set(at, version, text if self.files.settings.keeps_base else None)
        return FileText(window.text, version)

    def _buffer_of(self, name: str) -> str | None:
        return None if self._around.buffers is None else self._around.buffers.get(name)

    async def _try(self, path: str, at: str | None, draft: FileDraft) -> WriteResult | WriteClash:
        name = self._buffer_name(path, at)
        if name is not None and at is not None:
            return self._write_buffer(name, at, draft)
        return await in_disk_thread(self._folder, self.files.write, path, draft, at=at)

    def _write_buffer(self, name: str, at: str, draft: FileDraft) -> WriteResult | WriteClash:
        assert self._around.buffers is not None
        buffer_text = self._buffer_of(name) or ""
        now, known_version = version_of(_bytes(buffer_text)), self.files.known_versions.get(at)
        kind = kind_of_clash(
            known_version,
            now,
            strict=self.files.settings.strict,
            has_forgotten=self.files.known_versions.has_forgotten,
        )
        if kind is not None and now != draft.accepted_version:
            return WriteClash(kind, at, now, base_of(known_version), buffer_text)
        self._around.buffers.set(name, draft.text)
        known_text = draft.text if draft.known_as is None else draft.known_as
        keep = self.files.settings.keeps_base
        self.files.known_versions.set(at, version_of(_bytes(known_text)), known_text if keep else None)
        return WriteResult(at, version_of(_bytes(draft.text)), is_created=False)

    # Conflicts.

    async def _verdict(self, clash: WriteClash, text: str) -> Verdict:
        settings = self.files.settings
        if clash.kind == "not_read" or settings.stale == "refuse":
            return "refuse"
        if settings.stale == "merge":
            return "merge"
        if self._around.ask is None:  # nobody can answer here
            return "refuse"
        return await self._around.ask(
            WriteConflict(
                session_id=self.session_id,
                path=clash.path,
                kind=clash.kind,
                base=clash.base,
                ours=text,
                theirs=clash.theirs,
            )
        )

    async def _merge_draft(self, clash: WriteClash, text: str) -> FileDraft:
        merged_text = None
        if clash.base is not None and clash.theirs is not None:
            ours = with_endings_of(clash.theirs, text) if self.files.settings.form == "keep" else text
            merged_text = await asyncio.to_thread(merge, clash.base, ours, clash.theirs)
        if merged_text is None:
            self._record(clash, "refused")
            raise conflict_refused(clash, merge_failed=True)
        return FileDraft(merged_text, accepted_version=clash.version, known_as=text)

    def _record(self, clash: WriteClash, outcome: Outcome) -> None:
        if self._around.record is not None:
            self._around.record(
                ConflictDecision(
                    session_id=self.session_id, path=clash.path, kind=clash.kind, outcome=outcome
                )
            )


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


class Buffers(Protocol):
    """The interface that an editor implements for its unsaved files."""

    def get(self, path: str) -> str | None:
        """Return the text of the file if it is open here; None means that the workspace reads the disk.

        Asked by the path as the agent wrote it and, if that is not open, by the path with its links resolved.
        """
        ...

    def set(self, path: str, text: str) -> None:
        """Write to a file for which `get` returned a text. The editor decides about saving; an `ErrorAnswer`
        from here refuses the write.
        """
        ...
