"""The board of a hub's sessions, over its own connection, which follows no session.

The hub tells of every session that moves (`_dragoman/hub/watch`); how sessions get on is asked for while it
may have changed (`_dragoman/hub/progress`). A connection that breaks is opened again until the board is
closed, and `trouble` says so meanwhile. Sessions of a server that is not a hub are listed by the protocol
alone.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from datetime import datetime
from typing import Any, TypeAlias

import msgspec

from dragoman import Client
from dragoman.decoders import convert
from dragoman.errors import CallFailed, DragomanError, LocalMistake, NotAdvertised
from dragoman.schema import v1
from dragoman.schema.codec import read
from dragoman.schema.errors import SchemaError
from dragoman.sdk.client.agent_handle import AgentHandle
from dragoman.sdk.resumption import Backoff
from dragoman.sdk.resumption.hub_link import is_final
from dragoman.version import VERSION
from dragoman_app.apps.chat.risk_notes import cautions_in
from dragoman_app.tui.ports import BoardQuestion, BoardSession, Caution, ChatRequest, PermissionQuestion
from dragoman_local.workspace.policy.act import ActContext
from dragoman_local.workspace.policy.act_reader import act_of_call
from dragoman_local.workspace.policy.act_view import ActView, view_of
from dragoman_local.workspace.policy.decision import usable_options

HUB = "_dragoman/hub/"

MOST_SESSIONS = 1000
"""The most sessions in the list, the latest ones; search finds the others."""

PAGE = 500
PROGRESS = 100
"""The most sessions in one progress request, as the hub allows."""

EVERY = 1.5
"""The seconds between two checks of running sessions."""

PAUSE = 0.15
"""The seconds to wait for further news before progress is requested."""

LONGEST_WAIT = 5.0
"""The most seconds between two attempts to connect: a user looks at the board."""

Fields: TypeAlias = dict[str, Any]
"""Decoded JSON of a hub; every value is checked before use."""

Dial: TypeAlias = Callable[[Client], AbstractAsyncContextManager[AgentHandle]]


@asynccontextmanager
async def open_hub_board(dial: Dial, on_change: Callable[[], None]) -> AsyncIterator[HubBoard]:
    """Open the board, which lists sessions as soon as there is a connection."""
    board = HubBoard(dial, on_change)
    following = asyncio.create_task(board.follow(), name="board")
    try:
        yield board
    finally:
        following.cancel()
        await asyncio.wait((following,))


class HubBoard:
    """Implements `SessionBoard`, made by `open_hub_board`."""

    can_archive = True

    def __init__(self, dial: Dial, on_change: Callable[[], None]) -> None:
        self.trouble = "no connection to the hub yet"
        self._dial = dial
        self._on_change = on_change
        self._hub: AgentHandle | None = None
        self._sessions: dict[str, Fields] = {}
        self._progress: dict[str, Fields] = {}
        self._questions: dict[tuple[str, str], Fields] = {}
        self._archived = "exclude"
        self._must_list = True
        self._news = asyncio.Event()
        self._client = Client("dragoman-chat", version=VERSION, title="Dragoman")
        self._client.introduction_meta = {"dragoman": {"lazy": True}}
        for name, handler in (
            ("session", self._on_session),
            ("asked", self._on_asked),
            ("settled", self._on_settled),
            ("judged", self._on_judged),
        ):
            self._client.extension(HUB + name)(handler)

    # Keeping up.

    async def follow(self) -> None:
        """Follow the sessions until cancelled, or until the hub refuses."""
        failures, backoff, was_there = 0, Backoff(most=LONGEST_WAIT), False
        while True:
            try:
                async with self._dial(self._client) as hub:
                    self._hub, failures, was_there = hub, 0, True
                    await self._follow(hub)
            except (DragomanError, OSError) as error:
                self.trouble = f"no connection to the hub: {error}"
                if is_final(error, was_there):
                    self._on_change()
                    return
            finally:
                self._hub = None
            self._on_change()
            await asyncio.sleep(backoff(failures))
            failures += 1

    async def _follow(self, hub: AgentHandle) -> None:
        """Until the connection ends."""
        ending = asyncio.create_task(hub.link.wait_ended())
        ending.add_done_callback(lambda _: self._news.set())
        try:
            await self._list(hub)
            while not ending.done():
                await self._look(hub)
                self._on_change()
                self._news.clear()
                with suppress(TimeoutError):
                    async with asyncio.timeout(EVERY):
                        await self._news.wait()
                await asyncio.sleep(PAUSE)
        finally:
            ending.cancel()
        self.trouble = "the connection to the hub broke"

    async def _list(self, hub: AgentHandle) -> None:
        self._must_list = False
        try:
            await hub.call(f"{HUB}watch", {"on": True})
            sessions = await self._pages(hub)
            inbox = await hub.call(f"{HUB}inbox", {})
        except CallFailed as error:
            if error.code != -32601:
                raise
            sessions, inbox = await _plain_sessions(hub), {}
        self._sessions = {fields["sessionId"]: fields for fields in sessions}
        self._questions = {
            (_text(question, "sessionId"), _text(question, "request")): question
            for question in _objects(inbox, "requests")
        }
        self.trouble = ""

    async def _pages(self, hub: AgentHandle) -> list[Fields]:
        sessions: list[Fields] = []
        cursor: object = None
        while True:
            params: Fields = {"limit": PAGE, "archived": self._archived}
            answer = await hub.call(f"{HUB}sessions", params | ({"cursor": cursor} if cursor else {}))
            page = [fields for fields in _objects(answer, "sessions") if _text(fields, "sessionId")]
            sessions += page
            cursor = answer.get("nextCursor") if isinstance(answer, dict) else None
            if not cursor or not page or len(sessions) >= MOST_SESSIONS:
                return sessions

    async def _look(self, hub: AgentHandle) -> None:
        """Ask how those sessions get on that may have moved."""
        if self._must_list:
            await self._list(hub)
        moved_ids = [session_id for session_id in self._sessions if self._may_have_moved(session_id)]
        if not moved_ids:
            return
        try:
            answer = await hub.call(f"{HUB}progress", {"sessionIds": moved_ids[:PROGRESS]})
        except CallFailed:  # no hub, or an older one: the board goes without
            answer = {"progress": [{"sessionId": session_id} for session_id in moved_ids[:PROGRESS]]}
        for progress in _objects(answer, "progress"):
            self._progress[_text(progress, "sessionId")] = progress
        for session_id in moved_ids[:PROGRESS]:
            self._progress.setdefault(session_id, {})  # of one that we may not see nothing is told
        if len(moved_ids) > PROGRESS:
            self._news.set()

    def _may_have_moved(self, session_id: str) -> bool:
        session, progress = self._sessions[session_id], self._progress.get(session_id)
        if progress is None or session.get("state") == "running" or "turnStarted" in progress:
            return True
        return "cursor" in progress and progress["cursor"] != session.get("cursor", progress["cursor"])

    # What the hub tells.

    def _on_session(self, params: object) -> None:
        fields = _member(params, "session")
        if session_id := _text(fields, "sessionId"):
            is_hidden = fields.get("state") == "archived" and self._archived == "exclude"
            if is_hidden or fields.get("state") == "deleted":
                self._sessions.pop(session_id, None)
            else:
                self._sessions[session_id] = fields
            # One that goes into the archive is closed on the way, and only a listing tells which it is.
            self._must_list = self._must_list or fields.get("state") == "closed"
            self._news.set()

    def _on_asked(self, params: object) -> None:
        request = _member(params, "request")
        self._questions[_text(request, "sessionId"), _text(request, "request")] = request
        self._news.set()

    def _on_settled(self, params: object) -> None:
        if isinstance(params, dict):
            self._questions.pop((_text(params, "sessionId"), _text(params, "request")), None)
            self._news.set()

    def _on_judged(self, params: object) -> None:
        if isinstance(params, dict):
            question = self._questions.get((_text(params, "sessionId"), _text(params, "request")))
            if question is not None:
                question.update({name: params[name] for name in ("risks", "risksNote") if name in params})

    # What the screen sees and does.

    @property
    def sessions(self) -> Sequence[BoardSession]:
        counts: dict[str, int] = {}
        for session_id, _ in self._questions:
            root = self._root_of(session_id)
            counts[root] = counts.get(root, 0) + 1
        return [
            make_board_session(fields, self._progress.get(session_id, {}), counts.get(session_id, 0))
            for session_id, fields in self._sessions.items()
            if self._root_of(session_id) == session_id
        ]

    def _root_of(self, session_id: str) -> str:
        """The session that a subagent's works for in the end, as far as it is on the board."""
        path = {session_id}
        while (parent := _text(self._sessions.get(session_id, {}), "parent")) in self._sessions:
            if parent in path:
                break  # a circle, which only a broken hub tells
            path.add(parent)
            session_id = parent
        return session_id

    def show_archived(self, on: bool) -> None:
        self._archived = "include" if on else "exclude"
        self._must_list = True
        self._news.set()

    def question(self, session_id: str) -> BoardQuestion | None:
        questions = [
            question
            for (asker_id, _), question in self._questions.items()
            if self._root_of(asker_id) == session_id
        ]
        if not questions:
            return None
        fields = min(questions, key=lambda question: _number(question, "askedAt"))
        cwd = _text(self._sessions.get(session_id, {}), "cwd")
        return BoardQuestion(
            session_id=_text(fields, "sessionId"),
            request_id=_text(fields, "request"),
            asked_at=_number(fields, "askedAt"),
            permission=make_permission(fields, cwd=cwd),
        )

    async def answer(self, question: BoardQuestion, option_id: str) -> bool:
        result = {"outcome": {"outcome": "selected", "optionId": option_id}}
        params = {
            "sessionId": question.session_id,
            "request": question.request_id,
            "askedAt": question.asked_at,
            "result": result,
        }
        answer = await self._call(f"{HUB}answer", params)
        return isinstance(answer, dict) and answer.get("settled") is True

    async def set_title(self, session_id: str, title: str) -> None:
        await self._call("session/set_title", {"sessionId": session_id, "title": title})
        self._relist()

    async def archive(self, session_id: str, *, on: bool) -> None:
        method = "session/archive" if on else "session/unarchive"
        await self._call(method, {"sessionId": session_id})
        self._relist()

    def _relist(self) -> None:
        self._must_list = True
        self._news.set()

    async def _call(self, method: str, params: Fields) -> object:
        if self._hub is None:
            raise LocalMistake(self.trouble)
        return await self._hub.call(method, params)


