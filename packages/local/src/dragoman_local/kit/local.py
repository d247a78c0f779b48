"""This machine's files and commands, limited to a session's folders, for clients that offer none.

Nothing is opened before it is used. Commands are owned trees: what they start ends with them, with the
session, and with this process.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from dragoman_local.workspace.files import SessionFiles
from dragoman_local.workspace.lent_files import LentFiles, WorkspaceHooks
from dragoman_local.workspace.lent_terminals import LentTerminals, TerminalRequest
from dragoman_local.workspace.roots import Roots
from dragoman_local.workspace.settings import FileSettings, TerminalSettings
from dragoman_local.workspace.versions import KnownVersions

if TYPE_CHECKING:
    from dragoman.sdk.agent.session import AgentSession

GRACE = 0.5
"""The seconds from asking a command to end to killing it, before a cancelled turn is answered."""

_writing = threading.Lock()  # sessions may share folders


class CommandResult(NamedTuple):
    """A command's exit status, and the end of its output."""

    output: str
    exit_code: int | None
    signal: str | None
    truncated: bool


class LocalTools:
    """A session's local files and commands, opened on first use."""

    def __init__(self, session: AgentSession) -> None:
        settings = FileSettings()
        self._roots = Roots(session.cwd, session.additional_directories)
        files = SessionFiles(
            self._roots,
            settings,
            known_versions=KnownVersions(base_bytes=settings.base_bytes),
            writing=_writing,
        )
        self.files = LentFiles(session.id, files, WorkspaceHooks())
        """Reads and writes below the session's folders; writes over what changed unseen are refused."""
        self.terminals = LentTerminals(self._roots, TerminalSettings(grace=GRACE, sandbox="off"))
        """Commands that the agent watches by itself."""
        self.terminals.session_id = session.id

    async def run(
        self,
        command: str,
        *args: str,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
        output_bytes: int | None = None,
    ) -> CommandResult:
        """Run a command to its end; a cancellation ends its whole tree first."""
        terminal_id = await self.terminals.create(
            TerminalRequest(
                command=command,
                args=args,
                env=list((env or {}).items()),
                cwd=cwd,
                output_bytes=output_bytes,
            )
        )
        terminal = self.terminals.get(terminal_id)
        try:
            exit_status = await terminal.wait()
        finally:
            await self.terminals.release(terminal_id)
        tail = terminal.tail
        return CommandResult(tail.text, exit_status.code, exit_status.signal, tail.is_truncated)

    async def aclose(self) -> None:
        try:
            await self.terminals.aclose()
        finally:
            self._roots.close()
