"""Answers requests about sessions without opening them: the list, the state of one, renaming, and archiving.

The hub answers for every agent alike, also for sessions that no agent has at the moment. An archived session
is a closed one that lists leave out until it is asked for; whoever loads it brings it back.
"""

from __future__ import annotations

from typing import cast, get_args

from msgspec import Raw

from dragoman.errors import DragomanError
from dragoman.wire.codes import invalid_params, session_not_found
from dragoman.wire.envelope import Id, JsonObject
from dragoman_hub.clients.client import ClientHub, HubClient
from dragoman_hub.clients.request_checks import check_no_child
from dragoman_hub.clients.views import ArchiveFilter, SessionViews
from dragoman_hub.engine.live_session import LiveSession
from dragoman_hub.engine.session_reach import in_reach
from dragoman_hub.gate.table import session_refusal
from dragoman_hub.session.frames import value_of
from dragoman_hub.session.state import LONGEST_TITLE, SAVED_STATES, is_name

Params = dict[str, Raw]

AGENT_SECONDS = 5.0
"""The most seconds for an agent to store a title."""


class SessionList:
    """Answers for all sessions that a client may see."""

    def __init__(self, hub: ClientHub, views: SessionViews) -> None:
        self._hub = hub
        self._views = views

    async def list(self, client: HubClient, params: Params, request_id: Id) -> JsonObject:
        """`session/list`: sessions, newest first, without those of subagents."""
        cwd, cursor = value_of(params.get("cwd")), value_of(params.get("cursor"))
        page = await self._views.list_sessions(
            client,
            cwd=cwd if isinstance(cwd, str) else None,
            cursor=cursor if isinstance(cursor, str) else None,
            limit=200,  # the protocol has no number, and each page is a round trip
            archived=archive_filter(params),
            with_children=False,
        )
        names = ("sessionId", "cwd", "title", "updatedAt")
        # The stable protocol does not have it: it is for whoever asks about it.
        tells_archived = "archived" in params
        sessions = [
            {name: line[name] for name in names if line.get(name)}
            | ({"archived": line["state"] == "archived"} if tells_archived else {})
            for line in page["sessions"]
        ]
        rest = {"nextCursor": page["nextCursor"]} if "nextCursor" in page else {}
        return {"sessions": sessions, **rest}

    async def status(self, client: HubClient, params: Params, request_id: Id) -> JsonObject:
        """`session/status`: whether it is open. This does not open it."""
        state = await self._listed_state(client, params)
        return {"status": "saved" if state in SAVED_STATES else "open"}

    async def archive(self, client: HubClient, params: Params, request_id: Id) -> JsonObject:
        """`session/archive`: close it if it is open, and remove it from lists."""
        session_id = client.text(params, "sessionId")
        if await self._listed_state(client, params) == "archived":
            return {}
        session = await client.session(params)
        check_no_child(session)
        family = (session_id, *(child.id for child in session.state.children.values() if child.id))
        await session.close()
        for name in family:
            async with self._hub.opening(name):
                if name not in self._hub.sessions:  # else somebody has opened it since
                    await self._hub.journal.describe(name, state="archived")
        return {}

    async def unarchive(self, client: HubClient, params: Params, request_id: Id) -> JsonObject:
        """`session/unarchive`: list it again. It stays closed."""
        if await self._listed_state(client, params) == "archived":
            await self._hub.journal.describe(client.text(params, "sessionId"), state="closed")
        return {}

    async def set_title(self, client: HubClient, params: Params, request_id: Id) -> JsonObject:
        """`session/set_title`: return the title as stored."""
        session = await client.session(params)
        title = " ".join(client.text(params, "title").split())[:LONGEST_TITLE].strip()
        if not title:
            raise invalid_params("title is empty")
        await session.rename(title)
        await self._tell_agent(session, title)
        return {"title": title}

    async def _tell_agent(self, session: LiveSession, title: str) -> None:
        """An agent that keeps titles of its own gets this one; one that cannot does not matter."""
        process = session.process
        if process is None or not process.can("sessionCapabilities", "title"):
            return
        own = process.own_ids.get(session.id, session.id)
        try:
            await process.call("session/set_title", {"sessionId": own, "title": title}, within=AGENT_SECONDS)
        except (DragomanError, TimeoutError):
            pass  # the hub's own title counts for whoever asks the hub

    async def _listed_state(self, client: HubClient, params: Params) -> str:
        session_id = client.text(params, "sessionId")
        info = await self._hub.journal.info(session_id) if is_name(session_id) else None
        if info is None or not info.state or session_id.startswith("@"):
            raise session_not_found(session_id[:200])
        if not await in_reach(self._hub, client.grant, [info]):
            raise session_refusal()
        session = self._hub.sessions.get(session_id)
        return info.state if session is None else session.shown_state


def archive_filter(params: Params) -> ArchiveFilter:
    """Return which sessions a list requests; an unknown value is refused."""
    choice = value_of(params.get("archived"))
    if choice is None:
        return "exclude"
    if choice not in get_args(ArchiveFilter):
        raise invalid_params(f"archived is one of {', '.join(get_args(ArchiveFilter))}")
    return cast(ArchiveFilter, choice)
