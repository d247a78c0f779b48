"""An agent of the thread protocol, written from its document alone: lines of JSON on stdin and stdout.

It keeps threads in memory, one of them from before. What it is told decides what it does: `hello …` is said
back, `read PATH` reads in all four ways, `wait` goes on until threads are listed, `fail` fails.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any

OLD: list[Any] = [
    {"type": "message", "role": "user", "chunks": [{"type": "text", "chunk": "Where do beans grow?"}]},
    {"type": "readFile", "path": "/field/rows.txt", "content": "Two rows, one fence.\n"},
    {
        "type": "message",
        "role": "assistant",
        "chunks": [{"type": "text", "chunk": "Along "}, {"type": "text", "chunk": "the fence."}],
    },
]


class Failed(Exception):
    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.error = {"code": code, "message": message}


class Agent:
    def __init__(self) -> None:
        self.threads: dict[str, list[Any]] = {"th-old": list(OLD)}
        self.asked = 0
        self.is_released = False
        self.methods: dict[str, Callable[[Any], Any]] = {
            "getThreads": self.get_threads,
            "createThread": self.create_thread,
            "openThread": self.open_thread,
            "getThreadEntries": self.get_thread_entries,
            "sendMessage": self.send_message,
        }

    def run(self) -> None:
        while self.step() is not None:
            pass

    def step(self) -> Any:
        """One line, done with if it asks for something. None at the end."""
        line = sys.stdin.readline()
        if not line:
            return None
        message = json.loads(line)
        if "method" in message:
            self.answer(message)
        return message

    def answer(self, message: Any) -> None:
        assert message.keys() == {"id", "method", "params"}, message
        assert type(message["id"]) is int
        method = self.methods.get(message["method"])
        try:
            if method is None:
                raise Failed(-32601, f"Method not found - '{message['method']}'")
            self.write({"id": message["id"], "result": method(message["params"])})
        except Failed as failed:
            self.write({"id": message["id"], "error": failed.error})

    def write(self, message: Any) -> None:
        print(json.dumps(message), flush=True)

    def ask(self, method: str, params: Any) -> Any:
        """Wait for the answer, and answer what comes before it."""
        number = self.asked
        self.asked += 1
        self.write({"id": number, "method": method, "params": params})
        while (message := self.step()) is not None:
            if "method" not in message and message["id"] == number:
                return message["error"] if "error" in message else message["result"]
        sys.exit(0)

    def entries(self, params: Any) -> list[Any]:
        if params["threadId"] not in self.threads:
            raise Failed(-32602, "no such thread")
        return self.threads[params["threadId"]]

    def get_threads(self, params: Any) -> Any:
        self.is_released = True
        when = "2025-06-27T08:15:30Z"
        return {"threads": [{"id": name, "title": f"On {name}", "modifiedAt": when} for name in self.threads]}

    def create_thread(self, params: Any) -> Any:
        name = f"th-{len(self.threads)}"
        self.threads[name] = []
        return {"threadId": name}

    def open_thread(self, params: Any) -> Any:
        self.entries(params)

    def get_thread_entries(self, params: Any) -> Any:
        return {"entries": self.entries(params)}

    def send_message(self, params: Any) -> Any:
        entries = self.entries(params)
        entries.append({"type": "message", **params["message"]})
        text = "".join(chunk["chunk"] for chunk in params["message"]["chunks"])
        order, _, rest = text.partition(" ")
        if order == "fail":
            raise Failed(-32000, "out of water")
        self.obey(params["threadId"], order, rest, text)

    def obey(self, thread: str, order: str, rest: str, text: str) -> None:
        if order == "read":
            self.stream(thread, json.dumps(self.read(thread, rest)))
        elif order == "wait":
            self.is_released = False
            self.stream(thread, "waiting")
            while not self.is_released and self.step() is not None:
                pass
            self.stream(thread, "too late")
        else:
            self.stream(thread, "You said: ")
            self.stream(thread, text)

    def read(self, thread: str, path: str) -> Any:
        folder = path.rpartition("/")[0]
        return {
            "text": self.ask(
                "readTextFile", {"threadId": thread, "path": path, "lineOffset": 1, "lineLimit": 1}
            ),
            "bytes": self.ask("readBinaryFile", {"threadId": thread, "path": path, "byteLimit": 3}),
            "stat": self.ask("stat", {"threadId": thread, "path": folder}),
            "glob": self.ask("globSearch", {"threadId": thread, "pattern": f"{folder}/*.txt"}),
            "outside": self.ask("stat", {"threadId": thread, "path": "/"}),
        }

    def stream(self, thread: str, text: str) -> None:
        chunk = {"type": "text", "chunk": text}
        assert self.ask("streamMessageChunk", {"threadId": thread, "chunk": chunk}) is None
        self.threads[thread].append({"type": "message", "role": "assistant", "chunks": [chunk]})


if __name__ == "__main__":
    Agent().run()
