"""Gives an agent's connection this machine's files and terminals, and handlers for permission and questions.

    local = LocalClient(lambda session_id: desk, rules=LocalRules())
    local.serve(client)
    with local.lending(cwd="/project", info=agent.info) as lent:
        session = await agent.new_session(cwd="/project")
        lent(session.id)

`run`, `chat`, the doors for other protocols and interpreters are such clients, and differ in whom they ask:
`find_desk` gives the `LocalDesk` that answers for a session, or None, and then nothing is permitted.
It is called with the first request, so that a client whose agent asks for nothing loads no policy.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol, TypeAlias

from dragoman.schema import v1
from dragoman_local.workspace.lent_files import Access
from dragoman_local.workspace.policy.decision import select_option
from dragoman_local.workspace.policy.tool_calls import ToolCalls
from dragoman_local.workspace.refusals import policy_refusal
from dragoman_local.workspace.remote_access import serve_decisions
from dragoman_local.workspace.settings import FileSettings, LocalRules, Place, TerminalSettings
from dragoman_local.workspace.workspace import Servable, Workspace

if TYPE_CHECKING:
    from dragoman_local.workspace.policy.permission_service import LocalDesk

_Permits: TypeAlias = Callable[[v1.RequestPermissionRequest, object], Awaitable[v1.RequestPermissionResponse]]
_Elicits: TypeAlias = Callable[[v1.CreateElicitationRequest, object], Awaitable[v1.CreateElicitationResponse]]


class Subagents(Protocol):
    """Knows the parent of each session; `SubagentTree` implements it."""

    def root_of(self, session_id: str) -> str: ...
    def requester(self, session_id: str) -> str: ...


class LocalServable(Servable, Protocol):
    """A client with hooks for all requests of an agent."""

    @property
    def request_permission(self) -> Callable[[_Permits], object]: ...
    @property
    def elicit(self) -> Callable[[_Elicits], object]: ...


class LocalClient:
    """Provides this machine to agents. Constructing opens nothing."""

    def __init__(
        self,
        find_desk: Callable[[str | None], LocalDesk | None],
        *,
        rules: LocalRules,
        place: Place = "here",
        find_subagents: Callable[[], Subagents | None] = lambda: None,
        on_no_wall: Callable[[str], None] | None = None,
    ) -> None:
        """`find_subagents` returns those of the connected agent; `on_no_wall` is the workspace's."""
        self.place = place
        self.calls = ToolCalls()
        """Whoever hears updates tells them of each."""
        self._find_desk = find_desk
        self._find_subagents = find_subagents
        self.workspace = Workspace(
            guard=self.guard,
            terminals=TerminalSettings(shell_lines=rules.shell_lines, sandbox=rules.sandbox),
            root_of=self._root_of,
            on_no_wall=on_no_wall,
        )

    def serve(self, client: LocalServable) -> None:
        """Answer the requests of this client's agent."""
        client.request_permission(self.permission)
        client.elicit(self.elicit)
        if self.place == "here":
            self.workspace.serve(client)
        elif self.place == "there":
            serve_decisions(client, self.guard)

    # Sessions.

    def lend(
        self,
        session_id: str,
        *,
        cwd: str,
        additional_directories: Sequence[str] = (),
        info: v1.Implementation | None,
    ) -> None:
        """Provide the folders of a session with a known id, if they are here."""
        if self.place == "here":
            self.workspace.open(
                session_id,
                cwd=cwd,
                additional_directories=additional_directories,
                settings=settings_for(info),
            )

    @contextmanager
    def lending(
        self, *, cwd: str, additional_directories: Sequence[str] = (), info: v1.Implementation | None
    ) -> Iterator[Callable[[str], None]]:
        """Provide the folders of a session that is about to be created; call the result with its id."""
        if self.place != "here":
            yield lambda session_id: None
            return
        with self.workspace.opening(
            cwd=cwd, additional_directories=additional_directories, settings=settings_for(info)
        ) as opening:
            yield opening.settle

    # What the agent asks for.

    async def permission(
        self, request: v1.RequestPermissionRequest, agent: object = None
    ) -> v1.RequestPermissionResponse:
        desk = self._desk(request.session_id)
        return select_option(None) if desk is None else await desk.permissions.permission(request)

    async def guard(self, access: Access) -> None:
        desk = self._desk(access.session_id)
        if desk is None:
            raise policy_refusal()
        await desk.permissions.guard(access)

    async def elicit(
        self, request: v1.CreateElicitationRequest, agent: object = None
    ) -> v1.CreateElicitationResponse:
        desk = self._desk(getattr(request, "session_id", None))
        return v1.ElicitationCancelAction() if desk is None else await desk.questions.elicit(request)

    def requester_of(self, session_id: str) -> str:
        """Return the subagent of this session, with its parents; empty for any other session."""
        return "" if (tree := self._find_subagents()) is None else tree.requester(session_id)

    def _root_of(self, session_id: str) -> str:
        return session_id if (tree := self._find_subagents()) is None else tree.root_of(session_id)

    def _desk(self, session_id: object) -> LocalDesk | None:
        return self._find_desk(self._root_of(session_id) if isinstance(session_id, str) else None)


def settings_for(info: v1.Implementation | None) -> FileSettings:
    """Return the file settings for this agent."""
    # Gemini reads each file before it creates it, and gives up when that is answered with an error.
    reads_first = info is not None and "gemini" in info.name.lower()
    return FileSettings(missing="empty" if reads_first else "not_found")
