"""The tools that a client lends: the description of each, and the request to the client when it is called.

A tool knows the client only as `ask`, and its session not at all. The client decides about every call, as it
would if the agent had asked it directly.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeAlias

from dragoman.dialect.message import Object, as_list, as_object, as_text
from dragoman.errors import ErrorAnswer

Ask: TypeAlias = Callable[[str, Object], Awaitable[object]]
"""A request to the client, without the session; raises `ErrorAnswer`."""

Tool: TypeAlias = Callable[[Object, Ask], Awaitable[str]]

OUTPUT_LIMIT = 256 * 1024
"""Bytes of a command's output that are kept: models read no more."""


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
    """Run one command in one terminal, which is released however the call ends."""
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
    """The tool's entry for `tools/list`."""
    text, required_names, properties = _DESCRIPTIONS[name]
    schema = {"type": "object", "properties": properties, "required": list(required_names)}
    return {"name": name, "description": text, "inputSchema": schema}


def missing(name: str, arguments: Object) -> str:
    """The first argument that the tool needs and did not get."""
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
