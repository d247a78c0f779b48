"""MCP servers of v2 in v1: v1 marks no server that is a process, and wants lists that v2 may leave out.

A type that v1 does not know is never passed on: readers of v1 take what they do not know for a process to
start.
"""

from __future__ import annotations

from dragoman.dialect.message import Json, Object, as_object

_LISTS = {"stdio": ("args", "env"), "http": ("headers",), "acp": ()}


class UnknownTransport(ValueError):
    """A server that v1 has no words for. Its type is told to whoever asked."""

    def __init__(self, kind: Json) -> None:
        super().__init__("an MCP server of a type that version 1 does not know")
        self.kind = kind


def servers(value: Json) -> list[Object]:
    """Raises `UnknownTransport` at the first that v1 cannot hold: a session without it would be another."""
    if value is not None and type(value) is not list:
        raise UnknownTransport(None)
    return [_server(as_object(item)) for item in value or []]


def _server(fields: Object) -> Object:
    kind = fields.get("type")
    if type(kind) is not str or kind not in _LISTS:
        raise UnknownTransport(kind if type(kind) is str else None)
    lists = {name: fields.get(name) or [] for name in _LISTS[kind]}
    server = {name: inner for name, inner in {**fields, **lists}.items() if inner is not None}
    return {name: inner for name, inner in server.items() if name != "type" or kind != "stdio"}
