"""MCP servers from a JSON file, in the format of editors.

Taken are `{"mcpServers": {name: …}}` (most editors), `{"servers": …}`, `{"context_servers": …}`, the bare
table of names, and a list in the protocol's own form. Values of variables and headers are secrets: no text
that is made here holds one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NoReturn

import msgspec

from dragoman.schema import v1
from dragoman_app.apps.console import UsageMistake
from dragoman_app.apps.run.prompt import read_text

_TABLES = ("mcpServers", "servers", "context_servers")


def read_mcp(path: str) -> list[v1.McpServer]:
    """Read the servers of one file; raises `UsageMistake`."""
    try:
        document = msgspec.json.decode(read_text(path, "the MCP file"))
    except msgspec.DecodeError as error:
        raise UsageMistake(f"{path!r} is not valid JSON: {error}", "fix the file") from None
    return [_server(path, name, entry) for name, entry in _entries(path, document) if not _is_off(entry)]


def _entries(path: str, document: object) -> list[tuple[Any, Any]]:
    if isinstance(document, list):
        return [(entry.get("name") if isinstance(entry, Mapping) else None, entry) for entry in document]
    if isinstance(document, Mapping):
        table = next((document[name] for name in _TABLES if name in document), document)
        if isinstance(table, Mapping):
            return list(table.items())
    raise _mistake(path, "has no table of servers")


def _is_off(entry: object) -> bool:
    return isinstance(entry, Mapping) and (entry.get("disabled") is True or entry.get("enabled") is False)


def _server(path: str, name: object, entry: object) -> v1.McpServer:
    if not isinstance(name, str) or not isinstance(entry, Mapping):
        _refuse(path, "has a server that is not a table with a name")
    kind = entry.get("type") or ("http" if "url" in entry else "stdio")
    if kind in ("http", "streamable-http", "streamableHttp", "sse"):
        url = entry.get("url")
        if not isinstance(url, str):
            _refuse(path, f"gives the server {name!r} no url")
        headers = [
            v1.HttpHeader(name=key, value=value) for key, value in _pairs(path, name, entry, "headers")
        ]
        if kind == "sse":
            return v1.McpServerSse(name=name, url=url, headers=headers)
        return v1.McpServerHttp(name=name, url=url, headers=headers)
    if kind != "stdio":
        _refuse(path, f"gives the server {name!r} a type that is not known")
    command: Any = entry.get("command")
    if isinstance(command, Mapping):  # Zed's older form
        entry, command = command, command.get("path")
    args = entry.get("args") or []
    if (
        not isinstance(command, str)
        or not isinstance(args, list)
        or not all(isinstance(a, str) for a in args)
    ):
        _refuse(path, f"gives the server {name!r} no command with a list of arguments")
    env = [v1.EnvVariable(name=key, value=value) for key, value in _pairs(path, name, entry, "env")]
    return v1.McpServerStdio(name=name, command=command, args=args, env=env)


def _pairs(path: str, name: str, entry: Mapping[str, object], field: str) -> list[tuple[str, str]]:
    """A table of texts, or a list of `{name, value}`."""
    table: Any = entry.get(field) or {}
    if isinstance(table, list):
        table = {item.get("name"): item.get("value") for item in table if isinstance(item, Mapping)}
    if not isinstance(table, Mapping):
        _refuse(path, f"gives the server {name!r} a field {field} that is not a table")
    if not all(isinstance(key, str) and isinstance(value, str) for key, value in table.items()):
        _refuse(path, f"gives the server {name!r} a value in {field} that is not text")
    return list(table.items())


def _refuse(path: str, why: str) -> NoReturn:
    raise _mistake(path, why)


def _mistake(path: str, why: str) -> UsageMistake:
    return UsageMistake(f"{path!r} {why}", 'write it as editors do: {"mcpServers": {"name": {"command": …}}}')
