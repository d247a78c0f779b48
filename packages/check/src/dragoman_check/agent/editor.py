"""The client's side of a test: files, terminals and answers to questions, as a scene needs them.

Files are on the disk, with unsaved texts above them; only those in the lent folder can be seen. Commands of
terminals really run. What a scene holds back is answered when the scene says so.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from pathlib import Path

from dragoman.errors import SpawnFailed
from dragoman.transport.contract import Grace
from dragoman.transport.process import ChildTransport, spawn
from dragoman.wire.envelope import Json, JsonObject
from dragoman_check.agent.connection import Reply
from dragoman_check.recording import Frame

ASK = "session/request_permission"
READ = "fs/read_text_file"
WRITE = "fs/write_text_file"

EVERYTHING: JsonObject = {
    "fs": {"readTextFile": True, "writeTextFile": True},
    "terminal": True,
    "auth": {"terminal": True},
    "session": {"notices": {}, "compaction": {}, "configOptions": {"boolean": {}}},
    "elicitation": {"form": {}, "url": {}},
}
"""All capabilities of a client."""

REFUSALS = ("reject_once", "cancelled", "unknown option", "unknown outcome", "error")
"""All ways to refuse a permission request."""


class Editor:
    """Answers the agent's requests."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        """The files in it are lent."""
        self.choice = "allow_once"
        """The kind of option that is chosen when permission is asked for, or one of `REFUSALS`."""
        self.form = "accept"
        """The action that answers an elicitation, or `error`."""
        self.unsaved_texts: dict[str, str] = {}
        self.holding: frozenset[str] = frozenset()
        """Methods whose requests are not answered yet."""
        self.held_requests: list[Frame] = []
        self.write_result: Json = {}
        """The result of a write: the schema has an object, a page of the specification null."""
        self.terminals: dict[str, LentTerminal] = {}
        """Those that were not released."""
        self._terminals_made: list[LentTerminal] = []

    def answer(self, frame: Frame, reply: Reply) -> JsonObject | None:
        if frame.method in self.holding:
            self.held_requests.append(frame)
            return None
        return self.answer_now(frame, reply)

    def answer_now(self, frame: Frame, reply: Reply) -> JsonObject | None:
        method, params = frame.method, frame.params
        if method == ASK:
            return self._decide(params)
        if method == READ:
            return self._read(params)
        if method == WRITE:
            return self._write(params)
        if method.startswith("terminal/"):
            return self._terminal(frame, reply)
        if method == "elicitation/create":
            return self._fill(params)
        return _error(-32601, "Method not found")

    def release(self, reply: Reply, session: str = "", *methods: str) -> None:
        """Send delayed answers, of one session or of all, of these methods or of all."""
        mine = [
            frame
            for frame in self.held_requests
            if (not session or frame.params.get("sessionId") == session)
            and (not methods or frame.method in methods)
        ]
        self.held_requests = [frame for frame in self.held_requests if frame not in mine]
        for frame in mine:
            answer = self.answer_now(frame, reply)
            if answer is not None:
                reply(frame, answer)

    async def aclose(self) -> None:
        for terminal in self._terminals_made:
            await terminal.aclose()

    # Permission.

    def _decide(self, params: JsonObject) -> JsonObject:
        if self.choice == "error":
            return _error(-32603, "The dialog has failed")
        if self.choice == "unknown option":
            return _outcome({"outcome": "selected", "optionId": "nobody-offered-this"})
        if self.choice == "unknown outcome":
            return _outcome({"outcome": "_perhaps", "optionId": "allow"})
        options = [option for option in _objects(params.get("options")) if option.get("kind") == self.choice]
        if self.choice == "cancelled" or not options:
            return _outcome({"outcome": "cancelled"})
        return _outcome({"outcome": "selected", "optionId": options[0].get("optionId")})

    # Files.

    def _path(self, params: JsonObject) -> Path | None:
        path = Path(str(params.get("path", "")))
        inside = path.is_absolute() and path.resolve().is_relative_to(self.folder.resolve())
        return path if inside and "\0" not in str(path) else None

    def _read(self, params: JsonObject) -> JsonObject:
        path = self._path(params)
        if path is None or (str(path) not in self.unsaved_texts and not path.is_file()):
            return _error(-32002, "Resource not found")
        text = self.unsaved_texts.get(str(path)) or path.read_text("utf-8", errors="replace")
        lines = text.splitlines(keepends=True)[max(0, _whole(params.get("line"), 1) - 1) :]
        return {"result": {"content": "".join(lines[: _whole(params.get("limit"), len(lines))])}}

    def _write(self, params: JsonObject) -> JsonObject:
        path = self._path(params)
        if path is None:
            return _error(-32002, "Resource not found")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(str(params.get("content", "")), "utf-8")
        except OSError:
            return _error(-32603, "It cannot be written")
        self.unsaved_texts.pop(str(path), None)
        return {"result": self.write_result}

    # Terminals.

    def _terminal(self, frame: Frame, reply: Reply) -> JsonObject | None:
        method, params = frame.method, frame.params
        if method == "terminal/create":
            return self._create(params)
        terminal = self.terminals.get(str(params.get("terminalId")))
        if terminal is None:
            return _error(-32002, "No such terminal")
        if method == "terminal/output":
            return {"result": terminal.output()}
        if method == "terminal/wait_for_exit":
            terminal.when_ended(lambda status: reply(frame, {"result": status}))
            return None
        if method not in ("terminal/kill", "terminal/release"):
            return _error(-32601, "Method not found")
        terminal.kill()
        if method == "terminal/release":
            del self.terminals[str(params.get("terminalId"))]
        return {"result": {}}

    def _create(self, params: JsonObject) -> JsonObject:
        terminal = open_terminal(params, str(self.folder))
        if terminal is None:
            return _error(-32603, "The command cannot be started")
        self._terminals_made.append(terminal)
        name = f"terminal-{len(self._terminals_made)}"
        self.terminals[name] = terminal
        return {"result": {"terminalId": name}}

    # Elicitation.

    def _fill(self, params: JsonObject) -> JsonObject:
        if self.form == "error":
            return _error(-32603, "The dialog has failed")
        if self.form != "accept":
            return {"result": {"action": self.form}}
        schema = params.get("requestedSchema")
        fields = schema.get("properties") if isinstance(schema, dict) else None
        if params.get("mode") == "url" or not isinstance(fields, dict):
            return {"result": {"action": "accept"}}
        content = {name: _value(field) for name, field in fields.items() if isinstance(field, dict)}
        return {"result": {"action": "accept", "content": content}}


