"""What the tests of every face know of `family_agent.py`."""

from __future__ import annotations

import sys
from pathlib import Path

SHAPES = ("v1", "v2", "claude", "codex")
FAMILY = ("reviewer", "linter", "formatter")
CHAIN = {
    "reviewer": "reviewer, for main session",
    "linter": "linter, for reviewer, for main session",
    "formatter": "formatter, for linter, for reviewer, for main session",
}
"""Who asks for whom."""

PROGRAM = Path(__file__).parent / "family_agent.py"


def arguments(shape: str) -> list[str]:
    return [sys.executable, "-I", "-S", str(PROGRAM), shape]


def command(shape: str) -> str:
    return " ".join(arguments(shape))
