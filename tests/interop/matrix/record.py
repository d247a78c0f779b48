"""Records a conversation with an installed agent on the scripted model, as a fixture.

    python -m tests.interop.matrix.record claude steering FILE
    python -m tests.interop.matrix.record claude subagent FILE --version 2

`steering` sends a message into a turn that is under way, with `_session/steering`. `subagent` has the model
start an agent of its own. Frames are those on the agent's pipes, with nothing of ours in between: a raw
client answers what the agent asks. Folders, keys and long texts are replaced, so that a fixture is small.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

import msgspec

from dragoman.testing.models import ModelRequest, ModelTurn, scripted_model, turn
from dragoman.testing.models.turns import CallStep
from dragoman.testing.raw_peer import RawPeer
from dragoman.wire.envelope import Json, JsonObject
from tests.interop.matrix.__main__ import INSTALLED
from tests.interop.matrix.catalogue import load_catalogue
from tests.interop.matrix.installation import install
from tests.interop.matrix.model import answer, mark
from tests.interop.matrix.stage import KEY, MatrixStage

STARTERS = ("Agent", "Task", "task", "spawn_agent")
SECONDS = 60.0
TEXT_LIMIT = 600
"""Longer texts are cut: lists of commands and models have hundreds of lines that no reader needs."""
LIST_LIMIT = 4


class RawClient:
    """One connection on the agent's pipes; keeps what passes."""

    def __init__(self, peer: RawPeer) -> None:
        self.frames: list[tuple[str, JsonObject]] = []
        self._peer = peer
        self._next_id = 0

    async def call(self, method: str, params: JsonObject) -> Json:
        """A request, and its result; what comes before it is kept, and answered if it is a question."""
        call_id = await self.send_request(method, params)
        return await self.wait_for_answer(call_id)

    async def send_request(self, method: str, params: JsonObject) -> int:
        self._next_id += 1
        await self._send({"jsonrpc": "2.0", "id": self._next_id, "method": method, "params": params})
        return self._next_id

    async def wait_for_answer(self, call_id: int) -> Json:
        while True:
            frame = await self.receive()
            if "method" not in frame and frame.get("id") == call_id:
                return frame.get("result", frame.get("error"))

    async def wait_for_idle(self, session: str) -> None:
        """In version 2 a turn ends with an update and not with the answer to the prompt."""
        while True:
            params = (await self.receive()).get("params", {})
            update = params.get("update", {})
            is_state = update.get("sessionUpdate") == "state_update"
            if params.get("sessionId") == session and is_state and update.get("state") == "idle":
                return

    async def receive(self) -> JsonObject:
        line = await self._peer.read_line(seconds=SECONDS)
        frame: JsonObject = msgspec.json.decode(line)
        self.frames.append(("client", frame))
        if "method" in frame and "id" in frame:
            await self._send({"jsonrpc": "2.0", "id": frame["id"], "result": _consent(frame)})
        return frame

    async def _send(self, frame: JsonObject) -> None:
        self.frames.append(("agent", frame))
        await self._peer.send(frame)


def subagent_answer(request: ModelRequest) -> ModelTurn:
    """Starts an agent at the mark, which says the word; then the turn is done."""
    marked = next((m for m in reversed(request.messages) if "[interop:delegate]" in m.text), None)
    starter = next((name for name in STARTERS if name in request.tools), None)
    if marked is None or starter is None:
        return answer(request)
    if any(message.calls for message in request.messages):
        return turn("Done.")
    known: Mapping[str, Json] = {
        "description": "Say the word",
        "prompt": mark("say"),
        "message": mark("say"),
        "subagent_type": "general-purpose",
    }
    properties = request.tools[starter].parameters.get("properties")
    names = properties if isinstance(properties, dict) else {}
    return turn(CallStep(starter, {name: value for name, value in known.items() if name in names}))


