"""The local history of runs: each run is recorded, and the last session of a folder can be found again.

A history that cannot be opened or written is told and not waited for: a run is worth more than its record.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import AsyncExitStack
from types import TracebackType
from typing import TYPE_CHECKING

from dragoman.errors import JournalError
from dragoman_app.apps.run.plan import LAST
from dragoman_app.apps.run.reporter import RunReporter
from dragoman_app.apps.running_marks import RunningMark
from dragoman_local import journal
from dragoman_local.journal import Journal, StreamInfo
from dragoman_local.journal.history import HistoryRecorder, history_path, new_stream

if TYPE_CHECKING:
    from dragoman.transport.tapped_transport import Tap
    from dragoman_local.journal.brief import ConversationBrief


class RunHistory:
    """Use `async with RunHistory(…) as history:` around a run. `tap` is for `connect`;
    None records nothing.
    """

    def __init__(self, reporter: RunReporter, *, record: bool, look_up: bool) -> None:
        self._reporter = reporter
        self._record = record
        self._look_up = look_up
        self._stack = AsyncExitStack()
        self._journal: Journal | None = None
        self._recorder: HistoryRecorder | None = None
        self._stream = ""
        self.tap: Tap | None = None

    @property
    def stream(self) -> str:
        """The name of this run in the history; empty if it is not recorded."""
        return self._stream if self._record else ""

    async def __aenter__(self) -> RunHistory:
        if not (self._record or self._look_up):
            return self
        self._stream = new_stream()
        try:
            # Survives our own death; that the lights go out is not what a local history is for.
            journal_context = journal.open_journal(history_path(), durability="normal")
            self._journal = await self._stack.enter_async_context(journal_context)
        except (JournalError, OSError) as error:
            self._reporter.note(f"the history cannot be used: {error}", level="warning")
            return self
        if self._record:
            self._stack.enter_context(RunningMark(self._stream))
            self._recorder = await self._stack.enter_async_context(HistoryRecorder(self._journal))
            self.tap = self._recorder.tap(self._stream)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._stack.__aexit__(kind, error, trace)

    def stderr(self, chunk: bytes) -> None:
        if self._recorder is not None:
            self._recorder.note(self._stream, stderr=chunk.decode(errors="replace"))

    async def last_session(self, names: Iterable[str], cwd: str) -> str | None:
        """Return the id of the latest session of one of these agents in this folder."""
        if self._journal is None:
            return None
        infos: list[StreamInfo] = []
        for name in names:
            listing = await self._journal.list(agent=name, cwd=cwd, limit=20)
            infos += [info for info in listing.streams if info.session and info.stream != self._stream]
        latest = max(infos, key=lambda info: info.updated, default=None)
        return None if latest is None else latest.session

    async def find_source(self, name: str, cwd: str) -> tuple[StreamInfo, ConversationBrief]:
        """Return a recorded session for another agent to continue, and a brief of it. Raises
        `SessionMistake`.
        """
        from dragoman_app.apps.recorded_sessions import SessionMistake, find_session, read_brief

        if self._journal is None:
            raise SessionMistake("can't read the history, so there is no session to continue")
        if name == LAST:
            streams = (await self._journal.list(cwd=cwd, limit=2)).streams
            infos = [info for info in streams if info.stream != self._stream]
            if not infos:
                raise SessionMistake("no session to continue in this folder")
            info = infos[0]
        else:
            info = await find_session(self._journal, name)
        return info, await read_brief(self._journal, info)

    async def note_handover(self, source: str, *, agent: str) -> None:
        """Note in both streams which agent continues where, if they exist."""
        if self._recorder is None or self._journal is None or not source:
            return
        from dragoman_app.apps.recorded_sessions import note_handover

        try:
            await note_handover(self._journal, self._recorder, source, stream=self._stream, agent=agent)
        except JournalError as error:
            self._reporter.note(f"the history is incomplete: {error}", level="warning")

    async def describe(self, *, agent: str, state: str) -> None:
        """Record the outcome, under the user's name for the agent."""
        if self._recorder is None or self._journal is None:
            return
        try:
            await self._recorder.flush()
            if await self._journal.info(self._stream) is not None:
                await self._journal.describe(self._stream, agent=agent, state=state)
        except JournalError as error:
            self._reporter.note(f"the history is incomplete: {error}", level="warning")
