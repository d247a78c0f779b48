"""What an agent does, as progress of the call that made it do so.

A client that wants progress names a token. It is told a line at a time: of the agent's words, of tool calls
with their status, of the plan. The lines are for people, so they are sanitized; the number only grows, and a
total is not known.
"""

from __future__ import annotations

from dragoman.text.sanitize import sanitize_line
from dragoman.wire import Id
from dragoman_app.apps.gateway.report import LONGEST_TITLE, TurnEvent
from dragoman_app.apps.mcp.connection import McpConnection

LONGEST_LINE = 2000
"""Characters of a line of progress; a longer line is told in pieces."""


class ProgressReporter:
    """The progress of one call; tells nothing to a client that did not ask for it."""

    def __init__(self, connection: McpConnection, meta: object, request_id: Id) -> None:
        self._connection = connection
        self._request_id = request_id
        token = meta.get("progressToken") if isinstance(meta, dict) else None
        self._token = token if isinstance(token, str | int) else None
        self._count = 0
        self._line = ""

    async def on_event(self, event: TurnEvent) -> None:
        """Tell an event, or keep it until its line is whole."""
        if self._token is None:
            return
        if event.kind == "text":
            *lines, self._line = (self._line + event.text).split("\n")
            for line in lines:
                await self._tell(line)
            while len(self._line) >= LONGEST_LINE:
                line, self._line = self._line[:LONGEST_LINE], self._line[LONGEST_LINE:]
                await self._tell(line)
            return
        if event.kind == "thought":
            return  # it comes word by word, and nobody can tell where it ends
        await self.finish()
        await self._tell(_line_of(event))

    async def finish(self) -> None:
        """Tell what is left of a line."""
        line, self._line = self._line, ""
        await self._tell(line)

    async def _tell(self, line: str) -> None:
        if not line.strip() or self._token is None:
            return
        self._count += 1
        await self._connection.notify(
            "notifications/progress",
            {
                "progressToken": self._token,
                "progress": self._count,
                "message": sanitize_line(line[:LONGEST_LINE]),
            },
            related_to=self._request_id,
        )


def _line_of(event: TurnEvent) -> str:
    if event.call is not None:
        return f"{event.call.kind}: {event.call.title[:LONGEST_TITLE]} ({event.call.status})"
    if event.kind == "plan":
        return "plan: " + "; ".join(event.text.splitlines())
    return f"{event.kind}: {event.text}"
