"""Records the demo of the site: a real hub with real agents, and all that it tells a client, with times.

    .venv/bin/python tools/docsite/record_demo.py      # writes web/demo/recording.json

A recording is one JSON object: `start` in seconds since 1970, how many `seconds` it lasts, the hub's answer
to `initialize`, and `steps`, each with the second `at` which the hub said the `message`. What a page asks for
is recorded when it may have changed, as messages of our own: `_demo/snapshot` and `_demo/changes` with the
hub's `result`, and `_demo/view` with what a guide would look at next. The folder of the recording becomes
`/home/ann`.
"""

from __future__ import annotations

import asyncio
import json
import math
import os
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import websockets

from dragoman_hub.gate.grants_store import TokenStore
from dragoman_review.rule_links import rules_page

HERE = Path(__file__).parent
TARGET = HERE.parents[1] / "packages/hub/web/demo" / "recording.json"
HOME = "/home/ann"
SITE = "https://dragoman.example/"
"""Stands for the address of the site in the recording; the demo puts its own in that place."""
SCRATCH = os.path.realpath(tempfile.gettempdir())
PATIENCE = 60.0
"""Seconds that anything may take."""

PARSER = '''"""Cuts texts."""


def split(text, at):
    left = text[:at]
    right = text[at + 1:]
    return left, right
'''
TESTS = "from parser import split\n\n\ndef test_split():\n    assert split('abc', 1) == ('a', 'bc')\n"
FETCH = """import pickle
import subprocess

import requests

API_KEY = "sk-live-EXAMPLEEXAMPLEEXAMPLE00"


def fetch(url, seen=[]):
    seen.append(url)
    data = requests.get(url, verify=False).content
    return pickle.loads(data)


def clone(name):
    subprocess.run("git clone " + name, shell=True)
"""


class HubRecorder:
    """A client of a hub that writes down what it is told."""

    def __init__(self, socket: websockets.ClientConnection) -> None:
        self._socket = socket
        self._calls: dict[int, asyncio.Future[Any]] = {}
        self._news = asyncio.Condition()
        self._start = time.time()
        self.steps: list[dict[str, Any]] = []

    async def listen(self) -> None:
        """Read until the connection ends."""
        async for text in self._socket:
            message = json.loads(text)
            async with self._news:
                if "method" in message:
                    self.note(message)
                elif (call := self._calls.pop(message["id"], None)) is not None:
                    call.set_result(message)
                self._news.notify_all()

    def note(self, message: dict[str, Any]) -> None:
        """Add a step, now."""
        message = {name: value for name, value in message.items() if name != "jsonrpc"}
        self.steps.append({"at": round(time.time() - self._start, 3), "message": message})

    async def call(self, method: str, params: dict[str, Any]) -> Any:
        """The result of a request; an error raises."""
        number = len(self._calls) + int(time.monotonic() * 1_000_000)
        call = self._calls[number] = asyncio.get_running_loop().create_future()
        await self._socket.send(
            json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        )
        answer = await asyncio.wait_for(call, PATIENCE)
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']['message']}")
        return answer["result"]

    async def until(self, method: str, **params: Any) -> dict[str, Any]:
        """The params of a message that has come or will come, with these members."""

        def match() -> dict[str, Any] | None:
            for step in self.steps:
                said = step["message"].get("params", {})
                if step["message"]["method"] == method and params.items() <= said.items():
                    return dict(said)
            return None

        async with asyncio.timeout(PATIENCE), self._news:
            await self._news.wait_for(lambda: match() is not None)
        return match() or {}

    def look(self, hash_: str) -> None:
        """Say what a guide would look at from now on."""
        self.note({"method": "_demo/view", "params": {"hash": hash_}})

    async def read(self, session_id: str) -> None:
        """Record what a page would ask about a session."""
        params = {"sessionId": session_id}
        snapshot = await self.call("_dragoman/hub/attach", {**params, "after": "end"})
        self.note({"method": "_demo/snapshot", "params": {**params, "result": snapshot}})
        changes = await self.call("_dragoman/hub/changes", params)
        self.note({"method": "_demo/changes", "params": {**params, "result": changes}})

    async def open_session(self, agent: str, folder: Path, title: str) -> str:
        params = {"cwd": str(folder), "mcpServers": [], "_meta": {"dragoman": {"agent": agent}}}
        session_id = str((await self.call("session/new", params))["sessionId"])
        await self.call("session/set_title", {"sessionId": session_id, "title": title})
        await self.read(session_id)
        return session_id

    async def prompt(self, session_id: str, text: str) -> None:
        """A whole turn, and what it changed."""
        params = {"sessionId": session_id, "prompt": [{"type": "text", "text": text}]}
        try:
            await self.call("session/prompt", params)
        except RuntimeError:
            pass  # a turn that fails is part of the story
        await self.read(session_id)


