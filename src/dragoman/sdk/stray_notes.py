"""What an agent prints to its standard output besides the protocol, told to people in a few notes.

connect(command, on_stray=BoundedNotes(print))
"""

from __future__ import annotations

from collections.abc import Callable

MOST_NOTES = 20
"""Lines of one life that are told; an agent that logs to its standard output never stops."""


class BoundedNotes:
    """Tells of the first lines that are not the protocol, and once that there are more."""

    def __init__(self, note: Callable[[str], None]) -> None:
        self._note = note
        self._count = 0

    def __call__(self, line: str) -> None:
        self._count += 1
        if self._count <= MOST_NOTES:
            self._note(f"the agent printed text that is not ACP: {line}")
        elif self._count == MOST_NOTES + 1:
            self._note("the agent prints more text that is not ACP, which is not shown")
