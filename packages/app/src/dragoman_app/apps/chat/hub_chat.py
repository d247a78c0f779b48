"""A conversation through a hub: the files and changes are where the hub is, and the hub tells of them.

What it says beyond the protocol is in docs/hub-protocol.md; a server that says nothing of it is no worse than
any other agent.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from msgspec.structs import replace

from dragoman import TurnResult
from dragoman.errors import CallFailed, DragomanError, LocalMistake
from dragoman.schema import v1
from dragoman.sdk.client.agent_handle import AgentHandle
from dragoman.sdk.supervision.events import SupervisionEvent
from dragoman_app.apps.chat.changes import HubRewinds
from dragoman_app.apps.chat.hub_route import HubRoute, MissedUpdates
from dragoman_app.apps.chat.local_chat import LocalChat
from dragoman_app.tui.ports import ChangeReview, ChatRewinds, FileText, ReviewedFile, UpdatesBehind

MOST_FILES = 8

_WORDS = {"died": "the connection to the hub broke", "resumed": "connected again"}


class HubChat(LocalChat):
    """A `ChatSession` whose agent works elsewhere."""

    _arrears: MissedUpdates | None = None
    _catching_up: asyncio.Task[None] | None = None

    @property
    def _hub(self) -> AgentHandle:
        return self.session.agent.handle

    def travel(self, route: HubRoute) -> None:
        """This is how we get there."""
        route.on_back = lambda: self._back(route)

    def _back(self, route: HubRoute) -> None:
        session_id = self.session.id

        async def history(limit: int) -> object:
            return await call_hub(
                self._hub, "_dragoman/hub/history", {"sessionId": session_id, "limit": limit}
            )

        if self._catching_up is not None:
            self._catching_up.cancel()
        self._arrears = MissedUpdates()
        catching_up = self._arrears.catch_up(history, lambda: route.cursor(session_id))
        self._catching_up = asyncio.get_running_loop().create_task(catching_up, name="catching up")

    @property
    def behind(self) -> UpdatesBehind | None:
        return None if self._arrears is None else self._arrears.behind

    async def turn(self, blocks: Sequence[v1.ContentBlock]) -> TurnResult:
        result = await super().turn(blocks)
        if self._arrears is not None:
            self._arrears.settle()
        return result

    def _on_update(self, notification: v1.SessionNotification) -> None:
        super()._on_update(notification)
        if self._arrears is not None and notification.session_id == self.session.id:
            self._arrears.hear(notification.update)

    async def aclose(self) -> None:
        if self._catching_up is not None:
            self._catching_up.cancel()
            await asyncio.wait((self._catching_up,))
        await super().aclose()

    def on_chat_event(self, event: SupervisionEvent) -> None:
        """There is no process of ours that could die: what breaks is the way to the hub."""
        if event.kind in _WORDS:
            event = replace(event, text=f"{_WORDS[event.kind]}{f': {event.error}' if event.error else ''}")
        super().on_chat_event(event)

    async def files(self, query: str) -> Sequence[str]:
        params = {"sessionId": self.session.id, "pattern": query, "limit": MOST_FILES}
        return [
            path
            for path in _list_in(await call_hub(self._hub, "_dragoman/hub/files", params), "files")
            if isinstance(path, str)
        ]

    async def read_file(self, path: str, line: int = 0) -> FileText:
        """The hub shows files below the session's folders alone."""
        params: dict[str, object] = {"sessionId": self.session.id, "path": path}
        answer = await self._call("file", params | ({"line": line} if line else {}))
        first = answer.get("first")
        return FileText(
            path=str(answer.get("path") or path),
            text=str(answer.get("text") or ""),
            first=first if isinstance(first, int) else 1,
            is_whole=answer.get("isWhole") is not False,
            is_covered=answer.get("isCovered") is True,
        )

    async def _call(self, name: str, params: dict[str, object]) -> dict[str, Any]:
        """Raises `LocalMistake` with the hub's words if it refuses."""
        try:
            answer = await self._hub.call(f"_dragoman/hub/{name}", params)
        except CallFailed as error:
            raise LocalMistake(error.message) from error
        return answer if isinstance(answer, dict) else {}

    async def attachments(self, paths: Sequence[str]) -> Sequence[v1.ContentBlock]:
        """Links: whether they lead anywhere, only the agent can tell."""
        whole = [path if path.startswith("/") else f"{self.cwd}/{path}" for path in paths]
        return [v1.ResourceLink(name=path.rpartition("/")[2], uri=f"file://{path}") for path in whole]

    async def review(self) -> ChangeReview | None:
        answer = await call_hub(self._hub, "_dragoman/hub/changes", {"sessionId": self.session.id})
        files = [_file(file) for file in _list_in(answer, "files") if isinstance(file, dict)]
        other_paths = [_file(path).path for path in _list_in(answer, "others") if isinstance(path, dict)]
        notes = [note for note in _list_in(answer, "notes") if isinstance(note, str)]
        notes += [f"{path}: changed meanwhile, but not by this session" for path in other_paths]
        return HubReview(self._hub, self.session.id, files, notes) if files else None

    @property
    def rewinds(self) -> ChatRewinds:
        return HubRewinds(self._call, self.session.id)


class HubReview:
    """A `ChangeReview`."""

    def __init__(
        self, hub: AgentHandle, session_id: str, files: Sequence[ReviewedFile], notes: Sequence[str]
    ) -> None:
        self.files = files
        self.notes = notes
        self._hub = hub
        self._session_id = session_id

    async def revert(self, path: str) -> None:
        try:
            await self._hub.call("_dragoman/hub/revert", {"sessionId": self._session_id, "path": path})
        except CallFailed as error:
            raise LocalMistake(error.message) from error


async def call_hub(hub: AgentHandle, method: str, params: dict[str, object]) -> object:
    """What a hub says beyond the protocol; nothing if it is none, or does not allow it."""
    try:
        return await hub.call(method, params)
    except DragomanError:
        return None


def _list_in(answer: object, name: str) -> list[Any]:
    values = answer.get(name) if isinstance(answer, dict) else None
    return values if isinstance(values, list) else []


def _file(fields: dict[str, Any]) -> ReviewedFile:
    diff = fields.get("diff")
    lines = diff.splitlines() if isinstance(diff, str) else []
    return ReviewedFile(
        path=str(fields.get("path")),
        kind=str(fields.get("kind")),
        diff=diff if isinstance(diff, str) else None,
        added_lines=sum(line.startswith("+") and not line.startswith("+++") for line in lines),
        removed_lines=sum(line.startswith("-") and not line.startswith("---") for line in lines),
        binary=bool(fields.get("binary")),
    )
