"""Unsaved text: where an editor plugs in what it holds and the disk does not have yet.

The protocol says that a client's reads include unsaved changes. A workspace asks its buffers first, with a
path that is already known to lie within the roots of the session, from the thread of the event loop.
"""

from __future__ import annotations

from typing import Protocol


class Buffers(Protocol):
    """What an editor implements."""

    def get(self, path: str) -> str | None:
        """The text of the file if it is open here; None sends the workspace to the disk.

        Asked by the path as the agent wrote it and, if that is not open, by the path with its links resolved.
        """
        ...

    def set(self, path: str, text: str) -> None:
        """The agent writes a file for which `get` gave a text. Saving it is the editor's business; an
        `ErrorAnswer` from here refuses the write.
        """
        ...


class TextBuffers:
    """The simplest buffers: a dictionary."""

    def __init__(self) -> None:
        self.texts: dict[str, str] = {}

    def get(self, path: str) -> str | None:
        return self.texts.get(path)

    def set(self, path: str, text: str) -> None:
        self.texts[path] = text
