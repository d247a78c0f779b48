"""Opens, lists and deletes durable sessions: the handlers behind `session/new`, `load`, `resume`, `fork`,
`list`, `close`, `delete` and `set_title`.

A session belongs to whoever opened it last. Opening it writes a note, so that the next append of whoever
had it before is refused, and nothing is ever mixed. While a turn runs in it elsewhere it cannot be opened
or deleted.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Protocol, cast
from uuid import uuid4

from msgspec import UNSET

from dragoman.errors import ErrorAnswer, JournalDamaged, JournalError, NoSuchStream, StreamMoved
from dragoman.runtime.owner import run_to_end
from dragoman.schema import v1
from dragoman.schema.scalars import is_absolute
from dragoman.wire.codes import INTERNAL_ERROR, invalid_params, invalid_request, session_not_found
from dragoman_local.journal import Entry, Journal, StreamInfo
from dragoman_local.kit import frames
from dragoman_local.kit.log import KitJournal
from dragoman_local.kit.restore import RestoredSession, Send, copy, ending, recall
from dragoman_local.kit.session import KitSession
from dragoman_local.kit.session_lock import SessionFileLock
from dragoman_local.kit.settings import SessionSettings
from dragoman_local.kit.turn_run import RUNNING

if TYPE_CHECKING:
    from dragoman.sdk.agent.agent import Agent
    from dragoman.sdk.agent.session import ClientHandle
    from dragoman_local.kit.journal_lender import JournalLender
    from dragoman_local.kit.settings import AnyOption

log = logging.getLogger(__name__)

CANNOT_OPEN = "Internal error: the stored sessions of this agent cannot be opened; its log says why"

PAGE = 50
"""The sessions in one page of a listing."""


class SessionKit(Protocol):
    """The parts of a kit that its sessions use; `Kit` implements it."""

    agent: Agent
    shelf: JournalLender
    options: dict[str, AnyOption]
    conversation: Callable[[KitSession[Any]], Any]

    def mount(self, session: KitSession[Any]) -> None:
        """Start the client's MCP servers of the session."""

    def greeting(self) -> v1.SessionUpdate | None:
        """Return the message for a client about each session that it opens; None if there is none."""


