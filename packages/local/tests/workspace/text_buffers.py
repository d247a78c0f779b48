"""Buffers of an editor, for tests: a dictionary."""

from __future__ import annotations


class TextBuffers:
    """The simplest buffers: a dictionary."""

    def __init__(self) -> None:
        self.texts: dict[str, str] = {}

    def get(self, path: str) -> str | None:
        return self.texts.get(path)

    def set(self, path: str, text: str) -> None:
        self.texts[path] = text
