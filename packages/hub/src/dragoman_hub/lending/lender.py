"""Files and terminals for agents whose client has none: those of the hub, limited to the session's folders
and to a guard's permissions.

Nothing is begun before there is room for its answer (`SessionBounds.answers`); the answer counts until the
agent's pipe has taken it. While people are asked, no room is held.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from contextvars import ContextVar
from typing import Any

from msgspec import Raw
from msgspec.structs import replace

from dragoman.errors import DragomanError, ErrorAnswer
from dragoman.runtime.budget import HeldBytes
from dragoman.runtime.locks import KeyedLock
from dragoman.wire.codes import INTERNAL_ERROR
from dragoman.wire.envelope import JsonObject
from dragoman_hub.engine.bounds import MIB, WORK_BYTES, size_of_request
from dragoman_hub.engine.live_session import LiveSession
from dragoman_hub.session.frames import object_of, value_of
from dragoman_hub.session.state import OpenRequest
from dragoman_local.workspace.disk_threads import in_disk_thread
from dragoman_local.workspace.lent_files import Guard
from dragoman_local.workspace.method_handlers import MethodHandlers
from dragoman_local.workspace.refusals import reason_of, session_unknown
from dragoman_local.workspace.remote_access import PERMIT_METHOD, read_access
from dragoman_local.workspace.roots import Roots
from dragoman_local.workspace.settings import DEFAULT_SETTINGS, DEFAULT_TERMINALS, TerminalSettings
from dragoman_local.workspace.workspace import Workspace

log = logging.getLogger(__name__)

RELEASED = 64
SHOWN = 64 * 1024
"""Ended terminals whose last output is kept, and the characters of each."""

lent_request: ContextVar[OpenRequest] = ContextVar("lent_request")
"""The current request, for the guard of the workspace."""

AT_ONCE = frozenset({"terminal/wait_for_exit", "terminal/kill", "terminal/release"})
"""Methods that need no room: their answers are small, and they wait for hours or end something."""

READS = frozenset({"fs/read_text_file", "_dragoman/fs/read_range"})
"""Methods whose answers are as large as a file, or as its requested part."""


class LentWork:
    """One running request: the bytes reserved for it and for its answer."""

    def __init__(self, session: LiveSession, request: OpenRequest) -> None:
        self._session = session
        self._request = request
        self._request_charge = session.bounds.lent.charge(size_of_request(request.params))
        self._answer: HeldBytes | None = None

    async def take_room(self) -> bool:
        """Wait until there is room for the answer; return whether it is still needed then."""
        method = self._request.method
        if method in AT_ONCE:
            return True
        self._answer = await self._session.bounds.answers.take(WORK_BYTES)
        if method == "terminal/output":
            await self._answer.change(MIB)
        elif method in READS:
            size = await in_disk_thread(self._session.state.cwd, _size_of_file, self._request.params)
            if size > WORK_BYTES:
                await self._answer.change(size)
        return self._request.sequence in self._session.state.requests

    @asynccontextmanager
    async def without_room(self) -> AsyncIterator[None]:
        """Give its room to other requests of the agent for a while."""
        size = 0 if self._answer is None else self._answer.size
        self.release()
        yield
        self._request_charge = self._session.bounds.lent.charge(size_of_request(self._request.params))
        if size:
            self._answer = await self._session.bounds.answers.take(size)

    def release(self) -> None:
        self._request_charge.release()
        if self._answer is not None:
            self._answer.release()


lent_work: ContextVar[LentWork] = ContextVar("lent_work")
"""The work of the current task, for code that must wait for people in between."""


@asynccontextmanager
async def waiting_for_people() -> AsyncIterator[None]:
    """Wrap a wait for people: a request that waits for a person takes no room."""
    work = lent_work.get(None)
    if work is None:
        yield
        return
    async with work.without_room():
        yield


def _size_of_file(params: Raw) -> int:
    """About how large the answer to a read will be; it is counted exactly when it is there."""
    path = value_of(object_of(params).get("path"))
    try:
        size = os.stat(path).st_size if isinstance(path, str) else 0
    except (OSError, ValueError):
        return 0
    return min(size, DEFAULT_SETTINGS.read_bytes)


class HubLender:
    """The hub's own files and terminals, for each session."""

    def __init__(self, *, guard: Guard, terminals: TerminalSettings = DEFAULT_TERMINALS) -> None:
        self._guard = guard
        self._workspace = Workspace(guard=guard, terminals=terminals)
        self._handlers = MethodHandlers(self._workspace)
        self._open: dict[str, tuple[str, ...]] = {}
        self._opening: dict[str, KeyedLock] = {}
        self._released_terminals: OrderedDict[tuple[str, str], dict[str, Any]] = OrderedDict()

    def serves(self, method: str) -> bool:
        return method in self._handlers or method == PERMIT_METHOD

    async def answer(
        self,
        session: LiveSession,
        request: OpenRequest,
        work: LentWork,
        *,
        on_terminal: Callable[[tuple[str, str]], None],
    ) -> None:
        """Do the agent's request, and settle it; `on_terminal` gets new terminals."""
        lent_request.set(request)  # these hold for the task that this runs in
        lent_work.set(work)
        try:
            if await work.take_room():
                await self._answer(session, request, on_terminal=on_terminal)
        finally:
            work.release()

    async def _answer(
        self, session: LiveSession, request: OpenRequest, *, on_terminal: Callable[[tuple[str, str]], None]
    ) -> None:
        result: Raw | None = None
        error: JsonObject | None = None
        try:
            result = await self._do(session, request)
        except ErrorAnswer as refusal:
            if reason_of(refusal) == "outside":
                path = str(value_of(object_of(request.params).get("path"), ""))[:200]
                session.hub.broker.attempts.write_refusal(
                    request.method, refusal.message, session=session, title=path
                )
            error = {"code": refusal.code, "message": refusal.message}
            if refusal.data is not None:
                error["data"] = refusal.data
        except DragomanError as problem:
            log.info("session %s gets no files and no terminals: %s", session.id, problem)
            error = {"code": INTERNAL_ERROR, "message": "Internal error: the session's folder cannot be used"}
        except Exception:  # a mistake of ours must not leave the agent without an answer
            log.exception("session %s: %s failed", session.id, request.method)
            error = {"code": INTERNAL_ERROR, "message": "Internal error"}
        if result is not None and request.method == "terminal/create":
            on_terminal((session.id, str(value_of(object_of(result).get("terminalId")))))
        session.settle(request.sequence, outcome="answered", by="hub", result=result, error=error)

    async def _do(self, session: LiveSession, request: OpenRequest) -> Raw:
        if request.method == PERMIT_METHOD:  # what it may do with files and terminals of another machine
            access = read_access(value_of(request.params))
            await self._guard(replace(access, session_id=session.id))
            return Raw(b"{}")
        await self._lend(session)
        if request.method == "terminal/release":
            self._keep(session.id, str(value_of(object_of(request.params).get("terminalId"))))
        return Raw(await self._handlers.answer(request.method, request.params))

    def output(self, session_id: str, terminal_id: str) -> dict[str, Any] | None:
        """Return the output of a terminal of the hub, even after its release; None if it is unknown."""
        released_output = self._released_terminals.get((session_id, terminal_id))
        if released_output is not None:
            return released_output
        try:
            terminal = self._workspace.terminals(session_id).get(terminal_id)
        except ErrorAnswer:
            return None
        exit_info, tail = terminal.exit, terminal.tail
        status = None if exit_info is None else {"exitCode": exit_info.code, "signal": exit_info.signal}
        return {"output": tail.text, "truncated": tail.is_truncated, "exitStatus": status}

    def _keep(self, session_id: str, terminal_id: str) -> None:
        """Keep the output of a program for people after its agent has stopped reading."""
        last = self.output(session_id, terminal_id)
        if last is not None:
            last["output"] = last["output"][-SHOWN:]
            last["exitStatus"] = last["exitStatus"] or {"exitCode": None, "signal": "SIGKILL"}
            self._released_terminals[session_id, terminal_id] = last
            while len(self._released_terminals) > RELEASED:
                self._released_terminals.popitem(last=False)

    async def _lend(self, session: LiveSession) -> None:
        """Open the session's folders, if they are not open: in a thread, because a disk may hang."""
        folders = (session.state.cwd, *session.state.folders)
        if self._open.get(session.id) == folders:
            return
        lock = self._opening.setdefault(session.id, KeyedLock())
        async with lock:  # the second of two would close what the first has begun to use
            if self._open.get(session.id) == folders:
                return
            roots = await _open_roots(folders)
            if self._opening.get(session.id) is not lock:
                roots.close()
                raise session_unknown(session.id)
            self._workspace.open(session.id, roots=roots)
            self._open[session.id] = folders

    def close(self, session_id: str) -> None:
        self._opening.pop(session_id, None)
        if self._open.pop(session_id, None) is not None:
            self._workspace.close(session_id)

    async def aclose(self) -> None:
        await self._workspace.aclose()

    def erase(self, session_id: str) -> None:
        """Erase everything about the session."""
        for key in [key for key in self._released_terminals if key[0] == session_id]:
            del self._released_terminals[key]


async def _open_roots(folders: tuple[str, ...]) -> Roots:
    opening = asyncio.ensure_future(in_disk_thread(folders[0], Roots, folders[0], folders[1:]))
    try:
        return await asyncio.shield(opening)
    except asyncio.CancelledError:
        opening.add_done_callback(_close_roots)
        raise


def _close_roots(opening: asyncio.Future[Roots]) -> None:
    """Nobody waits for them any more."""
    if not opening.cancelled() and opening.exception() is None:
        opening.result().close()
