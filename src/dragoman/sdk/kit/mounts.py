"""The MCP servers that a client gave a session."""

from __future__ import annotations

from typing import Any


class MountedTool:
    """To be written."""


class Mounts:
    """To be written."""

    def __init__(self, session: Any) -> None:
        self.session = session

    async def aclose(self) -> None:
        return None
