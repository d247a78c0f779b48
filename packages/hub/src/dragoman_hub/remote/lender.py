"""Runs in front of an agent on a remote machine, and provides it with that machine's files and terminals.

What the agent asks of files and terminals is done here, in the folders of its session; before each access the
client is asked for its leave (`_dragoman/access/permit`, see `workspace.remote_access`). Everything
else passes in both directions as it is, but for the capabilities in `initialize`: an agent is told that there
are files and terminals, because there are. The client may ask what changed in the folders of a session
(`dragoman_local.workspace.remote_changes`); that is answered here too.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
import os
from collections.abc import Awaitable, Callable, Hashable, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from typing import Any

import msgspec
from msgspec import UNSET

from dragoman.errors import ErrorAnswer, LinkClosed, LocalMistake
from dragoman.runtime.owner import TaskOwner
from dragoman.schema import v1
from dragoman.schema.codec import read
from dragoman.schema.errors import SchemaError
from dragoman.sdk.client.subagents import ANNOUNCEMENTS, SubagentTree
from dragoman.wire import (
    ErrorObject,
    Failure,
    Response,
    decode,
    error_object,
    failure,
    notification,
    request,
    response,
)
from dragoman.wire.codes import INTERNAL_ERROR, METHOD_NOT_FOUND
from dragoman.wire.envelope import Request, id_key
from dragoman.wire.glance import Glance, glance_block, lines_of
from dragoman_local.known import AgentSource
from dragoman_local.known.lookup import well_known_for
from dragoman_local.sandbox.boundary import Profile, SandboxChoice
from dragoman_local.sandbox.wall import agent_launcher
from dragoman_local.workspace.lent_files import Access
from dragoman_local.workspace.method_handlers import MethodHandlers
from dragoman_local.workspace.remote_access import PERMIT_METHOD, write_access
from dragoman_local.workspace.remote_changes import DISK_METHODS, DiskLooks
from dragoman_local.workspace.settings import TerminalSettings
from dragoman_local.workspace.workspace import SessionOpening, Workspace

log = logging.getLogger(__name__)

OPENS = frozenset({"session/new", "session/load", "session/resume", "session/fork"})
"""Methods that name a session's folders."""

MOST_WAITING = 1024
"""The most simultaneous requests of the agent; no agent needs more answers."""


