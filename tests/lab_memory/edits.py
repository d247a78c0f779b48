"""What a person, an agent or a command does to files of the model: each edit gives a new file, and what an
agent would show of it.
"""

from __future__ import annotations

from dataclasses import dataclass

from tests.lab_memory.model import Chance, File, Function, Line, Origin, Pen, rendered


@dataclass(frozen=True, slots=True)
class Edit:
    """One file before and after; `shown` is the part that a snippet of a diff has, as old and new text."""

    path: str
    before: File | None
    after: File | None
    shown: tuple[str, str] | None = None

    @property
    def content(self) -> str | None:
        return None if self.after is None else rendered(self.after)


class Editor:
    """Edits files; chance decides how, and how much is given."""

    def __init__(self, chance: Chance, pen: Pen) -> None:
        self._chance = chance
        self._pen = pen

    def new_file(self, path: str, count: int, origin: Origin) -> Edit:
        functions = []
        while count > 0:
            size = self._chance.between(5, 16)
            functions.append(self._pen.function(size, origin))
            count -= size
        return Edit(path, None, tuple(functions))

    def edit(self, path: str, file: File, growth: int, origin: Origin, *, untouched: int = 0) -> Edit:
        """A file that is about `growth` lines longer. The first functions may be out of bounds."""
        functions = list(file)
        place = untouched + self._chance.below(max(len(file) - untouched, 1))
        if place >= len(functions) or (growth > 6 and self._chance.happens(0.55)):
            added = self._pen.function(max(growth, 4), origin)
            after = [*functions[: place + 1], added, *functions[place + 1 :]]
            return Edit(path, file, tuple(after), ("", rendered((added,))))
        old = functions[place]
        new = self._within(old, growth, origin)
        after = [*functions[:place], new, *functions[place + 1 :]]
        return Edit(path, file, tuple(after), (rendered((old,)), rendered((new,))))

    def _within(self, function: Function, growth: int, origin: Origin) -> Function:
        lines = list(function)
        for _ in range(self._chance.between(1, 3)):
            place = self._chance.between(0, len(lines) - 1)
            if lines[place].number:
                lines[place] = self._pen.again(lines[place], origin)
        if self._chance.happens(0.35):
            self._cut(lines)
        if growth > 0:
            place = self._chance.between(1, len(lines))
            lines[place:place] = self._pen.lines(growth, origin)
        return tuple(lines)

    def _cut(self, lines: list[Line]) -> None:
        """Without a few lines. The head and the line below it stay, so that there is a body."""
        if len(lines) < 8:
            return
        place = self._chance.between(2, len(lines) - 3)
        end = place + self._chance.between(1, 3)
        left = lines[1:place] + lines[end:]
        if any(line.text.strip() and not line.text.lstrip().startswith("#") for line in left):
            del lines[place:end]


def moved(
    chance: Chance, source: tuple[str, File], target: tuple[str, File], count: int
) -> tuple[Edit, Edit] | None:
    """Functions of one file to the end of another: each line keeps its origin. Only what is long enough to be
    recognised moves; None if there is nothing.
    """
    places = [place for place, function in enumerate(source[1]) if place and len(function) >= 6]
    if len(places) <= count:
        return None
    first = chance.below(len(places) - count)
    chosen = places[first : first + count]
    taken = tuple(source[1][place] for place in chosen)
    left = tuple(function for place, function in enumerate(source[1]) if place not in chosen)
    return Edit(source[0], source[1], left), Edit(target[0], target[1], target[1] + taken)
