"""A small MCP server: answers `initialize`, lists tools and calls them. It does no IO itself.

Requests are answered out of order, as their tools end; a call that the other end cancels is given up and not
answered. What it does not know it refuses, as JSON-RPC wants.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

import msgspec

from dragoman.dialect.message import (
    Json,
    Message,
    Object,
    answer,
    as_list,
    as_object,
    as_text,
    decode,
    encode,
    refusal,
)
from dragoman.errors import ErrorAnswer
from dragoman.runtime.owner import TaskOwner
from dragoman.wire.codes import INTERNAL_ERROR, INVALID_PARAMS, METHOD_NOT_FOUND, NAMES, PARSE_ERROR
from dragoman.wire.decode import UNREADABLE_TEXT

log = logging.getLogger(__name__)

VERSIONS = ("2025-06-18", "2025-03-26", "2024-11-05", "2025-11-25")
"""The supported versions of MCP, which all mean the same here. The first is the answer to other versions."""

AT_ONCE = 32
"""The most simultaneous calls on one connection."""


class ClientToolServer:
    """One MCP connection. `tools` are the client's, `say` sends lines to the other end."""

    def __init__(
        self, tools: tuple[str, ...], ask: Ask, say: Callable[[bytes], None], owner: TaskOwner
    ) -> None:
        self._tools = [name for name in tools if name in TOOLS]
        self._ask = ask
        self._say = say
        self._owner = owner
        self._calls: dict[Any, asyncio.Task[None]] = {}

    def hear(self, line: bytes) -> None:
        message = decode(line)
        if message is None:
            if not _is_json(line):
                self._say(encode(refusal(None, PARSE_ERROR, NAMES[PARSE_ERROR])))
        elif message.is_request:
            self._on_request(message)
        elif message.method == "notifications/cancelled":
            self._on_cancel(as_object(message.params).get("requestId"))

    def close(self) -> None:
        """Cancel the open calls, because the other end is gone."""
        for call in list(self._calls.values()):
            call.cancel()

    def _on_request(self, message: Message) -> None:
        params = as_object(message.params)
        if message.method == "tools/call":
            self._on_call(message, params)
            return
        result = self._answer(str(message.method), params)
        if result is None:
            self._say(encode(refusal(message.id, METHOD_NOT_FOUND, NAMES[METHOD_NOT_FOUND])))
        else:
            self._say(encode(answer(message.id, result)))

    def _answer(self, method: str, params: Object) -> Object | None:
        if method == "initialize":
            version = params.get("protocolVersion")
            return {
                "protocolVersion": version if version in VERSIONS else VERSIONS[0],
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "client", "title": "The client's files and terminals", "version": "1"},
            }
        if method == "tools/list":
            return {"tools": [description(name) for name in self._tools]}
        return {} if method == "ping" else None

    def _on_call(self, message: Message, params: Object) -> None:
        name, arguments = as_text(params.get("name")), as_object(params.get("arguments"))
        if name not in self._tools:
            why = f"{NAMES[INVALID_PARAMS]}: there is no such tool"
            self._say(encode(refusal(message.id, INVALID_PARAMS, why)))
        elif len(self._calls) >= AT_ONCE:
            self._say(encode(refusal(message.id, INTERNAL_ERROR, "too many calls at once")))
        else:
            self._calls[message.id] = self._owner.start(self._call(message, name, arguments))

    async def _call(self, message: Message, name: str, arguments: Object) -> None:
        try:
            missing_argument = missing(name, arguments)
            if missing_argument:
                result = _result(f"The argument {missing_argument!r} is missing.", is_error=True)
            else:
                result = _result(await TOOLS[name](arguments, self._ask))
        except ErrorAnswer as error:
            result = _result(failure(error), is_error=True)
        except Exception:  # a mistake of ours must not leave the agent without an answer
            log.exception("a tool of the client failed")
            result = _result("Internal error", is_error=True)
        finally:
            self._calls.pop(message.id, None)
        self._say(encode(answer(message.id, result)))

    def _on_cancel(self, request_id: Json) -> None:
        call = self._calls.pop(request_id, None) if type(request_id) in (int, str) else None
        if call is not None:
            call.cancel()


def _result(text: str, *, is_error: bool = False) -> Object:
    return {"content": [{"type": "text", "text": text}], "isError": is_error}


