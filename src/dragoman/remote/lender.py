"""Stands before an agent on the other side, and lends it that side's files and terminals.

    python -m dragoman.remote.lender -- COMMAND…

What the agent asks of files and terminals is done here, in the folders of its session; before each access the
client is asked for its leave (`_dragoman/access/permit`, see `dragoman.workspace.remote_access`). Everything
else passes in both directions as it is, but for the capabilities in `initialize`: an agent is told that there
are files and terminals, because there are.
"""

from __future__ import annotations

import asyncio
import logging
import os
import shutil
import sys
from collections.abc import Hashable, Mapping, Sequence
from contextlib import AbstractContextManager, suppress

import msgspec
from msgspec import UNSET

from dragoman.errors import DragomanError, ErrorAnswer, LocalMistake, SpawnFailed
from dragoman.remote.own_calls import OwnCalls, params_in
from dragoman.runtime.relay import Relay, RelayDirection
from dragoman.schema import v1
from dragoman.schema.codec import read
from dragoman.schema.errors import SchemaError
from dragoman.sdk.client.subagents import ANNOUNCEMENTS, SubagentTree
from dragoman.sdk.login_path import login_path
from dragoman.sdk.proxy.target import stderr_writer
from dragoman.sdk.shutdown import ShutdownSignals, first_of
from dragoman.transport.contract import Transport
from dragoman.transport.process import spawn
from dragoman.transport.stdio import claim_stdio
from dragoman.wire import Failure, Response, decode, error_object, failure, request, response
from dragoman.wire.codes import INTERNAL_ERROR, INVALID_PARAMS, METHOD_NOT_FOUND
from dragoman.wire.envelope import Request, id_key
from dragoman.wire.glance import Glance, glance_block, lines_of
from dragoman.workspace.lent_files import Access
from dragoman.workspace.method_handlers import MethodHandlers
from dragoman.workspace.remote_access import PERMIT_METHOD, write_access
from dragoman.workspace.workspace import SessionOpening, Workspace

log = logging.getLogger(__name__)

OPENS = frozenset({"session/new", "session/load", "session/resume", "session/fork"})
"""What tells in which folders a session works."""

MOST_WAITING = 1024
"""Requests of the agent that are carried out at the same time; of more, no agent needs an answer."""

OURS = ("PYTHONPATH", "DRAGOMAN_AGENT_PYTHONPATH")
"""Variables for processes of ours alone."""


