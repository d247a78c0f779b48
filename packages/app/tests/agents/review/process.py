"""The review agent as a process, driven with frames written by hand."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from dragoman.testing.raw_peer import RawPeer
from tests.forks import DRAGOMAN, unforked

COMMAND = [sys.executable, "-m", "dragoman", "agent", "review"]
PATIENCE = 30.0
"""Seconds for anything: tools are started, on a machine that may be busy."""


class Peer:
    """Sends frames, keeps every line that comes back."""

    def __init__(self, raw: RawPeer) -> None:
        self.raw = raw
        self.lines: list[bytes] = []
        self._ids = 0

    @property
    def frames(self) -> list[Any]:
        return [json.loads(line) for line in self.lines]

    async def call(self, method: str, params: Mapping[str, Any]) -> Any:
        """A request and its answer; what came before it is kept."""
        request_id = await self.begin(method, params)
        return await self.answer(request_id)

    async def begin(self, method: str, params: Mapping[str, Any]) -> int:
        self._ids += 1
        await self.raw.send({"jsonrpc": "2.0", "id": self._ids, "method": method, "params": params})
        return self._ids

    async def notify(self, method: str, params: Mapping[str, Any]) -> None:
        await self.raw.send({"jsonrpc": "2.0", "method": method, "params": params})

    async def answer(self, request_id: int) -> Any:
        await self.until(lambda frame: frame.get("id") == request_id and "method" not in frame)
        return self.frames[-1]

    async def until(self, wanted: Any) -> None:
        """Read until such a frame has come."""
        self.lines += await self.raw.read_until(lambda line: wanted(json.loads(line)), seconds=PATIENCE)

    async def open(self, folder: Path, capabilities: Mapping[str, Any] | None = None) -> str:
        """Initialize and make a session; its id."""
        await self.call("initialize", {"protocolVersion": 1, "clientCapabilities": capabilities or {}})
        made = await self.call("session/new", {"cwd": str(folder), "mcpServers": []})
        session_id: str = made["result"]["sessionId"]
        return session_id

    async def begin_prompt(self, session_id: str, text: str) -> int:
        blocks = [{"type": "text", "text": text}]
        return await self.begin("session/prompt", {"sessionId": session_id, "prompt": blocks})

    async def prompt(self, session_id: str, text: str) -> Any:
        return await self.answer(await self.begin_prompt(session_id, text))

    def updates(self) -> list[Any]:
        return [frame["params"]["update"] for frame in self.frames if frame.get("method") == "session/update"]

    def text(self) -> str:
        chunks = [update for update in self.updates() if update["sessionUpdate"] == "agent_message_chunk"]
        return "".join(chunk["content"]["text"] for chunk in chunks)


@asynccontextmanager
async def running(sessions: Path, *arguments: str, imports_anew: bool = False) -> AsyncIterator[Peer]:
    """A process of the agent, with its sessions in this file."""
    command = [*DRAGOMAN, "agent", "review", "--sessions", str(sessions), *arguments]
    async with RawPeer(unforked(command) if imports_anew else command, env=dict(os.environ)) as raw:
        yield Peer(raw)
