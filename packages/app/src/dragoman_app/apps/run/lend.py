"""What a run lends its agent: files, terminals, and somebody who decides.

Most turns ask for nothing, so what answers (`lending_desk`) is loaded with the first request. What cannot
wait is here: what is advertised, the tool calls that a later question may be about, and the folders of a
session, which are opened when the session is: nobody can put others in their place before the first
request.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

from dragoman import Client
from dragoman.schema import v1
from dragoman.sdk.client.subagents import SubagentTree
from dragoman.version import VERSION
from dragoman_app.apps.run.disk_changes import DecidedEffects
from dragoman_app.apps.run.plan import RunPlan
from dragoman_app.apps.run.reporter import RunReporter
from dragoman_local.workspace.policy.tool_calls import ToolCalls
from dragoman_local.workspace.roots import Roots
from dragoman_local.workspace.settings import FileSettings

if TYPE_CHECKING:
    from dragoman_app.apps.run.lending_desk import LendingDesk
    from dragoman_local.workspace.workspace import SessionOpening, Workspace

QUESTIONS = ("session/request_permission", "elicitation/create")

FILES_AND_TERMINALS = (
    *("fs/read_text_file", "fs/write_text_file"),
    *("terminal/create", "terminal/output", "terminal/wait_for_exit", "terminal/kill", "terminal/release"),
    *("_dragoman/fs/stat", "_dragoman/fs/glob", "_dragoman/fs/read_range"),
)

DECISIONS = ("_dragoman/access/permit",)
"""What an agent elsewhere asks for: its files are lent there."""


class LentWorkspace:
    """The client of one run, with handlers for everything. Needs a running loop."""

    def __init__(
        self,
        plan: RunPlan,
        reporter: RunReporter,
        *,
        on_open_question: Callable[[], None],
        is_remote: bool,
    ) -> None:
        """Of an agent that `is_remote`, only the decisions are made here."""
        self.subagents = SubagentTree()
        """Of the agent that is connected now."""
        self.on_update: Callable[[v1.SessionNotification], None] | None = None
        self.workspace = LentFolders()
        self._plan = plan
        self._reporter = reporter
        self._on_open_question = on_open_question
        self._is_remote = is_remote
        self._calls = ToolCalls()
        self._desk: LendingDesk | None = None
        self.client = Client(
            "dragoman-run",
            version=VERSION,
            title="Dragoman",
            elicitation_modes=("form", "url"),
            auth_terminal=plan.rules.ask,
            subagents=True,
        )
        self.client.update(self._on_update)
        for method in (*QUESTIONS, *(DECISIONS if is_remote else FILES_AND_TERMINALS)):
            self.client.handlers.add(method, self._handler(method))

    @property
    def desk(self) -> LendingDesk:
        """Who answers; made when it is first asked for."""
        if self._desk is None:
            from dragoman_app.apps.run.lending_desk import LendingDesk

            self._desk = LendingDesk(
                self._plan,
                self._reporter,
                calls=self._calls,
                find_subagents=lambda: self.subagents,
                on_open_question=self._on_open_question,
                is_remote=self._is_remote,
            )
            self.workspace.hand_over(self._desk.workspace)
        return self._desk

    @property
    def effects(self) -> DecidedEffects:
        """What was decided about changes of files."""
        return DecidedEffects() if self._desk is None else self._desk.decisions.effects

    @property
    def last_was_denied(self) -> bool:
        """Whether the policy denied the last thing that was asked for; reading does not count."""
        return self._desk is not None and self._desk.decisions.last_was_denied

    @property
    def last_refusal(self) -> str | None:
        """Why the last write or command was refused although nobody denied it; None if it was not."""
        return None if self._desk is None else self._desk.decisions.last_refusal

    def _handler(self, method: str) -> Callable[[object, object], Awaitable[Any]]:
        async def answer(request: object, agent: object) -> Any:  # of the method's types
            return await self.desk.answer(method, request, agent)

        return answer

    def _on_update(self, notification: v1.SessionNotification) -> None:
        self._calls.on_update(notification)
        if self.on_update is not None:
            self.on_update(notification)


class LentFolders:
    """The folders of the run's sessions, held open until a workspace lends them, which takes them over."""

    def __init__(self) -> None:
        self._workspace: Workspace | None = None
        self._sessions: dict[str, tuple[Roots, FileSettings | None]] = {}
        self._openings: list[FoldersOpening] = []

    def open(
        self,
        session_id: str,
        *,
        cwd: str,
        additional_directories: Sequence[str] = (),
        settings: FileSettings | None = None,
    ) -> None:
        """Lend the folders of a session whose id is known, in place of those that it had."""
        roots = Roots(cwd, additional_directories)
        if self._workspace is not None:
            self._workspace.open(session_id, roots=roots, settings=settings)
            return
        self._hold(session_id, roots, settings)

    @contextmanager
    def opening(
        self, *, cwd: str, additional_directories: Sequence[str] = (), settings: FileSettings | None = None
    ) -> Iterator[FoldersOpening]:
        """Lend the folders of a session that is about to be made, and that may ask before its id is known."""
        with ExitStack() as stack:
            roots = Roots(cwd, additional_directories)
            opening = FoldersOpening(roots, settings, stack, self._hold)
            if self._workspace is not None:
                opening.hand_over(self._workspace)
            self._openings.append(opening)
            try:
                yield opening
            finally:
                self._openings.remove(opening)
                opening.close()

    def hand_over(self, workspace: Workspace) -> None:
        """Let this workspace lend them from here on."""
        self._workspace = workspace
        for session_id, (roots, settings) in self._sessions.items():
            workspace.open(session_id, roots=roots, settings=settings)
        self._sessions.clear()
        for opening in self._openings:
            opening.hand_over(workspace)

    async def __aenter__(self) -> LentFolders:
        return self

    async def __aexit__(self, *_: object) -> None:
        for roots, _settings in self._sessions.values():
            roots.close()
        self._sessions.clear()
        if self._workspace is not None:
            await self._workspace.aclose()

    def _hold(self, session_id: str, roots: Roots, settings: FileSettings | None) -> None:
        former = self._sessions.pop(session_id, None)
        if former is not None:
            former[0].close()
        self._sessions[session_id] = (roots, settings)


class FoldersOpening:
    """Folders of a session whose id is not known yet."""

    def __init__(
        self,
        roots: Roots,
        settings: FileSettings | None,
        stack: ExitStack,
        hold: Callable[[str, Roots, FileSettings | None], None],
    ) -> None:
        self._roots: Roots | None = roots  # until somebody else has them
        self._settings = settings
        self._stack = stack
        self._hold = hold
        self._opening: SessionOpening | None = None

    def settle(self, session_id: str) -> None:
        """The session was made, and has this id."""
        if self._opening is not None:
            self._opening.settle(session_id)
        elif self._roots is not None:
            self._hold(session_id, self._roots, self._settings)
            self._roots = None

    def hand_over(self, workspace: Workspace) -> None:
        """Open them in a workspace, unless the session was made already."""
        if self._roots is not None:
            roots, self._roots = self._roots, None
            self._opening = self._stack.enter_context(workspace.opening(roots=roots, settings=self._settings))

    def close(self) -> None:
        """Let folders go that nobody has taken."""
        if self._roots is not None:
            self._roots.close()
            self._roots = None
