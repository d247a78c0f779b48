"""Command lines with the decision that a policy must make: everyday ones, and ones that try to get around it.

In `decisions`: a rule set is a policy, and a text has one command a line (`⏎` stands for a line end). What is
hostile is tried with the rule set that is hardest to defend: it denies a few things and allows all else.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

_FOLDER: Final = Path(__file__).parent / "decisions"

RULES: Final = {
    name: (_FOLDER / f"{name}.toml").read_text(encoding="utf-8")
    for name in ("everyday", "nothing-denied", "all-but")
}


def lines_of(name: str) -> list[str]:
    text = (_FOLDER / f"{name}.txt").read_text(encoding="utf-8")
    return [line.replace("⏎", "\n") for line in text.splitlines()]


def decision_lines() -> Iterator[tuple[str, str, str]]:
    """Rule set, command line, decision; `deny or ask` where both are right."""
    for rules, decision, name in (
        ("everyday", "allow", "everyday-allow"),
        ("everyday", "ask", "everyday-ask"),
        ("nothing-denied", "ask", "nothing-denied-ask"),
        ("all-but", "deny or ask", "all-but-never-allow"),
        ("all-but", "deny", "all-but-deny"),
    ):
        for line in lines_of(name):
            yield rules, line, decision