def make_board_session(fields: Fields, progress: Fields, questions: int) -> BoardSession:
    """Return a session with its progress, from the hub's description."""
    session_id, agent, cwd = (_text(fields, name) for name in ("sessionId", "agent", "cwd"))
    turn_start = progress.get("turnStarted")
    changes = _member(progress, "changes")
    return BoardSession(
        id=session_id,
        request=ChatRequest(agent=agent, cwd=cwd, session=session_id),
        title=_text(fields, "title"),
        agent=agent,
        cwd=cwd,
        state=_text(fields, "state"),
        updated=_seconds(fields.get("updatedAt")),
        turn_started=float(turn_start) if isinstance(turn_start, int | float) else None,
        line=_text(_member(progress, "line"), "text"),
        cost=_cost(_member(_member(progress, "usage"), "cost")),
        changes=f"+{_number(changes, 'added'):.0f} -{_number(changes, 'removed'):.0f}" if changes else "",
        questions=questions,
    )


def make_permission(fields: Fields, *, cwd: str) -> PermissionQuestion | None:
    """Return a permission request of the inbox; None if it is another kind of request, or unreadable."""
    if fields.get("method") != "session/request_permission":
        return None
    try:
        request = read(msgspec.json.encode(fields.get("params")), v1.RequestPermissionRequest)
    except (SchemaError, TypeError):
        return None
    view = msgspec.structs.replace(_view(fields, request, cwd), requester=_text(fields, "requester"))
    cautions = list(_cautions(fields))

    async def known_cautions() -> Sequence[Caution]:
        return cautions

    return PermissionQuestion(
        text=view.text,
        why=view.why or _text(fields, "rule"),
        options=tuple(usable_options(request.options)),
        cautions=known_cautions if cautions else None,
    )


