"""A workspace: the files and terminals that a client provides to each session, and their method handlers.

    workspace = Workspace()
    client = Client("my-client")
    workspace.serve(client)

    async with connect("some-agent", client=client) as agent:
        with workspace.opening(cwd="/project") as opening:
            session = await agent.new_session(cwd="/project")
            opening.settle(session.id)

Each request is held against the roots of the session that it names; a session that nobody has opened here has
none. Leaving a workspace (`with`, `async with`, or `close_all`) closes all of them and ends every command
that still runs; `async with` grants commands the time to end by themselves.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from types import TracebackType
from typing import Any, NamedTuple, Protocol, TypeAlias, TypeVar

from msgspec import UNSET

from dragoman.errors import ErrorAnswer
from dragoman.schema.base import given
from dragoman.schema.v1.fs import (
    ReadTextFileRequest,
    ReadTextFileResponse,
    WriteTextFileRequest,
    WriteTextFileResponse,
)
from dragoman.schema.v1.terminal import (
    CreateTerminalRequest,
    CreateTerminalResponse,
    KillTerminalRequest,
    KillTerminalResponse,
    ReleaseTerminalRequest,
    ReleaseTerminalResponse,
    TerminalExitStatus,
    TerminalOutputRequest,
    TerminalOutputResponse,
    WaitForTerminalExitRequest,
    WaitForTerminalExitResponse,
)
from dragoman_local.workspace import extension_methods
from dragoman_local.workspace.files import SessionFiles
from dragoman_local.workspace.lent_files import Buffers, Guard, LentFiles, WorkspaceHooks
from dragoman_local.workspace.lent_terminals import LentTerminals, TerminalRequest
from dragoman_local.workspace.refusals import path_missing, reason_of, session_unknown
from dragoman_local.workspace.roots import Roots
from dragoman_local.workspace.settings import (
    DEFAULT_SETTINGS,
    DEFAULT_TERMINALS,
    FileSettings,
    TerminalSettings,
)
from dragoman_local.workspace.versions import KnownVersions
from dragoman_local.workspace.write_conflicts import AskConflict, RecordConflict

# Handlers of the protocol's five terminal methods, for a client.
#
# They turn messages into calls of a session's terminals and back; what is allowed is decided there.

Sessions: TypeAlias = Callable[[str, object], LentTerminals]
"""Returns the terminals of a session, by its id and the agent that asks."""

_Creates: TypeAlias = Callable[[CreateTerminalRequest, object], Awaitable[CreateTerminalResponse]]
_Shows: TypeAlias = Callable[[TerminalOutputRequest, object], Awaitable[TerminalOutputResponse]]
_Waits: TypeAlias = Callable[[WaitForTerminalExitRequest, object], Awaitable[WaitForTerminalExitResponse]]
_Kills: TypeAlias = Callable[[KillTerminalRequest, object], Awaitable[KillTerminalResponse | None]]
_Releases: TypeAlias = Callable[[ReleaseTerminalRequest, object], Awaitable[ReleaseTerminalResponse | None]]


class HasTerminals(Protocol):
    """A client on which the five terminal methods can be registered."""

    @property
    def create_terminal(self) -> Callable[[_Creates], object]: ...
    @property
    def terminal_output(self) -> Callable[[_Shows], object]: ...
    @property
    def wait_for_terminal_exit(self) -> Callable[[_Waits], object]: ...
    @property
    def kill_terminal(self) -> Callable[[_Kills], object]: ...
    @property
    def release_terminal(self) -> Callable[[_Releases], object]: ...


def serve_terminals(client: HasTerminals, sessions: Sessions) -> None:
    """Let a client answer for the terminals of these sessions."""

    async def create(request: CreateTerminalRequest, agent: object) -> CreateTerminalResponse:
        terminals = sessions(request.session_id, agent)
        limit = request.output_byte_limit
        terminal_request = TerminalRequest(
            command=request.command,
            args=request.args or (),
            env=[(variable.name, variable.value) for variable in request.env or ()],
            cwd=request.cwd if isinstance(request.cwd, str) else None,
            output_bytes=limit if isinstance(limit, int) else None,
        )
        return CreateTerminalResponse(terminal_id=await terminals.create(terminal_request))

    async def output(request: TerminalOutputRequest, agent: object) -> TerminalOutputResponse:
        terminal = sessions(request.session_id, agent).get(request.terminal_id)
        # The status first: what it comes with is whole.
        process_exit, tail = terminal.exit, terminal.tail
        status = (
            UNSET
            if process_exit is None
            else TerminalExitStatus(exit_code=process_exit.code, signal=process_exit.signal)
        )
        text = tail.text + ("" if process_exit is None else await terminal.wall_note())
        return TerminalOutputResponse(output=text, truncated=tail.is_truncated, exit_status=status)

    async def wait(request: WaitForTerminalExitRequest, agent: object) -> WaitForTerminalExitResponse:
        process_exit = await sessions(request.session_id, agent).wait(request.terminal_id)
        return WaitForTerminalExitResponse(exit_code=process_exit.code, signal=process_exit.signal)

    async def kill(request: KillTerminalRequest, agent: object) -> KillTerminalResponse:
        await sessions(request.session_id, agent).kill(request.terminal_id)
        return KillTerminalResponse()

    async def release(request: ReleaseTerminalRequest, agent: object) -> ReleaseTerminalResponse:
        await sessions(request.session_id, agent).release(request.terminal_id)
        return ReleaseTerminalResponse()

    client.create_terminal(create)
    client.terminal_output(output)
    client.wait_for_terminal_exit(wait)
    client.kill_terminal(kill)
    client.release_terminal(release)


F = TypeVar("F", bound=Callable[..., Any])

_Key: TypeAlias = tuple[object, str]
_Reads: TypeAlias = Callable[[ReadTextFileRequest, object], Awaitable[ReadTextFileResponse]]
_Writes: TypeAlias = Callable[[WriteTextFileRequest, object], Awaitable[WriteTextFileResponse | None]]


class Servable(HasTerminals, Protocol):
    """A client on which methods of the protocol and extensions can be registered."""

    @property
    def read_text_file(self) -> Callable[[_Reads], object]: ...
    @property
    def write_text_file(self) -> Callable[[_Writes], object]: ...
    def extension(self, method: str) -> Callable[[F], F]: ...


class LentSession(NamedTuple):
    """The files and terminals of one session."""

    files: LentFiles
    terminals: LentTerminals

    def name(self, session_id: str) -> None:
        self.files.session_id = self.terminals.session_id = session_id

    def for_subagent(self, session_id: str, around: WorkspaceHooks) -> LentSession:
        """Return the same for another session, with its own id for the guard."""
        return LentSession(
            LentFiles(session_id, self.files.files, around), self.terminals.for_subagent(session_id)
        )

    def close(self) -> None:
        self.terminals.close()
        self.files.files.roots.close()


class Workspace:
    """Provides files and terminals. Constructing opens nothing."""

    def __init__(
        self,
        *,
        settings: FileSettings = DEFAULT_SETTINGS,
        terminals: TerminalSettings | None = DEFAULT_TERMINALS,
        buffers: Buffers | None = None,
        ask: AskConflict | None = None,
        record: RecordConflict | None = None,
        guard: Guard | None = None,
        root_of: Callable[[str], str] | None = None,
        on_no_wall: Callable[[str], None] | None = None,
    ) -> None:
        """`ask` decides conflicts if the settings require it, `record` is called with every decision, `guard`
        is called before each access to a file and each start of a command, and refuses by raising. Without
        settings for `terminals` there are none. `root_of` returns the parent session of a subagent's session,
        which gets the same folders and terminals. `on_no_wall` gets the reason why commands of a session run
        without a sandbox, if nobody chose that; otherwise the log does.
        """
        self._settings = settings
        self._terminals = terminals
        self._around = WorkspaceHooks(buffers=buffers, ask=ask, record=record, guard=guard)
        self._sessions: dict[_Key, LentSession] = {}
        self._openings: list[SessionOpening] = []
        self._root_of = root_of
        self._on_no_wall = on_no_wall
        self._writing = threading.Lock()

    def serve(self, client: Servable, *, write: bool = True, extensions: bool = True) -> None:
        """Let this workspace answer a client's requests for files and terminals."""
        client.read_text_file(self._read_text_file)
        if write:
            client.write_text_file(self._write_text_file)
        if extensions:
            for method, handler in extension_methods.handlers(self.session).items():
                client.extension(method)(handler)
        if self._terminals is not None:
            serve_terminals(client, self.terminals)

    # Sessions.

    def open(
        self,
        session_id: str,
        *,
        cwd: str = "",
        additional_directories: Sequence[str] = (),
        roots: Roots | None = None,
        settings: FileSettings | None = None,
        agent: object = None,
    ) -> LentFiles:
        """Provide the folders of a session with a known id, for example a loaded or resumed one.

        Opening it again replaces its folders, all of them; what the agent was told of files stays, and so do
        its terminals. `roots` are folders that somebody has opened already, in place of `cwd`; they are the
        workspace's from then on. With `agent` (what `connect` gives), nobody else can use the session: ids
        of two agents may be the same.
        """
        before = self._sessions.get((agent, session_id))
        lent = self._lend(roots or Roots(cwd, additional_directories), settings, before=before)
        self._settle((agent, session_id), lent)
        return lent.files

    @contextmanager
    def opening(
        self,
        *,
        cwd: str = "",
        additional_directories: Sequence[str] = (),
        roots: Roots | None = None,
        settings: FileSettings | None = None,
        agent: object = None,
    ) -> Iterator[SessionOpening]:
        """Provide the folders of a session that is about to be created. Its agent may request files before
        its id is known; if this is the only opening in progress, such a request belongs to it.
        """
        lent = self._lend(roots or Roots(cwd, additional_directories), settings, before=None)
        opening = SessionOpening(lent, agent, self._settle)
        self._openings.append(opening)
        try:
            yield opening
        finally:
            self._openings.remove(opening)
            if not opening.is_settled:
                lent.close()

    def session(self, session_id: str, agent: object = None) -> LentFiles:
        """Return the files of a session; an error if it is not open here for this agent."""
        return self._session_of(session_id, agent).files

    def terminals(self, session_id: str, agent: object = None) -> LentTerminals:
        """Return the terminals of a session; an error if it is not open here for this agent."""
        return self._session_of(session_id, agent).terminals

    def _session_of(self, session_id: str, agent: object) -> LentSession:
        lent = self._sessions.get((agent, session_id)) or self._sessions.get((None, session_id))
        if lent is not None:
            return lent
        root = session_id if self._root_of is None else self._root_of(session_id)
        if root != session_id:
            return self._session_of(root, agent).for_subagent(session_id, self._around)
        early = [opening for opening in self._openings if opening.agent in (None, agent)]
        if len(early) == 1 and early[0].claims(session_id):
            return early[0].session
        raise session_unknown(session_id)

    def close(self, session_id: str, *, agent: object = None) -> None:
        """End this session's access, and kill its commands. A second call has no effect."""
        lent = self._sessions.pop((agent, session_id), None)
        if lent is not None:
            lent.close()

    def renew(self, former_id: str, session_id: str) -> None:
        """Give the folders of a lost session to its successor. Commands of the old one are killed, and its
        known file versions are forgotten, as by the agent.
        """
        former = self._sessions.pop((None, former_id), None)
        if former is not None:
            former.terminals.close()
            lent = self._lend(former.files.files.roots, former.files.files.settings, before=None)
            self._settle((None, session_id), lent)

    def close_all(self) -> None:
        for agent, session_id in list(self._sessions):
            self.close(session_id, agent=agent)

    async def aclose(self) -> None:
        """Close every session; commands are asked to end before they are killed."""
        try:
            await asyncio.gather(*(lent.terminals.aclose() for lent in self._sessions.values()))
        finally:
            self.close_all()

    async def __aenter__(self) -> Workspace:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    def __enter__(self) -> Workspace:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close_all()

    def _lend(
        self,
        roots: Roots,
        settings: FileSettings | None,
        *,
        before: LentSession | None,
    ) -> LentSession:
        file_settings = settings or self._settings
        known_versions = (
            KnownVersions(base_bytes=file_settings.base_bytes)
            if before is None
            else before.files.files.known_versions
        )
        files = SessionFiles(roots, file_settings, known_versions=known_versions, writing=self._writing)
        terminals = LentTerminals(
            roots,
            self._terminals or DEFAULT_TERMINALS,
            guard=self._around.guard,
            on_no_wall=self._on_no_wall,
        )
        if before is not None:
            terminals = before.terminals
        return LentSession(LentFiles("", files, self._around), terminals)

    def _settle(self, key: _Key, lent: LentSession) -> None:
        lent.name(key[1])
        before = self._sessions.get(key)
        self._sessions[key] = lent
        lent.terminals.roots = lent.files.files.roots
        if before is not None:
            before.files.files.roots.close()
            if before.terminals is not lent.terminals:
                before.terminals.close()

    # Handlers.

    async def _read_text_file(self, request: ReadTextFileRequest, agent: object) -> ReadTextFileResponse:
        limit = request.limit if isinstance(request.limit, int) else None
        lent = self.session(request.session_id, agent)
        try:
            read = await lent.read(request.path, line=given(request.line, 1), limit=limit)
        except ErrorAnswer as error:
            if reason_of(error) == "outside" and lent.files.settings.outside == "not_found":
                raise path_missing() from error
            raise
        return ReadTextFileResponse(content=read.text, meta={"dragoman": {"version": read.version}})

    async def _write_text_file(self, request: WriteTextFileRequest, agent: object) -> WriteTextFileResponse:
        result = await self.session(request.session_id, agent).write(request.path, request.content)
        about: dict[str, Any] = {"version": result.version}
        if result.outcome is not None:
            about["conflict"] = result.outcome
        return WriteTextFileResponse(meta={"dragoman": about})


class SessionOpening:
    """A session that is being created."""

    def __init__(self, lent: LentSession, agent: object, settle: Callable[[_Key, LentSession], None]) -> None:
        self.session = lent
        self.agent = agent
        self.is_settled = False
        self._settle = settle
        self._claimed_id: str | None = None

    def settle(self, session_id: str) -> None:
        """Set the id of the created session."""
        self.is_settled = True
        self._settle((self.agent, session_id), self.session)

    def claims(self, session_id: str) -> bool:
        """Whether an unknown id may be this one's. Only the first is."""
        if self.is_settled:
            return False
        self._claimed_id = self._claimed_id or session_id
        if self._claimed_id == session_id:
            self.session.name(session_id)
        return self._claimed_id == session_id