async def record(name: str, scene: str, *, version: int) -> list[tuple[str, JsonObject]]:
    """Let the agent play the scene; returns its frames."""
    row = load_catalogue().choose([name]).agent[0]
    programs = await asyncio.to_thread(install, row, INSTALLED)
    script = answer if scene == "steering" else subagent_answer
    with tempfile.TemporaryDirectory() as folder:
        async with scripted_model(script, strict=False) as model:
            stage = MatrixStage(row, programs=programs, folder=Path(folder), model=model)
            async with RawPeer(stage.command, cwd=stage.work, env=stage.env) as peer:
                client = RawClient(peer)
                session = await _open(client, stage, version=version)
                await _play(client, scene, stage, session, version=version)
        replaced = {str(stage.work): "/project", folder: "/home/ann", str(INSTALLED): "/opt"}
        replaced |= {KEY: "sk-scripted", model.url: "http://model"}
        return [(to, _small(frame, replaced)) for to, frame in client.frames]


async def _open(client: RawClient, stage: MatrixStage, *, version: int) -> str:
    info = {"name": "recorder", "version": "1"}
    capabilities: JsonObject = {"subagents": {}}
    if version == 2:
        params: JsonObject = {"protocolVersion": 2, "info": info, "capabilities": capabilities}
    else:
        params = {"protocolVersion": 1, "clientInfo": info, "clientCapabilities": capabilities}
    await client.call("initialize", params)
    opened = await client.call("session/new", {"cwd": str(stage.work), "mcpServers": []})
    return str(opened["sessionId"])


async def _play(client: RawClient, scene: str, stage: MatrixStage, session: str, *, version: int) -> None:
    text = mark("hold", "steer") if scene == "steering" else mark("delegate")
    prompt = await client.send_request("session/prompt", _prompt(session, text))
    if scene == "steering":
        async with asyncio.timeout(SECONDS):
            await stage.model.wait_for_hold("steer")
        await client.send_request("_session/steering", _prompt(session, mark("say")))
        stage.model.release("steer")
    if version == 2:
        await client.wait_for_idle(session)
    else:
        await client.wait_for_answer(prompt)


def _prompt(session: str, text: str) -> JsonObject:
    return {"sessionId": session, "prompt": [{"type": "text", "text": text}]}


def _consent(frame: JsonObject) -> Json:
    """Yes to every permission, nothing to every other question."""
    options = frame.get("params", {}).get("options", [])
    chosen = next((o["optionId"] for o in options if o.get("kind") == "allow_once"), None)
    return {"outcome": {"outcome": "selected", "optionId": chosen}} if chosen else {}


def _small(value: Json, replaced: Mapping[str, str]) -> Json:
    if isinstance(value, dict):
        return {key: _small(part, replaced) for key, part in value.items()}
    if isinstance(value, list):
        return [_small(part, replaced) for part in value[:LIST_LIMIT]]
    if not isinstance(value, str):
        return value
    for text, name in replaced.items():
        value = value.replace(text, name)
    value = re.sub(r"/tmp/[\w./-]+", "/tmp/file", value)
    return value if len(value) <= TEXT_LIMIT else f"{value[:TEXT_LIMIT]}…"


def main() -> int:
    """Run the command; returns its exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.interop.matrix.record")
    parser.add_argument("name")
    parser.add_argument("scene", choices=["steering", "subagent"])
    parser.add_argument("file", type=Path)
    parser.add_argument("--version", type=int, choices=[1, 2], default=1)
    options = parser.parse_args()
    frames = asyncio.run(record(options.name, options.scene, version=options.version))
    row = load_catalogue().choose([options.name]).agent[0]
    story = f"{row.title} {row.version} on a scripted model: {options.scene}"
    about: JsonObject = {"about": story, "version": options.version}
    lines = [about, *({"to": to, "frame": frame} for to, frame in frames)]
    options.file.write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines))
    return 0


if __name__ == "__main__":
    sys.exit(main())
