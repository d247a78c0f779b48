"""What passed between two peers, frame by frame, in the order in which one place saw it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple, TypeAlias

Party: TypeAlias = Literal["agent", "client"]


class Passed(NamedTuple):
    """One frame on its way, without its newline."""

    to: Party
    frame: bytes

    def __str__(self) -> str:
        arrow = "client → agent" if self.to == "agent" else "agent → client"
        return f"{arrow}  {self.frame.decode(errors='replace')}"


Transcript: TypeAlias = list[Passed]


def other(party: Party) -> Party:
    return "client" if party == "agent" else "agent"


def show(transcript: Sequence[Passed], *, last: int = 12) -> str:
    """The last frames, for somebody who has to find out what went wrong."""
    lines = [_shortened(str(passed)) for passed in transcript[-last:]]
    left_out = len(transcript) - len(lines)
    return "\n".join([f"({left_out} frames before)", *lines] if left_out else lines)


def _shortened(text: str, limit: int = 300) -> str:
    return text if len(text) <= limit else f"{text[:limit]}… ({len(text)} characters)"