class RemoteLender:
    """Provides files in one conversation. `to_agent` writes our answers, `drain` waits until the agent has
    read them, and `to_client` writes requests and answers.
    """

    def __init__(
        self,
        *,
        to_agent: Callable[[bytes], None],
        drain: Callable[[], Awaitable[None]],
        to_client: Callable[[bytes], None],
        sandbox: SandboxChoice = "auto",
    ) -> None:
        self._to_agent = to_agent
        self._drain = drain
        self._owner = TaskOwner("lender")
        self._subagents = SubagentTree()
        self._workspace = Workspace(
            guard=self._guard,
            root_of=self._subagents.root_of,
            terminals=TerminalSettings(sandbox=sandbox),
        )
        self._handlers = MethodHandlers(self._workspace)
        self._to_client = to_client
        self._calls = OwnCalls("lender", to_client)
        self._looks = DiskLooks(lambda session_id: self._workspace.session(session_id).files.roots.folders)
        self._openings: dict[Hashable, tuple[AbstractContextManager[SessionOpening], SessionOpening]] = {}
        self._tasks: dict[Hashable, asyncio.Task[None]] = {}

    def from_client(self, block: bytes) -> bytes:
        """Return the part of a block of whole frames for the agent."""
        return self._pass_block(block, self._from_client)

    def from_agent(self, block: bytes) -> bytes:
        """Return the part of a block of whole frames for the client."""
        return self._pass_block(block, self._from_agent)

    def give_up(self) -> None:
        """Drop open requests: the agent has ended."""
        self._calls.give_up()

    async def aclose(self) -> None:
        """End running requests and every command of the agent."""
        await self._owner.aclose()
        await self._looks.aclose()
        await self._workspace.aclose()

    def _pass_block(self, block: bytes, step: Callable[[bytes, Glance], bytes | None]) -> bytes:
        lines = zip(lines_of(block), glance_block(block), strict=True)
        frames = [step(line, glance) for line, glance in lines]
        return b"".join(frame for frame in frames if frame is not None)

    # From the client.

    def _from_client(self, line: bytes, glance: Glance) -> bytes | None:
        if self._calls.take_answer(line, glance):
            return None
        if glance.method is UNSET or glance.id is UNSET:
            return line
        if glance.method in DISK_METHODS:
            self._owner.start(self._answer_look(line))
            return None
        if glance.method == "initialize":
            return _with_files(line)
        if glance.method in OPENS:
            self._on_opening(line)
        elif glance.method in ("session/close", "session/delete"):
            session_id = str(params_in(line).get("sessionId"))
            self._workspace.close(session_id)
            self._owner.start(self._looks.forget(session_id))
        return line

    def _on_opening(self, line: bytes) -> None:
        """Lend the folders of a session from the first moment; what is not a folder here, the agent will
        say."""
        envelope = decode(line)
        if not isinstance(envelope, Request):
            return
        params = params_in(line)
        cwd, more = params.get("cwd"), params.get("additionalDirectories")
        folders = [path for path in more if isinstance(path, str)] if isinstance(more, list) else []
        if not isinstance(cwd, str):
            return
        try:
            if envelope.method in ("session/load", "session/resume"):
                session_id = str(params.get("sessionId"))
                self._workspace.open(session_id, cwd=cwd, additional_directories=folders)
                return
            context = self._workspace.opening(cwd=cwd, additional_directories=folders)
            self._openings[id_key(envelope.id)] = (context, context.__enter__())
        except (LocalMistake, ErrorAnswer, OSError) as error:
            log.warning("can't provide the folders of a session: %s", error)

    async def _answer_look(self, line: bytes) -> None:
        envelope = decode(line)
        if not isinstance(envelope, Request):
            return  # its envelope was not a request after all: nobody can be answered
        try:
            reply = response(envelope.id, await self._looks.answer(envelope.method, params_in(line)))
        except ErrorAnswer as error:
            reply = failure(envelope.id, error_object(error.code, error.message, error.data))
        self._to_client(reply)

    # From the agent.

    def _from_agent(self, line: bytes, glance: Glance) -> bytes | None:
        if glance.method is UNSET:
            if self._openings and glance.id is not UNSET:
                self._on_opened(glance, line)
            return line
        if glance.id is UNSET:
            if glance.method == "$/cancel_request" and self._cancel(line):
                return None
            if glance.method == "session/update" and any(word in line for word in ANNOUNCEMENTS):
                with suppress(SchemaError):  # what cannot be read announces nobody
                    self._subagents.hear(read(msgspec.json.encode(params_in(line)), v1.SessionNotification))
            return line
        if glance.method == PERMIT_METHOD:  # ours to ask, and nobody else's
            self._refuse(glance, error_object(METHOD_NOT_FOUND))
            return None
        if glance.method not in self._handlers:
            return line
        self._start(line, glance)
        return None

    def _on_opened(self, glance: Glance, line: bytes) -> None:
        entry = self._openings.pop(id_key(glance.id), None)
        if entry is None:
            return
        context, opening = entry
        envelope = decode(line)
        if isinstance(envelope, Response):
            result = msgspec.json.decode(envelope.result)
            if isinstance(result, dict) and isinstance(result.get("sessionId"), str):
                opening.settle(result["sessionId"])
        context.__exit__(None, None, None)

    def _cancel(self, line: bytes) -> bool:
        """Whether the agent has withdrawn a request that this side answers."""
        task = self._tasks.get(id_key(params_in(line).get("requestId")))
        return task is not None and task.cancel()

    def _start(self, line: bytes, glance: Glance) -> None:
        key = id_key(glance.id)
        if len(self._tasks) >= MOST_WAITING or key in self._tasks:
            why = "Internal error: too many requests wait" if key not in self._tasks else "Invalid request"
            self._refuse(glance, error_object(INTERNAL_ERROR, why))
            return
        task = self._owner.start(self._answer(line))
        self._tasks[key] = task
        task.add_done_callback(lambda _: self._tasks.pop(key, None))

    def _refuse(self, glance: Glance, error: ErrorObject) -> None:
        assert glance.id is not UNSET
        self._to_agent(failure(glance.id, error))

    async def _answer(self, line: bytes) -> None:
        envelope = decode(line)
        if not isinstance(envelope, Request):
            return  # its envelope was not a request after all: nobody can be answered
        params = b"{}" if envelope.params is None else envelope.params
        try:
            reply = response(envelope.id, await self._handlers.answer(envelope.method, params))
        except ErrorAnswer as error:
            reply = failure(envelope.id, error_object(error.code, error.message, error.data))
        except asyncio.CancelledError:
            self._to_agent(failure(envelope.id, error_object(-32800, "Request cancelled")))
            raise
        except Exception:  # a mistake of ours must not leave the agent without an answer
            log.exception("%s failed", envelope.method)
            reply = failure(envelope.id, error_object(INTERNAL_ERROR))
        self._to_agent(reply)
        await self._drain()  # an agent that does not read its answers gets no more of them

    async def _guard(self, access: Access) -> None:
        """Ask the client's side; raises what it refuses with."""
        answer = await self._calls.call(PERMIT_METHOD, msgspec.json.encode(write_access(access)))
        if isinstance(answer, Failure):
            data = None if answer.error.data is UNSET else answer.error.data
            raise ErrorAnswer(answer.error.code, answer.error.message, data)


