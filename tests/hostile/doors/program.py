"""A program of ours that speaks JSON lines on its standard streams, as editors and assistants start it."""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from dragoman.testing.pace import patience
from tests.forks import forked

WAIT = 20.0


def environment(folder: Path, **more: str) -> dict[str, str]:
    """Of a person whose files lie in this folder."""
    ours = {name: value for name, value in os.environ.items() if "DRAGOMAN" not in name}
    places = {f"XDG_{name.upper()}_HOME": str(folder / name) for name in ("config", "state", "data", "cache")}
    return {**ours, **places, "HOME": str(folder / "home"), **more}


class Program:
    def __init__(self, process: subprocess.Popen[str], answer: Callable[[dict[str, Any]], object]) -> None:
        self.process = process
        self.heard: list[dict[str, Any]] = []
        self._answer = answer
        self._last_id = 100
        self._lines: queue.Queue[str] = queue.Queue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._lines.put(line)
        self._lines.put("")

    def send_text(self, text: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(text + "\n")
        self.process.stdin.flush()

    def send(self, frame: object) -> None:
        self.send_text(json.dumps(frame))

    def call(self, method: str, params: object) -> dict[str, Any]:
        self._last_id += 1
        self.send({"jsonrpc": "2.0", "id": self._last_id, "method": method, "params": params})
        return self.answer_to(self._last_id)

    def answer_to(self, number: int | str) -> dict[str, Any]:
        while True:
            message = self.hear()
            if not message or ("method" not in message and message.get("id") == number):
                return message

    def hear(self) -> dict[str, Any]:
        """The next message, whose request is answered; empty at the end."""
        line = self._lines.get(timeout=patience(WAIT))
        if not line:
            return {}
        messages = read_line(line)
        for message in messages:
            self.heard.append(message)
            if "method" in message and message.get("id") is not None:
                self.send({"jsonrpc": "2.0", "id": message["id"], **outcome(self._answer(message))})
        return messages[-1] if messages else {"method": "nothing"}

    def prompt(self, session: str, steps: Sequence[dict[str, Any]]) -> dict[str, Any]:
        block = {"type": "text", "text": json.dumps(list(steps))}
        return self.call("session/prompt", {"sessionId": session, "prompt": [block]})


def read_line(line: str) -> list[dict[str, Any]]:
    """The messages in a line, as a client reads them that is lenient: batches, several values, and a mark of
    byte order are taken.
    """
    rest, messages = line.strip("\ufeff \t\r\n"), []
    while rest:
        value, end = json.JSONDecoder().raw_decode(rest)
        messages += [one for one in (value if isinstance(value, list) else [value]) if isinstance(one, dict)]
        rest = rest[end:].strip("\ufeff \t\r\n")
    return messages


def outcome(result: object) -> dict[str, object]:
    if result is None:
        return {"error": {"code": -32601, "message": "unknown"}}
    return {"result": result}


@contextmanager
def started(
    words: Sequence[str],
    *,
    env: Mapping[str, str],
    cwd: Path,
    answer: Callable[[dict[str, Any]], object] = lambda _: None,
) -> Iterator[Program]:
    """`answer` gives the result of a request, or None if there is no such method."""
    command = forked([sys.executable, "-m", "dragoman", *words])
    with (cwd / "stderr").open("w") as errors:
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True, env=env, cwd=cwd
        )
    program = Program(process, answer)
    try:
        yield program
    finally:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.close()
        process.wait(patience(WAIT))
        program._reader.join(patience(WAIT))
        process.stdout.close()