async def tell_story(recorder: HubRecorder, home: Path) -> None:
    """What happens in the recording, from beginning to end."""
    recorder.look("#/")
    await asyncio.sleep(1)
    fixing = await recorder.open_session("fixer", home / "parser", "The test of split fails")
    recorder.look(f"#/s/{fixing}")
    await asyncio.sleep(0.8)
    fixed = asyncio.create_task(recorder.prompt(fixing, "The test of split fails. Find out why, and fix it."))
    await recorder.until("_dragoman/hub/event", sessionId=fixing, event="asked")
    await asyncio.sleep(2.5)
    reviewing = await recorder.open_session("review", home / "fetcher", "Review of the fetcher")
    recorder.look(f"#/s/{reviewing}")
    await recorder.prompt(reviewing, "review fetch.py")
    await asyncio.sleep(3)
    deploying = await recorder.open_session("fixer", home / "parser", "Deploy version 1.1")
    failed = asyncio.create_task(recorder.prompt(deploying, "Please deploy version 1.1."))
    recorder.look("#/board")
    await failed
    await asyncio.sleep(2.5)
    recorder.look("#/")
    await asyncio.sleep(3)
    waiting = await recorder.call("_dragoman/hub/inbox", {})
    request = waiting["requests"][0]
    reject = next(option for option in request["params"]["options"] if option["kind"] == "reject_once")
    result = {"outcome": {"outcome": "selected", "optionId": reject["optionId"]}}
    await recorder.call(
        "_dragoman/hub/answer", {"sessionId": fixing, "request": request["request"], "result": result}
    )
    recorder.look(f"#/s/{fixing}")
    await fixed
    await asyncio.sleep(3)
    recorder.look("#/board")
    await asyncio.sleep(2)


@asynccontextmanager
async def running_hub(home: Path) -> AsyncIterator[tuple[str, str]]:
    """A hub with its own folders: the address of its endpoint, and a token."""
    program = [sys.executable, "-m", "dragoman"]
    (home / "hub.toml").write_text(
        f'journal = "{home}/hub.db"\nknown_agents = false\ndefault_agent = "fixer"\n'
        f"[agents.fixer]\ncommand = {json.dumps([*program, 'agent', 'script', str(HERE / 'demo.script')])}\n"
        'title = "Fixer"\ndescription = "A scripted agent"\n'
        f"[agents.review]\ncommand = {json.dumps([*program, 'agent', 'review'])}\n"
        'title = "Reviewer"\ndescription = "Reviews code, offline"\n'
    )
    token = TokenStore(home / "tokens.json").add("ann")
    folders = {f"XDG_{name}_HOME": str(home / name.lower()) for name in ("DATA", "CONFIG", "STATE", "CACHE")}
    command = [*program, "hub", "--config", str(home / "hub.toml"), "--json", "--listen", "127.0.0.1:0"]
    process = await asyncio.create_subprocess_exec(
        *command,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        env={**os.environ, **folders},
    )
    assert process.stdout is not None
    try:
        page = json.loads(await asyncio.wait_for(process.stdout.readline(), PATIENCE))["page"]
        yield page.partition("#")[0].replace("http://", "ws://") + "acp", token
    finally:
        process.terminate()
        await asyncio.wait_for(process.wait(), PATIENCE)


async def record() -> dict[str, Any]:
    """Run the story, and give the recording."""
    with tempfile.TemporaryDirectory(dir=SCRATCH) as name:
        home = Path(name)
        for path, text in (
            ("parser/parser.py", PARSER),
            ("parser/test_parser.py", TESTS),
            ("fetcher/fetch.py", FETCH),
        ):
            (home / path).parent.mkdir(exist_ok=True)
            (home / path).write_text(text)
        async with running_hub(home) as (address, token):
            headers = {"Authorization": f"Bearer {token}"}
            async with websockets.connect(address, additional_headers=headers, max_size=None) as socket:
                recorder = HubRecorder(socket)
                listening = asyncio.create_task(recorder.listen())
                hub = await recorder.call(
                    "initialize",
                    {
                        "protocolVersion": 1,
                        "clientCapabilities": {"elicitation": {"form": {}, "url": {}}},
                        "_meta": {
                            "dragoman": {
                                "cursors": True,
                                "events": True,
                                "lazy": True,
                                "client": "demo-recorder",
                            }
                        },
                    },
                )
                await recorder.call("_dragoman/hub/watch", {"on": True})
                await tell_story(recorder, home)
                agents = await recorder.call("_dragoman/hub/agents", {})
                listening.cancel()
        steps = recorder.steps
        recording = {
            "recording": 1, "start": round(recorder._start, 3), "seconds": math.ceil(steps[-1]["at"] + 1),
            "hub": hub, "agents": agents["agents"], "steps": steps,
        }  # fmt: skip
        text = json.dumps(recording).replace(str(home), HOME).replace(rules_page(), f"{SITE}review-rules/")
        return dict(json.loads(text))


def main() -> None:
    recording = asyncio.run(record())
    lines = ",\n".join(
        json.dumps(step, ensure_ascii=False, separators=(",", ":")) for step in recording.pop("steps")
    )
    head = json.dumps(recording, ensure_ascii=False, separators=(",", ":"))
    TARGET.write_text(f'{head[:-1]},"steps":[\n{lines}\n]}}\n', "utf-8")
    print(f"{TARGET}: {TARGET.stat().st_size} bytes, {recording['seconds']:.0f} seconds")


if __name__ == "__main__":
    main()
