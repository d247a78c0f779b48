"""An agent written by hand that runs commands in a client with a workspace."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from dragoman import Client
from dragoman.transport.owned_tree import owned_trees
from dragoman.transport.tree import Process, look_up
from dragoman_local.workspace.workspace import Workspace
from tests.runtime.raw import Frame, notification, request
from tests.sdk.ends import RawAgent, raw_agent


class Running:
    """Asks for terminals, and waits for answers when told to."""

    def __init__(self, agent: RawAgent, session_id: str) -> None:
        self.agent = agent
        self.session_id = session_id
        self._asked = 0

    def send(self, method: str, **params: Any) -> str:
        """Ask without waiting; the id to wait for."""
        self._asked += 1
        request_id = f"t{self._asked}"
        asked = {"sessionId": self.session_id, **params}
        self.agent.send(request(request_id, f"terminal/{method}", asked))
        return request_id

    async def answer(self, request_id: str) -> Frame:
        """The answer to a request, in whatever order answers come."""
        while True:
            for frame in self.agent.answers():
                if frame.get("id") == request_id:
                    return frame
            await self.agent.next()

    def cancel(self, request_id: str) -> None:
        self.agent.send(notification("$/cancel_request", {"requestId": request_id}))

    async def ask(self, method: str, **params: Any) -> Frame:
        return await self.answer(self.send(method, **params))

    async def create(self, command: str, *args: str, **params: Any) -> Frame:
        return await self.ask("create", command=command, args=list(args), **params)

    async def start(self, command: str, *args: str, **params: Any) -> str:
        """Start something that does start; its terminal's id."""
        answer = await self.create(command, *args, **params)
        assert "result" in answer, answer
        terminal_id: str = answer["result"]["terminalId"]
        return terminal_id

    async def output(self, terminal_id: str) -> Any:
        return (await self.ask("output", terminalId=terminal_id))["result"]

    async def wait(self, terminal_id: str) -> Any:
        return (await self.ask("wait_for_exit", terminalId=terminal_id))["result"]

    async def run(self, command: str, *args: str, **params: Any) -> str:
        """All that a command writes."""
        terminal_id = await self.start(command, *args, **params)
        await self.wait(terminal_id)
        text: str = (await self.output(terminal_id))["output"]
        await self.ask("release", terminalId=terminal_id)
        return text

    async def until(self, terminal_id: str, text: str) -> str:
        """Wait until a command has written this."""
        while text not in (written := (await self.output(terminal_id))["output"]):
            pass  # each look is a round trip
        return str(written)


@asynccontextmanager
async def running(folder: Path, workspace: Workspace | None = None) -> AsyncIterator[Running]:
    before = len(owned_trees())
    async with workspace or Workspace() as opened:
        client = Client()
        opened.serve(client)
        async with raw_agent(client) as (handle, agent):
            with opened.opening(cwd=str(folder)) as opening:
                session = await handle.new_session(cwd=str(folder))
                opening.settle(session.id)
            yield Running(agent, session.id)
    assert len(owned_trees()) == before


def code(frame: Frame) -> tuple[int, str]:
    error = frame["error"]
    return error["code"], (error.get("data") or {}).get("reason", "")


def is_alive(pid: int) -> bool:
    seen = look_up(pid)
    return seen is not None and not seen.dead


def pid_here(pid: int, tree: Iterable[Process] | None = None) -> int:
    """The number here of a process of a tree that knows itself by this one: in the sandbox, numbers begin
    anew. The tree is the latest, if none is given.
    """
    for process in owned_trees()[-1].processes() if tree is None else tree:
        status = Path(f"/proc/{process.pid}/status").read_text("ascii")
        numbers = next(line for line in status.splitlines() if line.startswith("NSpid:")).split()
        if int(numbers[-1]) == pid:
            return process.pid
    raise AssertionError(f"no process of the tree has the number {pid}")


async def gone(pid: int) -> None:
    """Wait until a process that is not a child of ours has ended."""
    while is_alive(pid):  # noqa: ASYNC110  # nobody tells us of the end of a stranger
        await asyncio.sleep(0.005)


def descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))
