"""Answers file requests from a local workspace, for a peer whose other side offers no files.

Text, ranges of bytes, whether something is there, what matches: below the folders that the edge names and
nowhere else, and only for reading, as far as the policy permits it: that of a file, if one is named, with
those of the project and the user behind it (docs/policy.md). Nobody is asked.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any

from dragoman.dialect.message import Message, Object, answer, as_list, as_object, as_text, refusal
from dragoman.errors import ErrorAnswer, LinkClosed, LocalMistake
from dragoman.runtime.owner import TaskOwner
from dragoman.wire.codes import INTERNAL_ERROR, METHOD_NOT_FOUND, NOT_FOUND
from dragoman_local.workspace import extension_methods
from dragoman_local.workspace.lent_files import LentFiles
from dragoman_local.workspace.local_client import LocalClient
from dragoman_local.workspace.policy.permission_service import LocalDesk
from dragoman_local.workspace.settings import LocalRules

log = logging.getLogger(__name__)

AT_ONCE = 8
"""The most simultaneous reads: each needs a thread and up to an answer's size of memory."""

MOST_WAITING = 256
MOST_SESSIONS = 64
"""The most sessions with open folders; the one opened first is closed first, and opened again on demand."""

Answer = Callable[[int, Message], None]
Handler = Callable[[Any, object], Awaitable[Object]]


class RequestLending:
    """Answers the questions of edges, each in its own task."""

    def __init__(self, tell: Answer, *, policy: str = "") -> None:
        """`policy` is the file of rules that apply first."""
        self._tell = tell
        self._rules = LocalRules(policy=policy or None, approve="reads")
        self._desks: dict[str | None, LocalDesk] = {}  # of the sessions that are open
        self._owner = TaskOwner("lending")
        self._local = LocalClient(self._desks.get, rules=self._rules)
        self._workspace = self._local.workspace
        self._handlers: dict[str, Handler] = {
            "fs/read_text_file": self._read_text,
            **extension_methods.handlers(self._workspace.session),
        }
        self._gate = asyncio.Semaphore(AT_ONCE)

    def ask(self, position: int, message: Message) -> None:
        """Implements `Host`, for `TranslatedTransport`."""
        if len(self._owner) >= MOST_WAITING:
            self._say(position, refusal(message.id, INTERNAL_ERROR, "too much is waiting already"))
        else:
            self._owner.start(self._answer(position, message))

    async def aclose(self) -> None:
        """End the running reads. No more questions come after this."""
        await self._owner.aclose()
        self._workspace.close_all()

    async def _answer(self, position: int, message: Message) -> None:
        async with self._gate:
            try:
                reply = answer(message.id, await self._result(message))
            except ErrorAnswer as error:
                reply = refusal(message.id, error.code, error.message, error.data)
            except LocalMistake:  # the session's folder is none; its text names the path
                reply = refusal(message.id, NOT_FOUND, "the folder of this session cannot be used")
            except Exception:  # a mistake of ours must not leave the peer without an answer
                log.exception("a question to the host failed")
                reply = refusal(message.id, INTERNAL_ERROR, "Internal error")
        self._say(position, reply)

    async def _result(self, message: Message) -> Object:
        params = as_object(message.params)
        handler = self._handlers.get(str(message.method))
        if handler is None:
            raise ErrorAnswer(METHOD_NOT_FOUND, "Method not found")
        self._lend(params)
        return await handler(params, None)

    def _lend(self, params: Object) -> None:
        """Open the session's folders, unless they are open already."""
        session = as_text(params.get("sessionId"))
        more = [as_text(path) for path in as_list(params.get("additionalDirectories"))]
        folders = (as_text(params.get("cwd")), *more)
        if session in self._desks and self._desks[session].roots == folders:
            return
        self._workspace.open(session, cwd=folders[0], additional_directories=more)
        self._desks[session] = LocalDesk(
            self._rules,
            agent="",
            roots=folders,
            place=self._local.place,
            find_tool_call=self._local.calls.find_call,
            requester_of=self._local.requester_of,
        )
        if len(self._desks) > MOST_SESSIONS:
            oldest = str(next(iter(self._desks)))
            del self._desks[oldest]
            self._workspace.close(oldest)

    async def _read_text(self, params: Object, agent: object) -> Object:
        lent: LentFiles = self._workspace.session(as_text(params.get("sessionId")))
        line, limit = params.get("line"), params.get("limit")
        read = await lent.read(
            as_text(params.get("path")),
            line=line if isinstance(line, int) else 1,
            limit=limit if isinstance(limit, int) else None,
        )
        return {"content": read.text, "_meta": {"dragoman": {"version": read.version}}}

    def _say(self, position: int, message: Message) -> None:
        try:
            self._tell(position, message)
        except LinkClosed:  # the peer left before its answer came
            log.debug("an answer of the host came too late")
