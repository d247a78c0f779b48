"""The meaning of a recording, as lines that are equal for two recordings of the same conversation.

Times, ids, order between independent sessions and how a text was cut into pieces mean nothing. Sessions,
tool calls and terminals are named by their order, the working folder by `$CWD`. What was said, what was asked
and decided, what became of each tool call, which files were written and how each turn ended is what counts.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable

import msgspec
from msgspec import Struct

from dragoman.wire.decode import read_value
from dragoman.wire.envelope import Json, JsonObject, as_object, id_key
from dragoman_local.journal.contract import Entry

_SETUP = {"session/new": "new session", "session/load": "load session", "session/resume": "resume session"}
_KEPT = ("title", "kind", "status", "name", "locations", "content", "rawInput", "rawOutput")


class LineDifference(Struct, frozen=True):
    """Lines that only one of two recordings has, with their context."""

    line: str
    side: str
    """`-` for the first recording, `+` for the second."""


def compare(first: Iterable[Entry], second: Iterable[Entry]) -> list[LineDifference]:
    """Compare two recordings; return no lines if both mean the same."""
    diff_lines = difflib.ndiff(meaning(first), meaning(second))
    return [LineDifference(line[2:], line[0]) for line in diff_lines if line[0] in "-+"]


def meaning(entries: Iterable[Entry]) -> list[str]:
    """Return the lines of all sessions, one session after the other."""
    text = _ConversationText()
    for entry in entries:
        if entry.direction != "note":
            text.entry(entry.direction == "to_agent", read_value(entry.frame))
    return text.lines()


class _Session:
    def __init__(self, name: str, folders: list[str]) -> None:
        self.name = name
        self._folders = folders
        self.lines: list[str] = []
        self._stream = ""
        self._pieces: list[str] = []
        self._calls: dict[str, JsonObject] = {}
        self._names: dict[str, str] = {}

    def say(self, line: str) -> None:
        self.flush()
        self.lines.append(self.plain(line))

    def piece(self, stream: str, text: str) -> None:
        if stream != self._stream:
            self.flush()
            self._stream = stream
        self._pieces.append(text)

    def flush(self) -> None:
        text = "".join(self._pieces)
        if text.strip():
            self.lines.append(self.plain(f"{self._stream}: {text.strip()}"))
        self._stream, self._pieces = "", []

    def call(self, update: JsonObject) -> None:
        self.flush()
        key = str(update.get("toolCallId"))
        if key not in self._calls:
            self._calls[key] = {}
            self._names[key] = f"call {len(self._calls)}"
            self.lines.append(f"tool {self._names[key]}")
        fields = self._calls[key]
        fields.update({name: update[name] for name in _KEPT if update.get(name) is not None})

    def name_of(self, call_id: object) -> str:
        return self._names.get(str(call_id), "a call")

    def finish(self) -> None:
        """Put the outcome of tool calls at their beginning."""
        self.flush()
        for key, fields in self._calls.items():
            at = self.lines.index(f"tool {self._names[key]}")
            details = [f"  {name}: {_flat(fields[name])}" for name in _KEPT if name in fields]
            self.lines[at + 1 : at + 1] = [self.plain(line) for line in details]
        self._calls.clear()

    def plain(self, line: str) -> str:
        for folder in self._folders:
            line = line.replace(folder, "$CWD")
        return line


class _ConversationText:
    def __init__(self) -> None:
        self._sessions: dict[str, _Session] = {}
        self._requests: dict[tuple[bool, Json], tuple[str, JsonObject]] = {}
        self._folders: list[str] = []
        self._general = _Session("connection", self._folders)

    def lines(self) -> list[str]:
        lines: list[str] = []
        for session in (self._general, *self._sessions.values()):
            session.finish()
            if session.lines:
                lines += [f"# {session.name}", *session.lines]
        return lines

    def entry(self, by_client: bool, message: object) -> None:
        if not isinstance(message, dict):
            self._general.say(f"{_who(by_client)} said something that is not a message")
            return
        method, params = message.get("method"), as_object(message.get("params"))
        if not isinstance(method, str):
            self._add_answer(by_client, message)
            return
        if "id" in message:
            self._requests[by_client, id_key(message["id"])] = (method, params)
        cwd = params.get("cwd")
        if method in _SETUP and isinstance(cwd, str) and len(cwd) > 1 and cwd not in self._folders:
            self._folders.append(cwd)
        self._on_notification(by_client, method, params)

    def _on_notification(self, by_client: bool, method: str, params: JsonObject) -> None:
        session = self._session(params)
        if method == "session/update":
            self._add_update(session, as_object(params.get("update")))
        elif method == "session/prompt":
            session.say(f"prompt: {_blocks(params.get('prompt'))}")
        elif method == "session/cancel":
            session.say("cancel")
        elif method == "session/request_permission":
            call = as_object(params.get("toolCall"))
            session.say(f"permission asked: {call.get('title') or session.name_of(call.get('toolCallId'))}")
        elif method == "fs/write_text_file":
            session.say(f"write {params.get('path')}: {params.get('content')}")
        elif method in ("fs/read_text_file", "terminal/create"):
            rest = {name: value for name, value in params.items() if name not in ("sessionId", "_meta")}
            session.say(f"{method} {_flat(rest)}")
        elif method.startswith("_"):
            session.say(f"{_who(by_client)}: {method}")

    def _add_update(self, session: _Session, update: JsonObject) -> None:
        kind, content = str(update.get("sessionUpdate")), as_object(update.get("content"))
        if kind.endswith("_chunk"):
            text = content.get("text")
            session.piece(
                kind.removesuffix("_chunk"), text if isinstance(text, str) else f" [{content.get('type')}] "
            )
        elif kind in ("tool_call", "tool_call_update"):
            session.call(update)
        elif kind == "plan":
            entries = [as_object(item) for item in update.get("entries") or ()]
            session.say(
                "plan: " + "; ".join(f"{entry.get('content')} ({entry.get('status')})" for entry in entries)
            )
        elif kind == "current_mode_update":
            session.say(f"mode: {update.get('currentModeId')}")

    def _add_answer(self, by_client: bool, message: JsonObject) -> None:
        request = self._requests.pop((not by_client, id_key(message.get("id"))), None)
        if request is None:
            self._general.say(f"{_who(by_client)} answered nothing")
            return
        method, params = request
        result, error = as_object(message.get("result")), message.get("error")
        if method in _SETUP and not isinstance(error, dict):
            self._begin(method, params, result)
            return
        session = self._session(params)
        if isinstance(error, dict):
            session.say(f"{method}: error {error.get('code')}")
        elif method == "session/prompt":
            session.say(f"turn ended: {result.get('stopReason')}")
        elif method == "session/request_permission":
            outcome = as_object(result.get("outcome"))
            session.say(f"permission: {outcome.get('outcome')} {_option(params, outcome)}".rstrip())
        elif method == "initialize":
            self._general.say(f"initialized with version {result.get('protocolVersion')}")

    def _begin(self, method: str, params: JsonObject, result: JsonObject) -> None:
        key = str(result.get("sessionId") or params.get("sessionId"))
        self._session_of_key(key).say(_SETUP[method])

    def _session(self, params: JsonObject) -> _Session:
        key = params.get("sessionId")
        return self._session_of_key(key) if isinstance(key, str) else self._general

    def _session_of_key(self, key: str) -> _Session:
        if key not in self._sessions:
            self._sessions[key] = _Session(f"session {len(self._sessions) + 1}", self._folders)
        return self._sessions[key]


def _option(params: JsonObject, outcome: JsonObject) -> str:
    """The kind of what was chosen: agents name their options as they like."""
    options = params.get("options")
    for option in options if isinstance(options, list) else ():
        if as_object(option).get("optionId") == outcome.get("optionId"):
            return str(as_object(option).get("kind"))
    return ""


def _blocks(blocks: object) -> str:
    entries = [as_object(block) for block in blocks] if isinstance(blocks, list) else []
    return " ".join(
        str(entry["text"]) if entry.get("type") == "text" and "text" in entry else _flat(entry)
        for entry in entries
    )


def _who(by_client: bool) -> str:
    return "client" if by_client else "agent"


def _flat(value: object) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value, order="sorted").decode()