def _value(field: JsonObject) -> Json:
    """Something that fits a field of a form."""
    if "default" in field:
        return field["default"]
    choices = field.get("enum") or [choice.get("const") for choice in _objects(field.get("oneOf"))]
    if choices:
        return choices[0]
    least = field.get("minimum", 1)
    return {"boolean": True, "integer": least, "number": least, "array": []}.get(
        str(field.get("type")), "x" * max(1, _whole(field.get("minLength"), 1))
    )


def _objects(value: object) -> list[JsonObject]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _whole(value: object, otherwise: int) -> int:
    return value if type(value) is int else otherwise


def _outcome(outcome: JsonObject) -> JsonObject:
    return {"result": {"outcome": outcome}}


def _error(code: int, message: str) -> JsonObject:
    return {"error": {"code": code, "message": message}}


# Terminals for an agent under examination: its commands really run, in process trees that we own.
#
# A command runs where the agent said, or in the folder that was lent. What is still running when the
# examination of a connection ends is ended with it.

MOST = 1_000_000
"""The most bytes of output to keep of a terminal without a limit."""

SIGNALS = {-2: "SIGINT", -9: "SIGKILL", -15: "SIGTERM"}

OnExit = Callable[[JsonObject], None]


class LentTerminal:
    """One command, its output so far, and how it ended."""

    def __init__(self, params: JsonObject, folder: str) -> None:
        limit = params.get("outputByteLimit")
        self._limit = limit if type(limit) is int and limit >= 0 else MOST
        self._output = bytearray()
        self._is_truncated = False
        self._waiting: list[OnExit] = []
        self._over = asyncio.Event()
        self.status: JsonObject | None = None
        command, args = str(params.get("command", "")), [str(arg) for arg in params.get("args") or ()]
        # A command without arguments may be a whole line, as it is typed.
        words = [command, *args] if args or not command.strip() else ["/bin/sh", "-c", command]
        self._child: ChildTransport = spawn(
            words,
            cwd=str(params.get("cwd") or folder),
            env={**os.environ, **_env(params.get("env"))},
            grace=Grace.steps(0.2),
            on_stderr=self._take,
        )
        self._child.start(self)
        self._closing = asyncio.ensure_future(self._child.close_input())

    # The sink of its output.

    def feed(self, block: bytes) -> None:
        self._take(block)

    def on_oversized(self, size: int) -> None:
        self._is_truncated = True

    def on_end(self, reason: BaseException | None) -> None:
        code = self._child.tree.returncode
        self.status = {
            "exitCode": code if code is not None and code >= 0 else None,
            "signal": None if code is None or code >= 0 else SIGNALS.get(code, str(-code)),
        }
        self._over.set()
        waiting, self._waiting = self._waiting, []
        for tell in waiting:
            tell(self.status)

    # For the editor.

    def when_ended(self, tell: OnExit) -> None:
        if self.status is None:
            self._waiting.append(tell)
        else:
            tell(self.status)

    def output(self) -> JsonObject:
        text = bytes(self._output).decode(errors="ignore")
        result = {"output": text, "truncated": self._is_truncated}
        return result if self.status is None else {**result, "exitStatus": self.status}

    async def wait(self) -> None:
        """Wait until it has ended."""
        await self._over.wait()

    def kill(self) -> None:
        self._child.tree.kill()

    async def aclose(self) -> None:
        self.kill()
        await self._child.aclose()

    def _take(self, block: bytes) -> None:
        self._output += block
        over = len(self._output) - self._limit
        if over > 0:
            self._is_truncated = True
            del self._output[:over]


def open_terminal(params: JsonObject, folder: str) -> LentTerminal | None:
    """Start a command; None if that fails."""
    try:
        return LentTerminal(params, folder)
    except (SpawnFailed, OSError, ValueError):
        return None


def _env(variables: object) -> dict[str, str]:
    pairs = variables if isinstance(variables, list) else []
    return {str(pair["name"]): str(pair.get("value", "")) for pair in pairs if _is_pair(pair)}


def _is_pair(pair: object) -> bool:
    return isinstance(pair, dict) and bool(pair.get("name"))
