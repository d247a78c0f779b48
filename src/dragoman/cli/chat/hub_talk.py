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
from dragoman.cli.chat.talk import Talking
from dragoman.cli.chat.way import Arrears, Way
from dragoman.errors import CallFailed, DragomanError, LocalMistake
from dragoman.schema import v1
from dragoman.sdk.client.agent_handle import AgentHandle
from dragoman.sdk.supervision.events import SupervisionEvent
from dragoman.tui.ports import Behind, ChangedFile, Review

MOST_FILES = 8

_WORDS = {"died": "the connection to the hub broke", "resumed": "connected again; the session goes on"}


class HubTalking(Talking):
    """A `Talk` whose agent works elsewhere."""

    _arrears: Arrears | None = None
    _catching_up: asyncio.Task[None] | None = None

    @property
    def _hub(self) -> AgentHandle:
        return self.session.agent.handle

    def travel(self, way: Way) -> None:
        """This is how we get there."""
        way.on_back = lambda: self._back(way)

    def _back(self, way: Way) -> None:
        session_id = self.session.id

        async def history(limit: int) -> Any:
            return await asked(self._hub, "_dragoman/hub/history", {"sessionId": session_id, "limit": limit})

        if self._catching_up is not None:
            self._catching_up.cancel()
        self._arrears = Arrears()
        catching_up = self._arrears.catch_up(history, lambda: way.cursor(session_id))
        self._catching_up = asyncio.get_running_loop().create_task(catching_up, name="catching up")

    @property
    def behind(self) -> Behind | None:
        return None if self._arrears is None else self._arrears.behind

    async def turn(self, blocks: Sequence[v1.ContentBlock]) -> TurnResult:
        result = await super().turn(blocks)
        if self._arrears is not None:
            self._arrears.settle()
        return result

    def _heard(self, notification: v1.SessionNotification) -> None:
        super()._heard(notification)
        if self._arrears is not None and notification.session_id == self.session.id:
            self._arrears.hear(notification.update)

    async def aclose(self) -> None:
        if self._catching_up is not None:
            self._catching_up.cancel()
            await asyncio.wait((self._catching_up,))
        await super().aclose()

    def happened(self, event: SupervisionEvent) -> None:
        """There is no process of ours that could die: what breaks is the way to the hub."""
        if event.kind in _WORDS:
            event = replace(event, text=f"{_WORDS[event.kind]}{f': {event.error}' if event.error else ''}")
        super().happened(event)

    async def files(self, query: str) -> Sequence[str]:
        params = {"sessionId": self.session.id, "pattern": query, "limit": MOST_FILES}
        return [
            path
            for path in _listed(await asked(self._hub, "_dragoman/hub/files", params), "files")
            if isinstance(path, str)
        ]

    async def attachments(self, paths: Sequence[str]) -> Sequence[v1.ContentBlock]:
        """Links: whether they lead anywhere, only the agent can tell."""
        whole = [path if path.startswith("/") else f"{self.cwd}/{path}" for path in paths]
        return [v1.ResourceLink(name=path.rpartition("/")[2], uri=f"file://{path}") for path in whole]

    async def review(self) -> Review | None:
        told = await asked(self._hub, "_dragoman/hub/changes", {"sessionId": self.session.id})
        files = [_file(one) for one in _listed(told, "files") if isinstance(one, dict)]
        others = [_file(one).path for one in _listed(told, "others") if isinstance(one, dict)]
        notes = [one for one in _listed(told, "notes") if isinstance(one, str)]
        notes += [f"{path}: changed meanwhile by others, or nobody knows by whom" for path in others]
        return HubReview(self._hub, self.session.id, files, notes) if files else None


class HubReview:
    """A `Review`."""

    def __init__(
        self, hub: AgentHandle, session_id: str, files: Sequence[ChangedFile], notes: Sequence[str]
    ) -> None:
        self.files = files
        self.notes = notes
        self._hub = hub
        self._session_id = session_id

    async def revert(self, path: str) -> None:
        try:
            await self._hub.call("_dragoman/hub/revert", {"sessionId": self._session_id, "path": path})
        except CallFailed as refused:
            raise LocalMistake(refused.message) from refused


async def asked(hub: AgentHandle, method: str, params: dict[str, Any]) -> Any:
    """What a hub says beyond the protocol; nothing if it is none, or does not allow it."""
    try:
        return await hub.call(method, params)
    except DragomanError:
        return None


def _listed(told: Any, name: str) -> list[Any]:
    found = told.get(name) if isinstance(told, dict) else None
    return found if isinstance(found, list) else []


def _file(one: dict[str, Any]) -> ChangedFile:
    diff = one.get("diff")
    lines = diff.splitlines() if isinstance(diff, str) else []
    return ChangedFile(
        path=str(one.get("path")),
        kind=str(one.get("kind")),
        diff=diff if isinstance(diff, str) else None,
        added=sum(line.startswith("+") and not line.startswith("+++") for line in lines),
        removed=sum(line.startswith("-") and not line.startswith("---") for line in lines),
        binary=bool(one.get("binary")),
    )
