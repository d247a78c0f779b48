"""A client written from crow's document alone: plain JSON over the pipes of a process, nothing of ours."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from dragoman.testing.pace import patience
from tests.forks import DRAGOMAN

Frame = dict[str, Any]

TRANSLATE = [*DRAGOMAN, "translate"]
AGENT = [sys.executable, "-I", "-S", str(Path(__file__).with_name("agent.py"))]


class Talker:
    """Sends frames, keeps all that come back. What never comes is the business of the test's time limit."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        self.seen: list[Frame] = []
        self._ids = 0

    def send(self, method: str, params: Frame) -> int:
        assert self.process.stdin
        self._ids += 1
        frame = {"jsonrpc": "2.0", "id": self._ids, "method": method, "params": params}
        self.process.stdin.write(json.dumps(frame) + "\n")
        self.process.stdin.flush()
        return self._ids

    def until(self, wanted: Callable[[Frame], bool]) -> Frame:
        assert self.process.stdout
        for line in self.process.stdout:
            frame: Frame = json.loads(line)
            assert frame["jsonrpc"] == "2.0"
            self.seen.append(frame)
            if wanted(frame):
                return frame
        raise AssertionError(f"it ended after {self.seen[-1:]}")

    def answer(self, request_id: int) -> Frame:
        return self.until(lambda frame: frame.get("id") == request_id)

    def ask(self, method: str, params: Frame) -> Frame:
        return self.answer(self.send(method, params))

    def initialize(self) -> Frame:
        info = {"name": "magpie", "version": "0.1"}
        return self.ask("initialize", {"protocol_version": 1, "client_capabilities": {}, "client_info": info})

    def new(self, folder: Path) -> str:
        opened = self.ask("session/new", {"cwd": str(folder), "mcpServers": []})
        session: str = opened["result"]["sessionId"]
        return session

    def begin(self, session: str, text: str) -> int:
        return self.send(
            "session/prompt", {"session_id": session, "prompt": [{"type": "text", "text": text}]}
        )

    def prompt(self, session: str, text: str) -> Frame:
        return self.answer(self.begin(session, text))

    def question(self) -> Frame:
        asked = self.until(lambda frame: _update(frame).get("@type") == "permission_request")
        return _update(asked)

    def choose(self, session: str, question: Frame, option: str) -> Frame:
        chosen = {"session_id": session, "tool_call_id": question["tool_call_id"], "option_id": option}
        return self.ask("permission_response", chosen)

    def updates(self, kind: str | None = None, since: int = 0) -> list[Frame]:
        found = [_update(frame) for frame in self.seen[since:] if frame.get("method") == "session/update"]
        return found if kind is None else [update for update in found if update["@type"] == kind]

    def text(self, since: int = 0) -> str:
        return "".join(update["text"] for update in self.updates("agent_message_text", since))


def _update(frame: Frame) -> Frame:
    update: Frame = frame.get("params", {}).get("update", {}) if "method" in frame else {}
    return update


@contextmanager
def talking(command: list[str], env: Mapping[str, str] | None = None) -> Iterator[Talker]:
    """A client that talks to this command, which must end well when it leaves."""
    process = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=env,
        cwd=Path(__file__).parents[5],
    )
    with process:
        try:
            yield Talker(process)
            assert process.stdin
            process.stdin.close()
            assert process.wait(patience(20)) == 0
        finally:
            process.kill()