class KitSessions:
    """The durable sessions of one kit, in all its connections."""

    def __init__(self, kit: SessionKit) -> None:
        self._kit = kit
        self._connections: dict[ClientHandle, KitConnection] = {}

    # What opens one.

    async def new(self, request: v1.NewSessionRequest, client: ClientHandle) -> v1.NewSessionResponse:
        connection, journal = await self._connect(client)
        session_id = str(uuid4())
        stream = self._kit.shelf.stream(session_id)
        last = await journal.append(stream, [_note("session")])
        await journal.describe(stream, agent=self._kit.agent.name, cwd=request.cwd, session=session_id)
        restored_session = RestoredSession(session_id)
        restored_session.last = last
        async with _delete_on_error(journal, stream):
            session = await self._open(connection, client, request, restored_session, journal)
        return v1.NewSessionResponse(
            session_id=session_id, modes=session.settings.modes(), config_options=_options(session)
        )

    async def load(self, request: v1.LoadSessionRequest, client: ClientHandle) -> v1.LoadSessionResponse:
        outbox = client.link.outbox

        async def send(frames: bytes) -> None:
            outbox.add(frames)
            await outbox.flow()

        session = await self._reopen(request, client, send)
        return v1.LoadSessionResponse(modes=session.settings.modes(), config_options=_options(session))

    async def resume(
        self, request: v1.ResumeSessionRequest, client: ClientHandle
    ) -> v1.ResumeSessionResponse:
        session = await self._reopen(request, client, None)
        usage = session.total_usage.update()
        if usage is not None:
            client.link.outbox.add(frames.update_frame(session.id, usage) + b"\n")
        return v1.ResumeSessionResponse(modes=session.settings.modes(), config_options=_options(session))

    async def fork(self, request: v1.ForkSessionRequest, client: ClientHandle) -> v1.ForkSessionResponse:
        connection, journal = await self._connect(client)
        info = await self._info(journal, request.session_id)
        open_here = client.sessions.get(request.session_id)
        if isinstance(open_here, KitSession):
            await open_here.log.flush()
        session_id = str(uuid4())
        stream = self._kit.shelf.stream(session_id)
        async with _delete_on_error(journal, stream):
            restored_session = await copy(
                journal, info.stream, stream, RestoredSession(session_id), request.session_id
            )
            await journal.describe(
                stream, agent=self._kit.agent.name, cwd=request.cwd, session=session_id, title=info.title
            )
            await self._take(journal, stream, restored_session, None)
            session = await self._open(
                connection, client, request, restored_session, journal, title=info.title
            )
        return v1.ForkSessionResponse(
            session_id=session_id, modes=session.settings.modes(), config_options=_options(session)
        )

    async def _reopen(self, request: Any, client: ClientHandle, send: Send | None) -> KitSession[Any]:
        connection, journal = await self._connect(client)
        session_id: str = request.session_id
        info = await self._info(journal, session_id)
        before = next((session for session in connection.sessions if session.id == session_id), None)
        if before is not None:
            if before.running:
                raise invalid_request("a turn is running in this session")
            await self._close(connection, before)
            cast("dict[str, Any]", client.sessions).pop(session_id, None)
        if self._lease(info.stream).is_held_elsewhere():
            raise invalid_request(RUNNING)
        skipped_kinds = () if "session.compaction" in client.capabilities else ("compaction_update",)
        restored_session = RestoredSession(session_id, skipped_kinds=skipped_kinds)
        try:
            await self._take(journal, info.stream, restored_session, send)
        except NoSuchStream:
            raise session_not_found(session_id) from None
        except JournalDamaged:
            raise ErrorAnswer(INTERNAL_ERROR, "Internal error: the stored session is damaged") from None
        if info.cwd != request.cwd:
            await journal.describe(info.stream, cwd=request.cwd)
        return await self._open(
            connection, client, request, restored_session, journal, title=info.title, is_known=True
        )

    async def _take(
        self, journal: Journal, stream: str, restored_session: RestoredSession, send: Send | None
    ) -> None:
        """Read a stream to its end and take it over, even if another process writes to it meanwhile."""
        while True:
            await recall(journal, stream, restored_session, send)
            if self._lease(stream).is_held_elsewhere():
                raise invalid_request(RUNNING)
            end_frames = (
                await ending(journal, stream, restored_session)
                if restored_session.open_since is not None
                else []
            )
            now = time.time()
            entries = [*(Entry("to_client", frame, now) for frame in end_frames), _note("opened")]
            try:
                restored_session.last = await journal.append(stream, entries, after=restored_session.last)
            except StreamMoved:
                continue
            if send is not None and end_frames:
                await send(b"".join(frame + b"\n" for frame in end_frames[:-1]))
            return

    async def _open(
        self,
        connection: KitConnection,
        client: ClientHandle,
        request: Any,
        restored_session: RestoredSession,
        journal: Journal,
        *,
        title: str = "",
        is_known: bool = False,
    ) -> KitSession[Any]:
        """`is_known`: the client knows the id, so it may be told of the session before its answer."""
        stream = self._kit.shelf.stream(restored_session.session_id)
        session: KitSession[Any] = KitSession(
            client,
            restored_session.session_id,
            cwd=request.cwd,
            additional_directories=list(request.additional_directories or ()),
            mcp_servers=list(request.mcp_servers or ()),
            log=KitJournal(journal, stream, last=restored_session.last),
            lease=self._lease(stream),
            settings=SessionSettings(self._kit.options, restored_session.settings),
            restored_session=restored_session,
            title=title,
        )
        conversation = self._kit.conversation(session)
        session.conversation = await conversation if inspect.isawaitable(conversation) else conversation
        cast("dict[str, Any]", client.sessions)[session.id] = session
        connection.sessions.add(session)
        self._kit.mount(session)
        if is_known:
            self._greet(session)
        else:  # the answer is written in this step of the loop: the greeting leaves right behind it
            asyncio.get_running_loop().call_soon(self._greet, session)
        return session

    def _greet(self, session: KitSession[Any]) -> None:
        greeting, client = self._kit.greeting(), session.client
        if greeting is not None and client.sessions.get(session.id) is session:
            client.link.outbox.add(frames.update_frame(session.id, greeting) + b"\n")

    # What is done to stored ones.

    async def list(self, request: v1.ListSessionsRequest, client: ClientHandle) -> v1.ListSessionsResponse:
        _, journal = await self._connect(client)
        cwd = request.cwd if isinstance(request.cwd, str) else None
        if cwd is not None and not is_absolute(cwd):
            raise invalid_params("cwd must be an absolute path")
        cursor = request.cursor if isinstance(request.cursor, str) else None
        try:
            page = await journal.list(agent=self._kit.agent.name, cwd=cwd, cursor=cursor, limit=PAGE)
        except JournalError:
            if cursor is None:
                raise
            raise invalid_params("this is not a cursor of a listing") from None
        return v1.ListSessionsResponse(
            sessions=[_session_info(info) for info in page.streams if info.session],
            next_cursor=UNSET if page.cursor is None else page.cursor,
        )

    async def close(self, request: v1.CloseSessionRequest, client: ClientHandle) -> None:
        connection, _ = await self._connect(client)
        session = client.sessions.get(request.session_id)
        if isinstance(session, KitSession):
            await self._close(connection, session)

    async def delete(self, request: v1.DeleteSessionRequest, client: ClientHandle) -> None:
        connection, journal = await self._connect(client)
        session = client.sessions.get(request.session_id)
        stream = self._kit.shelf.stream(request.session_id)
        if isinstance(session, KitSession):
            if session.running:
                raise invalid_request("a turn is running in this session")
            await self._close(connection, session)
            cast("dict[str, Any]", client.sessions).pop(request.session_id, None)
        if self._lease(stream).is_held_elsewhere():
            raise invalid_request(RUNNING)
        await journal.delete(stream)

    async def set_title(
        self, request: v1.SetSessionTitleRequest, client: ClientHandle
    ) -> v1.SetSessionTitleResponse:
        _, journal = await self._connect(client)
        info = await self._info(journal, request.session_id)
        title = " ".join(request.title.split())
        session = client.sessions.get(request.session_id)
        if isinstance(session, KitSession):
            session.session_title = title
        await journal.describe(info.stream, title=title)
        return v1.SetSessionTitleResponse(title=title)

    # Inside.

    async def _connect(self, client: ClientHandle) -> tuple[KitConnection, Journal]:
        connection = self._connections.get(client)
        if connection is None:
            connection = self._connections[client] = KitConnection(client, self._kit.shelf)
            connection.begin(lambda: self._connections.pop(client, None))
        try:
            return connection, await connection.journal()
        except JournalError as error:
            log.error("the sessions of this agent cannot be opened: %s", error)
            raise ErrorAnswer(INTERNAL_ERROR, CANNOT_OPEN) from None

    async def _info(self, journal: Journal, session_id: str) -> StreamInfo:
        info = await journal.info(self._kit.shelf.stream(session_id))
        if info is None or not info.last:
            raise session_not_found(session_id)
        return info

    def _lease(self, stream: str) -> SessionFileLock:
        return SessionFileLock(self._kit.shelf.leases, stream)

    @staticmethod
    async def _close(connection: KitConnection, session: KitSession[Any]) -> None:
        connection.sessions.discard(session)
        await run_to_end(session.aclose())