class RemoteLender:
    """One conversation. `relay` runs it."""

    def __init__(self, client: Transport, agent: Transport) -> None:
        self.relay = Relay(client, agent, interpreter=self, name="lender")
        self._subagents = SubagentTree()
        self._workspace = Workspace(guard=self._guard, root_of=self._subagents.root_of)
        self._handlers = MethodHandlers(self._workspace)
        self._calls = OwnCalls("lender", self.relay.to_client.send)
        self._opened_ids: dict[Hashable, str] = {}
        self._openings: dict[Hashable, tuple[AbstractContextManager[SessionOpening], SessionOpening]] = {}
        self._tasks: dict[Hashable, asyncio.Task[None]] = {}

    async def aclose(self) -> None:
        """End both sides, and every command that was lent."""
        await self.relay.aclose()
        await self._workspace.aclose()

    # The interpreter of the relay.

    def take(self, way: RelayDirection, block: bytes) -> None:
        step = self._from_client if way.direction == "to_agent" else self._from_agent
        frames = [
            step(line, glance) for line, glance in zip(lines_of(block), glance_block(block), strict=True)
        ]
        passed = b"".join(frame for frame in frames if frame is not None)
        if passed:
            way.send(passed)

    async def finish(self, way: RelayDirection, seconds: float) -> None:
        """A side has ended."""
        self._calls.give_up()

    # From the client.

    def _from_client(self, line: bytes, glance: Glance) -> bytes | None:
        if self._calls.take_answer(line, glance):
            return None
        if glance.method is UNSET or glance.id is UNSET:
            return line
        if glance.method == "initialize":
            return _with_files(line)
        if glance.method in OPENS:
            self._on_opening(line)
        elif glance.method in ("session/close", "session/delete"):
            self._workspace.close(str(params_in(line).get("sessionId")))
        return line

    def _on_opening(self, line: bytes) -> None:
        """Lend the folders of a session from the first moment; what is no folder here, the agent will say."""
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
            log.warning("the folders of a session cannot be lent: %s", error)

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
            self.relay.to_agent.send(failure(glance.id, error_object(METHOD_NOT_FOUND)))
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
        """Whether the agent has withdrawn a request that is ours to answer."""
        task = self._tasks.get(id_key(params_in(line).get("requestId")))
        return task is not None and task.cancel()

    def _start(self, line: bytes, glance: Glance) -> None:
        key = id_key(glance.id)
        if len(self._tasks) >= MOST_WAITING or key in self._tasks:
            why = "Internal error: too many requests wait" if key not in self._tasks else "Invalid request"
            assert glance.id is not UNSET
            self.relay.to_agent.send(failure(glance.id, error_object(INTERNAL_ERROR, why)))
            return
        task = self.relay.owner.start(self._answer(line))
        self._tasks[key] = task
        task.add_done_callback(lambda _: self._tasks.pop(key, None))

    async def _answer(self, line: bytes) -> None:
        envelope = decode(line)
        if not isinstance(envelope, Request):
            return  # its envelope was no request after all: nobody can be answered
        params = b"{}" if envelope.params is None else bytes(envelope.params)
        try:
            reply = response(envelope.id, await self._handlers.answer(envelope.method, params))
        except ErrorAnswer as error:
            reply = failure(envelope.id, error_object(error.code, error.message, error.data))
        except SchemaError:
            reply = failure(envelope.id, error_object(INVALID_PARAMS))
        except asyncio.CancelledError:
            self.relay.to_agent.send(failure(envelope.id, error_object(-32800, "Request cancelled")))
            raise
        except Exception:  # a mistake of ours must not leave the agent without an answer
            log.exception("%s failed", envelope.method)
            reply = failure(envelope.id, error_object(INTERNAL_ERROR))
        self.relay.to_agent.send(reply)

    async def _guard(self, access: Access) -> None:
        """Ask the client's side; raises what it refuses with."""
        answer = await self._calls.call(PERMIT_METHOD, msgspec.json.encode(write_access(access)))
        if isinstance(answer, Failure):
            data = None if answer.error.data is UNSET else answer.error.data
            raise ErrorAnswer(answer.error.code, answer.error.message, data)


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


async def plan(command: Sequence[str], environ: Mapping[str, str]) -> tuple[list[str], dict[str, str]]:
    """The words and the environment of the agent. `dragoman` is what we brought along, unless there is one;
    a program that the PATH does not have is looked for on the login shell's.
    """
    env = {name: value for name, value in environ.items() if name not in OURS}
    if "DRAGOMAN_AGENT_PYTHONPATH" in environ:
        env["PYTHONPATH"] = environ["DRAGOMAN_AGENT_PYTHONPATH"]
    words = [_at_home(command[0]), *command[1:]]
    if os.path.dirname(words[0]) or shutil.which(words[0], path=env.get("PATH")):
        return words, env
    if words[0] == "dragoman":
        return [sys.executable, "-P", "-m", "dragoman", *words[1:]], {
            **env,
            "PYTHONPATH": environ.get("PYTHONPATH", ""),
        }
    env["PATH"] = (await login_path()).path
    return words, env


def _at_home(word: str) -> str:
    return os.path.expanduser(word)


async def lend(command: Sequence[str], leaving: ShutdownSignals) -> int:
    """Run the conversation on stdio; the exit status is the agent's."""
    leaving.listen()
    client = claim_stdio().open()
    words, env = await plan(command, os.environ)
    agent = spawn(words, env=env, on_stderr=stderr_writer())
    lender = RemoteLender(client, agent)
    lender.relay.start()
    try:
        await first_of(lender.relay.wait_ended(), leaving.end_event.wait())
    finally:
        leaving.begin()
        await lender.aclose()
    return agent.tree.returncode or 0


def main(arguments: Sequence[str]) -> int:
    """Run until one side ends."""
    claim_stdio()
    with ShutdownSignals() as leaving:
        try:
            status = asyncio.run(lend(arguments[1:], leaving))
        except (SpawnFailed, DragomanError) as error:
            sys.stderr.write(f"{error}\n")
            return 127
    return status if status >= 0 else 128 - status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
