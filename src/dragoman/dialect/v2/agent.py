"""A v2 agent behind a v1 client."""

from __future__ import annotations

from dragoman.dialect.edge import Edge


class V2Agent(Edge):
    name = "v2"