def _view(fields: Fields, request: v1.RequestPermissionRequest, cwd: str) -> ActView:
    """What the hub has judged; a hub that does not say it has judged the request as it stands."""
    try:
        return convert(fields.get("act"), ActView)
    except msgspec.ValidationError:
        context = ActContext(agent=_text(fields, "agent"), roots=(cwd,) if cwd else ())
        act = act_of_call(request.tool_call, context, session_id=request.session_id)
        return view_of(act, request.tool_call)


def _cautions(fields: Fields) -> Iterator[Caution]:
    yield from cautions_in({"dragoman": fields})
    if note := _text(fields, "risksNote"):
        yield Caution(severity="", text=note)


async def _plain_sessions(hub: AgentHandle) -> list[Fields]:
    """What the protocol alone tells."""
    sessions: list[Fields] = []
    with suppress(NotAdvertised):
        async for info in hub.list_sessions():
            time = str(info.updated_at or "")
            sessions.append(
                {
                    "sessionId": info.session_id,
                    "cwd": info.cwd,
                    "title": info.title or "",
                    "updatedAt": time,
                    "agent": "",
                }
            )
            if len(sessions) >= MOST_SESSIONS:
                break
    return sessions


def _cost(fields: Fields) -> tuple[float, str] | None:
    amount, currency = fields.get("amount"), fields.get("currency")
    if isinstance(amount, int | float) and isinstance(currency, str):
        return float(amount), currency
    return None


def _seconds(moment: object) -> float:
    try:
        return datetime.fromisoformat(moment).timestamp() if isinstance(moment, str) else 0.0
    except (ValueError, OverflowError, OSError):
        return 0.0


def _objects(answer: object, name: str) -> list[Fields]:
    values = answer.get(name) if isinstance(answer, dict) else None
    return [value for value in values if isinstance(value, dict)] if isinstance(values, list) else []


def _member(fields: object, name: str) -> Fields:
    value = fields.get(name) if isinstance(fields, Mapping) else None
    return value if isinstance(value, dict) else {}


def _text(fields: Mapping[str, Any], name: str) -> str:
    value = fields.get(name)
    return value if isinstance(value, str) else ""


def _number(fields: Mapping[str, Any], name: str) -> float:
    value = fields.get(name)
    return float(value) if isinstance(value, int | float) else 0.0