def _is_json(line: bytes) -> bool:
    try:
        msgspec.json.decode(line)
    except UNREADABLE_TEXT:
        return False
    return True


# The tools that a client lends: the description of each, and the request to the client when it is called.
#
# A tool knows the client only as `ask`, and its session not at all. The client decides about every call, as
# it would if the agent had asked it directly.

Ask: TypeAlias = Callable[[str, Object], Awaitable[object]]
"""Sends a request to the client, without the session; raises `ErrorAnswer`."""

Tool: TypeAlias = Callable[[Object, Ask], Awaitable[str]]

OUTPUT_LIMIT = 256 * 1024
"""The most bytes of a command's output to keep: models read no more."""


async def read_text_file(arguments: Object, ask: Ask) -> str:
    params: Object = {"path": as_text(arguments.get("path"))}
    for name in ("line", "limit"):
        if type(arguments.get(name)) is int:
            params[name] = arguments[name]
    return as_text(as_object(await ask("fs/read_text_file", params)).get("content"))


async def write_text_file(arguments: Object, ask: Ask) -> str:
    path, content = as_text(arguments.get("path")), as_text(arguments.get("content"))
    await ask("fs/write_text_file", {"path": path, "content": content})
    return f"Wrote {path}"


async def run_command(arguments: Object, ask: Ask) -> str:
    """Run one command in one terminal, which is always released."""
    terminal = as_object(await ask("terminal/create", _command(arguments))).get("terminalId")
    which = {"terminalId": as_text(terminal)}
    try:
        await ask("terminal/wait_for_exit", which)
        return _exit_text(as_object(await ask("terminal/output", which)))
    finally:
        await ask("terminal/release", which)  # this also ends a command that still runs


TOOLS: dict[str, Tool] = {
    "read_text_file": read_text_file,
    "write_text_file": write_text_file,
    "run_command": run_command,
}


def description(name: str) -> Object:
    """Return the tool's entry for `tools/list`."""
    text, required_names, properties = _DESCRIPTIONS[name]
    schema = {"type": "object", "properties": properties, "required": list(required_names)}
    return {"name": name, "description": text, "inputSchema": schema}


def missing(name: str, arguments: Object) -> str:
    """Return the first required argument that is missing."""
    _, required_names, _ = _DESCRIPTIONS[name]
    return next((argument for argument in required_names if type(arguments.get(argument)) is not str), "")


def _command(arguments: Object) -> Object:
    env = as_object(arguments.get("env"))
    params: Object = {
        "command": as_text(arguments.get("command")),
        "args": [arg for arg in as_list(arguments.get("args")) if type(arg) is str],
        "env": [{"name": name, "value": value} for name, value in env.items() if type(value) is str],
        "outputByteLimit": OUTPUT_LIMIT,
    }
    if as_text(arguments.get("cwd")):
        params["cwd"] = arguments["cwd"]
    return params


def _exit_text(output: Object) -> str:
    status = as_object(output.get("exitStatus"))
    ending = f"exit code {status.get('exitCode')}"
    if as_text(status.get("signal")):
        ending = f"ended by signal {status['signal']}"
    cut = "[the beginning is left out]\n" if output.get("truncated") is True else ""
    text = as_text(output.get("output"))
    return f"{cut}{text}{'' if text.endswith(chr(10)) or not text else chr(10)}[{ending}]"


def failure(error: ErrorAnswer) -> str:
    return f"The client refused: {error.message}"


_PATH = {"type": "string", "description": "Absolute path"}
_TEXTS = {"type": "array", "items": {"type": "string"}}
_DESCRIPTIONS: dict[str, tuple[str, tuple[str, ...], Object]] = {
    "read_text_file": (
        "Read a text file as the user's editor sees it, unsaved changes included.",
        ("path",),
        {
            "path": _PATH,
            "line": {"type": "integer", "minimum": 1, "description": "The first line to read"},
            "limit": {"type": "integer", "minimum": 1, "description": "How many lines to read"},
        },
    ),
    "write_text_file": (
        "Write a text file through the user's editor.",
        ("path", "content"),
        {"path": _PATH, "content": {"type": "string"}},
    ),
    "run_command": (
        "Run a program in a terminal of the user's editor and wait for its end.",
        ("command",),
        {
            "command": {"type": "string", "description": "The program"},
            "args": _TEXTS,
            "cwd": _PATH,
            "env": {"type": "object", "additionalProperties": {"type": "string"}},
        },
    ),
}
