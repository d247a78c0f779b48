"""MCP servers of v2 in v1, for the requests of a v2 client."""

from __future__ import annotations

from dragoman.dialect.message import Json, Object, as_list, as_object
from dragoman.dialect.v2.to_v1.fields import without


class UnknownTransport(ValueError):
    """A server that v1 has no words for. Its type is told to whoever asked."""

    def __init__(self, kind: Json) -> None:
        super().__init__("an MCP server of a type that version 1 of the protocol does not know")
        self.kind = kind


def servers(value: Json) -> list[Object]:
    """Raises `UnknownTransport` at the first that v1 cannot hold: a session without it would be another."""
    return [_server(as_object(item)) for item in as_list(value)]


def _server(item: Object) -> Object:
    kind = item.get("type")
    if kind == "stdio":
        bare = without(item, "type")
        return {**bare, "args": as_list(item.get("args")), "env": as_list(item.get("env"))}
    if kind == "http":
        return {**item, "headers": as_list(item.get("headers"))}
    if kind == "acp":
        return item
    raise UnknownTransport(kind)
