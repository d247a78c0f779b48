"""Marks and words for states, in one place: they must be told apart without colours too."""

from __future__ import annotations

from typing import Final

GUTTER: Final = 2
"""Cells before every entry: a mark and a space."""

STATUS: Final = {
    "pending": ("○", "dim"),
    "in_progress": ("◐", "$text-warning"),
    "completed": ("✓", "$text-success"),
    "failed": ("✗", "$text-error"),
}
UNKNOWN: Final = ("·", "dim")

STEPS: Final = {"completed": ("☑", "dim"), "in_progress": ("◐", "bold"), "pending": ("☐", "")}

LEVELS: Final = {"info": ("·", "dim"), "warning": ("!", "$text-warning"), "error": ("✗", "$text-error bold")}

KINDS: Final = {
    "read": "read",
    "edit": "edit",
    "delete": "delete",
    "move": "move",
    "search": "search",
    "execute": "run",
    "think": "think",
    "fetch": "fetch",
    "switch_mode": "mode",
}

EXCERPT: Final = 8
"""Lines of an output or a change that are shown until somebody unfolds it."""

UNFOLDED: Final = 400
"""Lines of one that was unfolded; the whole of it has a screen of its own."""
