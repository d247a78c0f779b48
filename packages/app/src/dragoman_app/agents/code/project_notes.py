"""Reads a project's notes for agents, such as AGENTS.md, from the folders of a session.

They are read at the beginning of each turn, so that a change counts at once. They are words of whoever wrote
the project: they guide the model and permit nothing.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from dragoman.errors import ErrorAnswer, LocalMistake

if TYPE_CHECKING:
    from dragoman import KitSession

NAMES = (
    "AGENTS.md",
    "CLAUDE.md",
    "GEMINI.md",
    ".cursorrules",
    ".windsurfrules",
    ".clinerules",
    ".rules",
    os.path.join(".github", "copilot-instructions.md"),
)

MOST = 32_000
"""Characters of one note. More is a book, and would be sent with every request."""


async def project_notes(session: KitSession[Any]) -> str:
    """All notes, each under its path; a note that says the same as one before is left out."""
    notes: dict[str, str] = {}
    for root in session.roots:
        for name in NAMES:
            path = os.path.join(root, name)
            text = await _read(session, path)
            if text and text not in notes.values():
                notes[path] = text
    return "\n\n".join(f"# Notes of the project, from {path}\n\n{text}" for path, text in notes.items())


async def _read(session: KitSession[Any], path: str) -> str:
    try:
        text = (await session.local.files.read(path)).text.strip()
    except (ErrorAnswer, LocalMistake):  # none, not a text, outside the folders, or these are elsewhere
        return ""
    return text if len(text) <= MOST else f"{text[:MOST]}\n[…]"
