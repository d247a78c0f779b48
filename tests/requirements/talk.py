"""A client without an SDK: it writes frames by hand, keeps every line, and answers what it is asked.

It reads only while it waits for something. Requests of the agent go to an `Editor`; what that holds back is
answered when the scene says so.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from dragoman.testing import RawPeer
from tests.requirements.editor import Editor
from tests.requirements.heard import Line, Scene

PATIENCE = 40.0
"""Seconds for anything: the machine may be busy."""


class Talk:
    """One connection to an agent under test."""

    def __init__(self, peer: RawPeer, editor: Editor) -> None:
        self.peer = peer
        self.editor = editor
        self.scene = Scene(lines=[], spans={}, facts={})
        self._ids = 1000
        self._starts: dict[str, int] = {}

    # To the agent.

    async def send(self, frame: Mapping[str, Any] | bytes) -> None:
        line = frame if isinstance(frame, bytes) else json.dumps(frame).encode() + b"\n"
        for part in line.removesuffix(b"\n").split(b"\n"):
            self._keep("to_agent", part)
        await self.peer.send(line)

    async def begin(self, method: str, params: Any = None, *, id: Any = None, name: str = "") -> Any:
        """A request, not waited for; `name` is what the stretch up to its answer is called."""
        self._ids += 1
        request_id = self._ids if id is None else id
        self._starts[name] = len(self.scene.lines)
        frame = {"jsonrpc": "2.0", "id": request_id, "method": method}
        await self.send(frame if params is None else {**frame, "params": params})
        return request_id

    async def call(self, method: str, params: Any = None, *, id: Any = None, name: str = "") -> Any:
        """A request and its answer."""
        request_id = await self.begin(method, params, id=id, name=name)
        return await self.answer(request_id, name)

    async def notify(self, method: str, params: Any = None) -> None:
        frame = {"jsonrpc": "2.0", "method": method}
        await self.send(frame if params is None else {**frame, "params": params})

    # From the agent.

    async def answer(self, request_id: Any, name: str = "") -> Any:
        """The answer to a request, now or earlier."""
        start = self._starts.get(name, 0)
        found = next(
            (at for at in range(start, len(self.scene.lines)) if self._answers(at, request_id)), None
        )
        if found is None:
            await self.until(lambda frame: _is_answer(frame, request_id))
            found = len(self.scene.lines) - 1
        if name:
            self.scene.spans[name] = (start, found)
        return json.loads(self.scene.lines[found].raw)

    async def until(self, wanted: Callable[[Any], bool]) -> Any:
        """Read until such a frame has come; questions of the agent are answered meanwhile."""
        while True:
            frame = await self._read()
            if wanted(frame):
                return frame

    async def quiet(self) -> list[Any]:
        """All that comes before the answer to a request sent now: what the agent had to say by then."""
        before = len(self.scene.lines)
        await self.call("session/list", {"cwd": "/nowhere"})
        part = self.scene.lines[before:-1]
        return [json.loads(line.raw) for line in part if line.way == "to_client"]

    async def close(self) -> int:
        """The end of its input; all it still says, and its exit status."""
        self.peer.close_stdin()
        for line in await self.peer.read_rest(seconds=PATIENCE):
            self._keep("to_client", line)
        return await self.peer.wait(seconds=PATIENCE)

    # Scenes.

    async def open(self, capabilities: Any = None, *, name: str = "initialize") -> Any:
        params = {"protocolVersion": 1, "clientCapabilities": capabilities or {}}
        return await self.call("initialize", params, name=name)

    async def new(self, folder: Path | str, *, name: str = "new", **more: Any) -> str:
        params = {"cwd": str(folder), "mcpServers": [], **more}
        made = await self.call("session/new", params, name=name)
        session_id: str = made["result"]["sessionId"]
        return session_id

    async def prompt(self, session: str, *blocks: Any, name: str = "") -> Any:
        return await self.answer(await self.begin_prompt(session, *blocks, name=name), name)

    async def begin_prompt(self, session: str, *blocks: Any, name: str = "") -> Any:
        return await self.begin("session/prompt", prompting(session, *blocks), name=name)

    # Inside.

    def _keep(self, way: Any, line: bytes) -> None:
        self.scene.lines.append(Line(way, line))

    def _answers(self, at: int, request_id: Any) -> bool:
        line = self.scene.lines[at]
        return line.way == "to_client" and _is_answer(json.loads(line.raw), request_id)

    async def _read(self) -> Any:
        line = await self.peer.read_line(seconds=PATIENCE)
        self._keep("to_client", line)
        frame = json.loads(line)
        if "method" in frame and "id" in frame:
            answer = self.editor.answer(frame)
            if answer is not None:
                await self.send({"jsonrpc": "2.0", "id": frame["id"], **answer})
        return frame


def prompting(session: str, *blocks: Any) -> dict[str, Any]:
    parts = [{"type": "text", "text": block} if isinstance(block, str) else block for block in blocks]
    return {"sessionId": session, "prompt": parts}


def _is_answer(frame: Any, request_id: Any) -> bool:
    if "method" in frame or "id" not in frame:
        return False
    return type(frame["id"]) is type(request_id) and frame["id"] == request_id
