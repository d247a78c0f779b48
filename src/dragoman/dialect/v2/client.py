"""A v2 client in front of a v1 agent."""

from __future__ import annotations

from dragoman.dialect.edge import Edge


class V2Client(Edge):
    name = "v2"
