"""What a client provides to an agent, for handlers that are plain functions. See `lender` for each method."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from dragoman.sdk.agent.lender import Permission
from dragoman.sdk.sync.speaker import SyncSpeaker
from dragoman.sdk.sync.tools import SyncTerminal

if TYPE_CHECKING:
    from dragoman.schema.v1 import (
        CreateElicitationResponse,
        ElicitationSchema,
        PermissionOption,
        ToolCallUpdate,
    )
    from dragoman.sdk.agent import lender
    from dragoman.sdk.sync.run import Runner


class SyncLender(SyncSpeaker):
    """Sends updates, and requests to the client."""

    __slots__ = ("_lender",)

    def __init__(self, inner: lender.Lender, run: Runner) -> None:
        super().__init__(inner, run)
        self._lender = inner

    def read_text_file(self, path: str, *, line: int | None = None, limit: int | None = None) -> str:
        """Read a file as the client sees it, unsaved changes included (`fs/read_text_file`). `line` counts
        from 1; `limit` is a number of lines.
        """
        return self._run(self._lender.read_text_file(path, line=line, limit=limit))

    def write_text_file(self, path: str, content: str) -> None:
        """Write a file at the client, which creates it if it does not exist (`fs/write_text_file`)."""
        self._run(self._lender.write_text_file(path, content))

    def create_terminal(
        self,
        command: str,
        *args: str,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
        output_byte_limit: int | None = None,
    ) -> SyncTerminal:
        """Start a command at the client. Use it as `with`, so that it is always released."""
        work = self._lender.create_terminal(
            command, *args, cwd=cwd, env=env, output_byte_limit=output_byte_limit
        )
        return SyncTerminal(self._run(work), self._run)

    def ask(self, tool_call: ToolCallUpdate, options: Sequence[PermissionOption] | None = None) -> Permission:
        """Ask the user whether a tool may run; without options, yes or no. A failed or invalid answer
        means no.
        """
        return self._run(self._lender.ask(tool_call, options))

    def elicit(
        self, message: str, schema: ElicitationSchema, *, tool_call_id: str | None = None
    ) -> CreateElicitationResponse:
        """Ask the user to fill in a form."""
        return self._run(self._lender.elicit(message, schema, tool_call_id=tool_call_id))

    def elicit_url(
        self, message: str, url: str, elicitation_id: str, *, tool_call_id: str | None = None
    ) -> CreateElicitationResponse:
        """Send the user to a page. Accepting means consent to open it, not that anything was completed
        there.
        """
        return self._run(self._lender.elicit_url(message, url, elicitation_id, tool_call_id=tool_call_id))
