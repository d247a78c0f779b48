"""The agents and sessions of a hub.

A hub is an agent like any other: its sessions are listed and loaded by the protocol alone. What it offers
beyond that (the names of its agents, search, files, changes; docs/hub-protocol.md) is used where it is there.
The files are the hub's: nothing of this machine is lent.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from msgspec.structs import replace

from dragoman import Client, TurnResult, connect
from dragoman.errors import (
    CallFailed,
    DragomanError,
    HandshakeTimeout,
    LinkClosed,
    LocalMistake,
    NotAdvertised,
)
from dragoman.schema import v1
from dragoman.sdk.client.agent_handle import AgentHandle
from dragoman.sdk.supervision.events import SupervisionEvent
from dragoman.transport.address import RemoteAddress, parse_address
from dragoman_app.apps.chat.changes import HubRewinds
from dragoman_app.apps.chat.hub_board import open_hub_board
from dragoman_app.apps.chat.hub_route import HubRoute, MissedUpdates
from dragoman_app.apps.chat.local_backend import LocalBackend
from dragoman_app.apps.chat.local_chat import ChatAgent, LocalChat
from dragoman_app.tui.ports import (
    AgentChoice,
    ChangeReview,
    ChatListener,
    ChatRequest,
    ChatRewinds,
    ChatUser,
    FileText,
    ReviewedFile,
    SessionBoard,
    SessionRow,
    UpdatesBehind,
)
from dragoman_local.workspace.settings import LocalRules

LISTED = 60


class HubBackend(LocalBackend):
    """Implements `ChatBackend` for agents of a hub. Several addresses, separated by commas, are hubs with the
    same sessions.
    """

    def __init__(self, cwd: str, rules: LocalRules, *, url: str, headers: Mapping[str, str]) -> None:
        super().__init__(cwd, rules, record=False)
        self._urls = url.split(",")
        for each_url in self._urls:
            if not isinstance(parse_address(each_url), RemoteAddress):
                raise LocalMistake(
                    f"{each_url!r} is not a hub address. Use ws://HOST:PORT/acp or https://HOST/acp"
                )
        self._headers = dict(headers)
        self._route: HubRoute | None = None
        self._chat: LocalChat | None = None

    async def agents(self) -> Sequence[AgentChoice]:
        async with self._for_a_question() as agent:
            answer = await call_hub(agent, "_dragoman/hub/agents", {})
            entries = answer.get("agents") if isinstance(answer, dict) else None
            choices = (
                [_choice(entry) for entry in entries if isinstance(entry, dict)]
                if isinstance(entries, list)
                else []
            )
            name = agent.info.name if agent.info is not None else self._urls[0]
            return choices or [AgentChoice(name="", title=name, detail=self._urls[0])]

    @asynccontextmanager
    async def open(
        self, request: ChatRequest, person: ChatUser, listener: ChatListener
    ) -> AsyncIterator[LocalChat]:
        if request.session == "last":
            request = await self._latest(request)
        urls = ",".join(with_agent(url, request.agent) for url in self._urls)
        route = self._route = HubRoute(urls, self._headers, listener)
        source = ChatAgent(
            name=request.agent or "hub", target=route.dial, is_nameless=not request.agent, place="nowhere"
        )
        try:
            chat = HubChat(source, request, person, listener, self._rules)
            async with chat.opened():
                chat.travel(route)
                self._chat = chat
                yield chat
        except (CallFailed, HandshakeTimeout) as error:
            if why := route.why_not(error):
                raise LinkClosed(why) from error
            raise
        finally:
            self._chat = None

    async def _latest(self, request: ChatRequest) -> ChatRequest:
        """The session of this folder, and of this agent if one is named, that moved last."""
        async with self._for_a_question() as hub:
            params: dict[str, object] = {"cwd": request.cwd, "limit": 1}
            answer = await call_hub(
                hub, "_dragoman/hub/sessions", params | ({"agent": request.agent} if request.agent else {})
            )
        sessions = answer.get("sessions") if isinstance(answer, dict) else None
        latest = sessions[0] if isinstance(sessions, list) and sessions else None
        session = latest.get("sessionId") if isinstance(latest, dict) else None
        if not isinstance(session, str):
            raise LocalMistake(f"the hub has no session in {request.cwd} to continue. F4 shows all sessions")
        return replace(request, session=session)

    async def hand_over(self, request: ChatRequest, agent: str) -> ChatRequest:
        if request.session is None:
            return ChatRequest(agent=agent, cwd=request.cwd)
        params = {"sessionId": request.session, "agent": agent}
        async with self._for_a_question() as hub:
            answer = await hub.call("_dragoman/hub/handover", params)
        session = answer.get("sessionId") if isinstance(answer, dict) else None
        if not isinstance(session, str):
            raise LocalMistake("this server can't hand over sessions")
        return ChatRequest(agent=agent, cwd=request.cwd, session=session)

    async def sessions(self, query: str) -> Sequence[SessionRow]:
        if self._chat is not None and self._route is not None and self._route.is_open:
            return await self._sessions(self._chat.session.agent.handle, query)
        async with self._for_a_question() as agent:
            return await self._sessions(agent, query)

    @asynccontextmanager
    async def board(self, on_change: Callable[[], None]) -> AsyncIterator[SessionBoard]:
        async with open_hub_board(self._for_a_question, on_change) as board:
            yield board

    @asynccontextmanager
    async def _for_a_question(self, client: Client | None = None) -> AsyncIterator[AgentHandle]:
        """A connection of its own, to the first address where somebody is."""
        async with AsyncExitStack() as stack:
            yield await self._connect_first(stack, self._urls, client)

    async def _connect_first(
        self, stack: AsyncExitStack, urls: Sequence[str], client: Client | None
    ) -> AgentHandle:
        first, *other_urls = urls
        try:
            return await stack.enter_async_context(connect(first, client=client, headers=self._headers))
        except LinkClosed:
            if not other_urls:
                raise
        return await self._connect_first(stack, other_urls, client)

    def find_stored(self, name: str, cwd: str) -> ChatRequest:
        return ChatRequest(agent="", cwd=cwd, session=name)

    async def _sessions(self, agent: AgentHandle, query: str) -> list[SessionRow]:
        rows: list[SessionRow] = []
        try:
            async for info in agent.list_sessions():
                title = info.title or info.session_id
                if query.casefold() in f"{title} {info.cwd}".casefold():
                    request = ChatRequest(agent="", cwd=info.cwd, session=info.session_id)
                    when = str(info.updated_at or "")[:16].replace("T", " ")
                    rows.append(
                        SessionRow(request=request, title=title, agent="hub", cwd=info.cwd, when=when)
                    )
                if len(rows) >= LISTED:
                    break
        except NotAdvertised:
            pass  # then there is nothing to list
        return rows + (await self._search(agent, query) if query else [])

    async def _search(self, agent: AgentHandle, query: str) -> list[SessionRow]:
        answer = await call_hub(agent, "_dragoman/hub/search", {"text": query, "limit": LISTED})
        hits = answer.get("found") if isinstance(answer, dict) else None
        return [
            SessionRow(
                request=ChatRequest(agent="", cwd=self.cwd, session=str(hit.get("sessionId"))),
                title=str(hit.get("title") or hit.get("sessionId")),
                agent="hub",
                cwd="",
                when="",
                excerpt=str(hit.get("excerpt") or ""),
            )
            for hit in (hits if isinstance(hits, list) else ())
            if isinstance(hit, dict) and hit.get("sessionId")
        ]


def with_agent(url: str, agent: str) -> str:
    """Return the address at which a hub offers this agent."""
    if not agent:
        return url
    parts = urlsplit(url)
    query = [(name, value) for name, value in parse_qsl(parts.query) if name != "agent"]
    return urlunsplit(parts._replace(query=urlencode([*query, ("agent", agent)])))


def _choice(entry: Mapping[str, object]) -> AgentChoice:
    place = str(entry.get("place") or "")
    return AgentChoice(
        name=str(entry.get("name") or ""),
        title=str(entry.get("title") or ""),
        detail=" · ".join(filter(None, (str(entry.get("description") or ""), place and f"on {place}"))),
    )


# A conversation through a hub: the files and changes are where the hub is, and the hub tells of them.
#
# What it says beyond the protocol is in docs/hub-protocol.md; a server that says nothing of it is no worse
# than any other agent.

MOST_FILES = 8

_WORDS = {"died": "the connection to the hub broke", "resumed": "connected again"}


class HubChat(LocalChat):
    """Implements `ChatSession` for an agent at a hub."""

    _arrears: MissedUpdates | None = None
    _catching_up: asyncio.Task[None] | None = None

    @property
    def _hub(self) -> AgentHandle:
        return self.session.agent.handle

    def travel(self, route: HubRoute) -> None:
        """Use this route to the hub."""
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
        """Handle an event: without a process here, only the connection to the hub can break."""
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
        """Read a file: the hub shows only files below the session's folders."""
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
        """Return links: only the agent can tell whether they exist."""
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
    """Implements `ChangeReview`."""

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
    """Call a method of the hub; None if the server is not a hub or refuses."""
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
