"""Compares answers with the truth, line by line. It knows the words of `dragoman blame --json`, and no code.

What is right: a line of an agent or a command has the prompt of its turn, and `by` says which of the two it
was; a line of a person is a person's. What was there before the first turn, and what came in by git from
elsewhere, was not seen while it was written: a person's and unknown are both right, an agent's never.
Empty lines are counted apart.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.lab_memory.model import Line, Origin
from tests.lab_memory.stage import Stage

Prompts = Mapping[tuple[int, int], str]


@dataclass(frozen=True, slots=True)
class Answer:
    """What is said of one line."""

    by: str
    prompt: str | None = None
    session: str | None = None
    turn: int | None = None


class BlameFailed(AssertionError):
    """`dragoman blame` gave no answer that can be judged."""


def has_blame(stage: Stage) -> bool:
    return stage.dragoman("blame", "--help").returncode == 0


def blame(stage: Stage, path: str, *more: str, folder: Path | None = None) -> list[Answer]:
    """The answers for this file, one for each line, in order."""
    place = folder or stage.folder
    done = stage.dragoman("blame", path, "--json", "--folder", str(place), *more, folder=place)
    if done.returncode:
        raise BlameFailed(f"blame {path}: status {done.returncode}: {done.stderr.decode()[-2000:]}")
    lines = json.loads(done.stdout)["lines"]
    numbers = [line["line"] for line in lines]
    if numbers != list(range(numbers[0] if numbers else 1, (numbers[-1] if numbers else 0) + 1)):
        raise BlameFailed(f"blame {path}: lines are missing or out of order: {numbers[:20]}")
    return [Answer(line["by"], line.get("prompt"), line.get("session"), line.get("turn")) for line in lines]


@dataclass
class Figures:
    """Counts of one examination."""

    name: str
    counts: Counter[str] = field(default_factory=Counter)
    seconds: list[float] = field(default_factory=list)
    examples: list[str] = field(default_factory=list)

    def add(self, path: str, number: int, line: Line, answer: Answer, prompts: Prompts) -> None:
        if line.is_empty:
            self.counts["empty"] += 1
            self.counts["empty right"] += verdict(line.origin, answer, prompts) in GOOD
            return
        found = verdict(line.origin, answer, prompts)
        self.counts["lines"] += 1
        self.counts[found] += 1
        self.counts[f"{line.origin.by} lines"] += 1
        self.counts[f"{line.origin.by}: {found}"] += 1
        if found in ("right", "right turn, wrong hand"):
            self.counts["address of turns"] += 1
        if found not in GOOD and len(self.examples) < EXAMPLES:
            origin = " ".join(map(str, line.origin))
            self.examples.append(f"{path}:{number}: {found}: {line.text.strip()!r} is of {origin}, {answer}")

    def share(self, part: float, whole: float) -> float:
        return part / whole if whole else 1.0

    @property
    def right_turn(self) -> float:
        """Of the lines that a turn wrote."""
        whole = self.counts["agent lines"] + self.counts["command lines"]
        good = sum(
            self.counts[f"{by}: {found}"]
            for by in ("agent", "command")
            for found in ("right", "right turn, wrong hand")
        )
        return self.share(good, whole)

    @property
    def right(self) -> float:
        """Of all lines, the hand too."""
        return self.share(self.counts["right"] + self.counts["right, not seen"], self.counts["lines"])

    @property
    def unknown(self) -> float:
        """Of the lines that were written while somebody watched."""
        seen = sum(self.counts[f"{by} lines"] for by in ("agent", "command", "person"))
        return self.share(self.counts["unknown"], seen)

    @property
    def stolen(self) -> int:
        """Lines of people that were given to an agent or a command."""
        return self.counts["a person's, given to a turn"]

    def row(self) -> str:
        slowest = f"{max(self.seconds) * 1000:.0f}" if self.seconds else "-"
        middle = f"{sorted(self.seconds)[len(self.seconds) // 2] * 1000:.0f}" if self.seconds else "-"
        empty = self.share(self.counts["empty right"], self.counts["empty"])
        hand = self.counts["right turn, wrong hand"]
        return (
            f"| {self.name} | {self.counts['lines']} | {self.right_turn:.2%} | {self.right:.2%} "
            f"| {self.unknown:.2%} | {self.stolen} | {hand} | {empty:.1%} | {middle} / {slowest} |"
        )


HEAD = (
    "| examination | lines | right turn | all right | unknown | people's lines given to a turn "
    "| wrong hand | empty lines right | blame of a file, ms: middle / slowest |\n" + "|---" * 9 + "|"
)
GOOD = ("right", "right, not seen")
EXAMPLES = 12


def verdict(origin: Origin, answer: Answer, prompts: Prompts) -> str:
    """One word for one line."""
    if origin.is_of_turn:
        if answer.by == "unknown":
            return "unknown"
        if answer.by == "person":
            return "a turn's, given to a person"
        if answer.prompt is None or answer.prompt.strip() != prompts[origin.session, origin.turn]:
            return "another turn's"
        return "right" if answer.by == origin.by else "right turn, wrong hand"
    if answer.by in ("agent", "command"):
        return "a person's, given to a turn"
    if origin.by in ("before", "colleague"):
        return "right, not seen"
    return "right" if answer.by == "person" else "unknown"


def judge(
    name: str, rows: Mapping[str, Sequence[Line]], answers: Mapping[str, Sequence[Answer]], prompts: Prompts
) -> Figures:
    figures = Figures(name)
    for path, lines in rows.items():
        if len(lines) != len(answers[path]):
            raise BlameFailed(f"{path} has {len(lines)} lines, and {len(answers[path])} were answered")
        for number, (line, answer) in enumerate(zip(lines, answers[path], strict=True), start=1):
            figures.add(path, number, line, answer, prompts)
    return figures


def examine(stage: Stage, name: str, rows: Mapping[str, Sequence[Line]], prompts: Prompts) -> Figures:
    """`dragoman blame` of every file, and how long each took."""
    answers, seconds = {}, []
    for path in rows:
        begin = time.perf_counter()
        answers[path] = blame(stage, path)
        seconds.append(time.perf_counter() - begin)
    figures = judge(name, rows, answers, prompts)
    figures.seconds = seconds
    return figures


def goals(figures: Figures, *, least: float, most_unknown: float = 0.03) -> list[str]:
    """What this examination has failed."""
    found = []
    if figures.right_turn < least:
        found.append(f"{figures.name}: {figures.right_turn:.2%} to the right turn, {least:.0%} are wanted")
    if figures.unknown > most_unknown:
        found.append(f"{figures.name}: {figures.unknown:.2%} unknown, at most {most_unknown:.0%} are wanted")
    if figures.stolen:
        found.append(f"{figures.name}: {figures.stolen} lines of people were given to a turn")
    return found


def worse(control: Figures, figures: Figures) -> list[str]:
    """A control that does as well would say that the store is worth nothing, or the lab too easy."""
    if control.right < figures.right:
        return []
    return [f"{figures.name}: the control does not do worse ({control.right:.2%}, {figures.right:.2%})"]


def texts(lines: Iterable[Line]) -> list[str]:
    return [line.text for line in lines]
