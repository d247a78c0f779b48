"""`make trace`: the way of one update through `dragoman hub`, file by file.

A hub as it is shipped, an agent on raw lines, and a client over a WebSocket. While one update passes, every
call of a function of ours is noted, in all threads. Printed are the files in the order in which the update
came to them, with the functions that were called there. Linux only.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from types import FrameType
from typing import Any

from websockets.asyncio.client import ClientConnection, connect

ROOT = Path(__file__).resolve().parent.parent
SOURCES = f"{ROOT}/packages/"

CONFIGURATION = """
listen = "127.0.0.1:0"
default_agent = "traced"
[agents.traced]
command = {command}
"""

AGENT = """
import json, sys, time
def send(message):
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)
for line in sys.stdin:
    message = json.loads(line)
    method, results = message.get("method"), {
        "initialize": {"protocolVersion": 1, "agentInfo": {"name": "traced", "version": "1"}},
        "session/new": {"sessionId": "s"},
        "session/prompt": {"stopReason": "end_turn"},
    }
    if method == "session/prompt":
        for text in ("before", "traced", "after"):
            content = {"type": "text", "text": text}
            update = {"sessionUpdate": "agent_message_chunk", "content": content}
            send({"method": "session/update", "params": {"sessionId": "s", "update": update}})
            time.sleep(1)
    if "id" in message and "method" in message:
        send({"id": message["id"], "result": results.get(method, {})})
"""


def run_traced(arguments: list[str]) -> int:
    """The hub, which notes its calls from one SIGUSR1 to the next, and then prints them."""
    calls: dict[str, dict[str, None]] = {}

    def note(frame: FrameType, event: str, argument: object) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(SOURCES):
            file = frame.f_code.co_filename.removeprefix(SOURCES)
            calls.setdefault(file, {})[frame.f_code.co_name] = None

    is_on = False

    def switch(*_: Any) -> None:
        nonlocal is_on
        is_on = not is_on
        if not is_on:
            print(
                json.dumps({file: list(names) for file, names in calls.items()}), file=sys.stderr, flush=True
            )

    def note_if_on(frame: FrameType, event: str, argument: object) -> None:
        if is_on:
            note(frame, event, argument)

    threading.setprofile(note_if_on)
    sys.setprofile(note_if_on)
    signal.signal(signal.SIGUSR1, switch)
    from dragoman_app.cli import main

    return main(arguments)


class Client:
    """Raw messages over a WebSocket."""

    def __init__(self, connection: ClientConnection) -> None:
        self._connection = connection
        self._number = 0

    async def until(self, what: str) -> dict[str, Any]:
        while True:
            message: dict[str, Any] = json.loads(await self._connection.recv())
            if what in json.dumps(message):
                return message

    async def ask(self, method: str, params: dict[str, Any]) -> str:
        """Returns what is in the answer to it."""
        self._number += 1
        message = {"jsonrpc": "2.0", "id": self._number, "method": method, "params": params}
        await self._connection.send(json.dumps(message))
        return f'"id": {self._number}'


def start_hub(folder: Path) -> subprocess.Popen[bytes]:
    (folder / "agent.py").write_text(AGENT)
    settings = folder / "hub.toml"
    settings.write_text(CONFIGURATION.format(command=json.dumps([sys.executable, str(folder / "agent.py")])))
    places = {f"XDG_{name}_HOME": str(folder) for name in ("DATA", "CONFIG", "STATE", "CACHE")}
    command = [sys.executable, __file__, "hub", "--json", "--config", str(settings)]
    with (folder / "log").open("wb") as log:
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, env={**os.environ, **places})


async def converse(hub: subprocess.Popen[bytes], folder: Path) -> None:
    assert hub.stdout is not None
    said = json.loads(await asyncio.to_thread(hub.stdout.readline))
    headers = {"authorization": f"Bearer {said['token']}"}
    async with connect(said["acp"], additional_headers=headers) as connection:
        client = Client(connection)
        await client.until(await client.ask("initialize", {"protocolVersion": 1, "clientCapabilities": {}}))
        answer = await client.until(await client.ask("session/new", {"cwd": str(folder), "mcpServers": []}))
        session = answer["result"]["sessionId"]
        prompt = [{"type": "text", "text": "go"}]
        end = await client.ask("session/prompt", {"sessionId": session, "prompt": prompt})
        await client.until('"before"')
        await asyncio.sleep(0.5)  # the first one is stored by then
        hub.send_signal(signal.SIGUSR1)
        await client.until('"traced"')
        await asyncio.sleep(0.3)
        hub.send_signal(signal.SIGUSR1)
        await client.until(end)


def trace(folder: Path) -> dict[str, list[str]]:
    """By file, in the order of the first visit: the functions that one update came through."""
    with start_hub(folder) as hub:
        try:
            asyncio.run(converse(hub, folder))
        finally:
            hub.terminate()
    told = [line for line in (folder / "log").read_text().splitlines() if line.startswith("{")]
    found: dict[str, list[str]] = json.loads(told[-1])
    return found


def main() -> None:
    if sys.argv[1:2] == ["hub"]:
        raise SystemExit(run_traced(sys.argv[1:]))
    with tempfile.TemporaryDirectory() as folder:
        found = trace(Path(folder))
    for file, names in found.items():
        print(f"{file}: {', '.join(names)}")
    print(f"{len(found)} files")


if __name__ == "__main__":
    main()