def launcher_for(
    words: Sequence[str], profile: Profile, folder: str, environ: Mapping[str, str]
) -> tuple[str, ...]:
    """Return the command line in front of an agent's command, for the chosen sandbox. Raises `LocalMistake`
    if this side does not support it: a user must never get less than the chosen one.
    """
    entry = well_known_for("", words, AgentSource.COMMAND)
    state = () if entry is None else entry.state
    return agent_launcher(profile, words[0], [folder], state=state, environ=environ)


def _with_files(line: bytes) -> bytes:
    """`initialize` of version 1, with files and terminals among the capabilities."""
    envelope = decode(line)
    params = params_in(line)
    if not isinstance(envelope, Request) or params.get("protocolVersion") not in (None, 1):
        return line
    before = params.get("clientCapabilities")
    capabilities = before if isinstance(before, dict) else {}
    files = {"readTextFile": True, "writeTextFile": True}
    old_files = capabilities.get("fs")
    capabilities["fs"] = {**old_files, **files} if isinstance(old_files, dict) else files
    capabilities["terminal"] = True
    params["clientCapabilities"] = capabilities
    return request(envelope.id, envelope.method, msgspec.json.encode(params))


# Our own requests between a client and an agent that talk to each other: the answers are for us only.
#
# Whoever stands on the way of a relay asks one side something, and takes the answer out of what that side
# says to the other.


class OwnCalls:
    """Our own requests in one conversation. Their ids begin with `name`; `send` writes a frame to the
    other side.
    """

    def __init__(self, name: str, send: Callable[[bytes], None]) -> None:
        self._name = name
        self._send = send
        self._numbers = itertools.count(1)
        self._waiting: dict[Hashable, asyncio.Future[Response | Failure]] = {}

    async def call(self, method: str, params: bytes) -> Response | Failure:
        """Send a request; return the answer. A caller that stops waiting withdraws the request."""
        call_id = f"{self._name}-{os.getpid()}-{next(self._numbers)}"
        future: asyncio.Future[Response | Failure] = asyncio.get_running_loop().create_future()
        self._waiting[id_key(call_id)] = future
        self._send(request(call_id, method, params))
        try:
            return await future
        finally:
            if self._waiting.pop(id_key(call_id), None) is not None:  # it has no answer
                cancel = msgspec.json.encode({"requestId": call_id})
                self._send(notification("$/cancel_request", cancel))

    def take_answer(self, line: bytes, glance: Glance) -> bool:
        """Return whether this frame was an answer to one of these calls, and not for another reader."""
        if glance.method is not UNSET or glance.id is UNSET:
            return False
        future = self._waiting.pop(id_key(glance.id), None)
        if future is None:
            return False
        answer = decode(line)
        if not future.done():
            if isinstance(answer, Response | Failure):
                future.set_result(answer)
            else:
                future.set_exception(LinkClosed("the answer cannot be read"))
        return True

    def give_up(self) -> None:
        """Drop the calls of a side that has ended."""
        for future in self._waiting.values():
            if not future.done():
                future.cancel()


def params_in(line: bytes) -> dict[str, Any]:
    """Return the params of a frame; empty if they are not an object."""
    raw = getattr(decode(line), "params", None)
    params = None if raw is None else msgspec.json.decode(raw)
    return params if isinstance(params, dict) else {}
