"""`dragoman translate` with nobody told what anybody speaks: it finds out, says so, and a policy consents."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from dragoman_app.cli import main

# Speaks crow, and refuses an `initialize` that it cannot read. Its words after a question are the answer.
CROW = """
import json, sys

def send(**frame):
    print(json.dumps({"jsonrpc": "2.0", **frame}), flush=True)

def tell(**update):
    send(method="session/update", params={"sessionId": "nest", "update": update})

for line in sys.stdin:
    frame = json.loads(line)
    params, number = frame.get("params", {}), frame.get("id")
    if frame["method"] == "initialize" and "protocol_version" not in params:
        problem = {"errors": [{"loc": ["protocol_version"], "msg": "Field required"}]}
        send(id=number, error={"code": -32602, "message": "Invalid params", "data": problem})
    elif frame["method"] == "initialize":
        send(id=number, result={"protocol_version": 1, "agent_capabilities": {}, "agent_info": {"name": "c"}})
    elif frame["method"] == "session/new":
        send(id=number, result={"sessionId": "nest"})
    elif frame["method"] == "session/prompt":
        prompt = number
        options = [{"id": "approve", "title": "Yes"}, {"id": "reject", "title": "No"}]
        question = {"tool_call_id": "t", "title": "saw", "arguments": "oak", "permission_options": options}
        tell(**{"@type": "permission_request", **question})
    elif frame["method"] == "permission_response":
        send(id=number, result={})
        tell(**{"@type": "agent_message_text", "text": params["option_id"]})
        send(id=prompt, result={"stop_reason": "end_turn"})
"""


class Threads:
    """A client of the thread protocol: bare lines, and every chunk is acknowledged."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self.streamed = ""

    def say(self, frame: Any) -> None:
        assert self._process.stdin
        self._process.stdin.write(json.dumps(frame).encode() + b"\n")

    async def call(self, number: int, method: str, params: Any = None) -> Any:
        self.say({"id": number, "method": method, "params": params})
        assert self._process.stdout
        while True:
            frame = json.loads(await self._process.stdout.readline())
            if frame.get("method") == "streamMessageChunk":
                self.streamed += frame["params"]["chunk"]["chunk"]
                self.say({"id": frame["id"], "result": None})
            elif frame["id"] == number:
                return frame["result"]


@pytest.mark.bound(30)
async def test_two_dialects_are_found_out_and_a_policy_consents_where_nobody_can(tmp_path: Path) -> None:
    policy = tmp_path / "rules.toml"
    policy.write_text('[[rule]]\ndecision = "allow"\nkind = "other"\n')
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "dragoman", "translate", "--policy", str(policy), "--cwd", str(tmp_path)),
        *("--", sys.executable, "-c", CROW),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env={
            "XDG_STATE_HOME": str(tmp_path / "state"),
            "XDG_CONFIG_HOME": str(tmp_path),
            "PATH": "/usr/bin:/bin",
        },
    )
    try:
        client = Threads(process)
        thread = (await client.call(0, "createThread"))["threadId"]
        message = {"role": "user", "chunks": [{"type": "text", "chunk": "go"}]}
        assert await client.call(1, "sendMessage", {"threadId": thread, "message": message}) is None
        assert client.streamed == "approve"
    finally:
        _, complaints = await process.communicate(b"")  # which ends its input
    told = [line.removeprefix("dragoman translate: ") for line in complaints.decode().splitlines()]
    assert [line for line in told if " speaks " in line] == [
        "the client speaks threads: frame 1: no jsonrpc in the envelope (perhaps threads);"
        " frame 1: a method of the thread protocol (perhaps threads)",
        "the agent speaks crow: frame 2: its refusal asks for protocol_version (crow)",
    ]
    (logged,) = (tmp_path / "state" / "dragoman").glob("*audit.jsonl")
    assert '"approve"' in logged.read_text()


def test_a_policy_that_cannot_be_read_is_said_before_anything_is_started(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bad = tmp_path / "bad.toml"
    bad.write_text('[[rule]]\ndecision = "perhaps"\n')
    assert main(["translate", "--policy", str(bad), "--", "/nowhere/agent"]) == 2
    assert "bad.toml" in capsys.readouterr().err
