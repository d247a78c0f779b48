"""Creates and opens sessions: translates the v1 client's requests, and the v2 agent's answers."""

from __future__ import annotations

from dragoman.dialect.message import Json, Object, as_list, as_object, without
from dragoman.dialect.v2.to_v1.fields import LossReporter, fits


class SetupRefused(Exception):
    """The client requests something that the agent can't have. The text is for the client."""


OPENING = {
    "session/new": "session/new",
    "session/load": "session/resume",
    "session/resume": "session/resume",
    "session/fork": "session/fork",
}
"""The methods that open a session, and what they are in v2."""

RENAMED = {"authenticate": "auth/login", "logout": "auth/logout"}

REPLAY_ALL: Object = {"type": "start"}


def opening(method: str, params: Object, *, stdio: bool, report: LossReporter) -> Object:
    """Params of a request that opens a session. Raises `SetupRefused`."""
    v2_params = {**params, "mcpServers": servers(params.get("mcpServers"), stdio=stdio, report=report)}
    if v2_params.get("additionalDirectories") is None:
        v2_params = without(v2_params, "additionalDirectories")
    return {**v2_params, "replayFrom": REPLAY_ALL} if method == "session/load" else v2_params


def servers(value: Json, *, stdio: bool, report: LossReporter) -> list[Object]:
    """MCP servers of v1 in v2, where each names its type."""
    servers = [_server(as_object(item), report) for item in as_list(value)]
    if not stdio and any(server["type"] == "stdio" for server in servers):
        report.note_loss("an MCP server that the agent should start", "refused: the agent starts none")
        raise SetupRefused("this agent starts no MCP servers of its own: it offers no stdio")
    return servers


def with_server(params: Object, server: Json) -> Object:
    """The same session with an additional MCP server, unless the client has one of that name."""
    there = as_list(params.get("mcpServers"))
    names = [as_object(item).get("name") for item in there]
    entry = as_object(server)
    if not fits(entry.get("command"), str) or entry.get("name") in names:
        return params
    return {**params, "mcpServers": [*there, {"type": "stdio", **entry}]}


def _server(item: Object, report: LossReporter) -> Object:
    kind = item.get("type", "stdio")
    if kind == "sse":
        report.note_loss("an MCP server over SSE", "refused: v2 has no such transport")
        raise SetupRefused("version 2 of the protocol, which this agent speaks, has no MCP servers over SSE")
    if type(kind) is not str:
        raise SetupRefused("an MCP server has a type that is not text")
    return {"type": kind, **{name: value for name, value in item.items() if value is not None}}