@asynccontextmanager
async def _delete_on_error(journal: Journal, stream: str) -> AsyncIterator[None]:
    """Delete the stream of a session that could not be opened."""
    try:
        yield
    except BaseException:
        await journal.delete(stream)
        raise


def _note(kind: str) -> Entry:
    return Entry("note", frames.note(kind), time.time())


def _options(session: KitSession[Any]) -> Any:
    return session.config_options() if session.settings else UNSET


def _session_info(info: StreamInfo) -> v1.SessionInfo:
    updated_at = datetime.fromtimestamp(info.updated, UTC).isoformat(timespec="milliseconds")
    return v1.SessionInfo(
        session_id=info.session,
        cwd=info.cwd,
        title=info.title or UNSET,
        updated_at=updated_at.replace("+00:00", "Z"),
    )


# The state of a kit for one connection: its open sessions and its share of the journal.
#
# It lasts as long as the link: a task of the link holds it, and when the link closes, that task ends the
# sessions, stores what they said, and gives the journal back.


class KitConnection:
    """One connection, created at the client's first request for a session."""

    def __init__(self, client: ClientHandle, shelf: JournalLender) -> None:
        self._client = client
        self._shelf = shelf
        self._journal: asyncio.Future[Journal] = asyncio.get_running_loop().create_future()
        self.sessions: set[KitSession[Any]] = set()

    def begin(self, on_end: Callable[[], object]) -> None:
        """Keep the journal open until the link closes, then call `on_end`."""
        self._client.link.own(self._keep(on_end))

    async def journal(self) -> Journal:
        return await asyncio.shield(self._journal)

    async def _keep(self, on_end: Callable[[], object]) -> None:
        try:
            journal = await self._shelf.borrow()
        except BaseException as error:
            on_end()
            self._journal.set_exception(error)
            self._journal.exception()  # whoever asked is told; if nobody waits, it is nobody's
            if isinstance(error, Exception):
                return
            raise
        self._journal.set_result(journal)
        try:
            await self._client.link.wait_ended()
            # The link grants turns that are under way a moment, and then cancels them and us.
            await self._idle()
        finally:
            on_end()
            # A link that hangs up and closes at once cancels us in the middle of this.
            await run_to_end(self._end())

    async def _idle(self) -> None:
        running = [turn.end_future for session in self.sessions for turn in session.running]
        if running:
            await asyncio.wait(running)

    async def _end(self) -> None:
        try:
            await asyncio.gather(*(_close_session(session) for session in self.sessions))
        finally:
            await self._shelf.give_back()


async def _close_session(session: KitSession[Any]) -> None:
    with suppress(ErrorAnswer):  # it could not be stored, which the log has said; nobody is left to be told
        await session.aclose()
