"""An agent written by hand that asks a client with a workspace for files."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from dragoman import Client
from dragoman_local.workspace.workspace import Workspace
from tests.runtime.raw import Frame, request
from tests.sdk.ends import RawAgent, raw_agent


class Asking:
    """An agent written by hand that asks one thing after another."""

    def __init__(self, agent: RawAgent, session_id: str) -> None:
        self._agent = agent
        self.session_id = session_id
        self._asked = 0

    async def ask(self, method: str, path: str | Path, **params: Any) -> Frame:
        self._asked += 1
        key = "pattern" if method.endswith("glob") else "path"
        asked = {"sessionId": self.session_id, key: str(path), **params}
        self._agent.send(request(f"q{self._asked}", method, asked))
        return await self._agent.answer_to(f"q{self._asked}")

    async def read(self, path: str | Path, **params: Any) -> Any:
        return await self.ask("fs/read_text_file", path, **params)

    async def write(self, path: str | Path, content: str, **params: Any) -> Any:
        return await self.ask("fs/write_text_file", path, content=content, **params)


@asynccontextmanager
async def lending(folder: Path, workspace: Workspace | None = None) -> AsyncIterator[Asking]:
    with workspace or Workspace() as opened:
        client = Client()
        opened.serve(client)
        async with raw_agent(client) as (handle, agent):
            with opened.opening(cwd=str(folder)) as opening:
                session = await handle.new_session(cwd=str(folder))
                opening.settle(session.id)
            yield Asking(agent, session.id)


def code(frame: Frame) -> tuple[int, str]:
    error = frame["error"]
    return error["code"], error["data"].get("reason", "")


def version(frame: Frame) -> str:
    told: str = frame["result"]["_meta"]["dragoman"]["version"]
    return told
