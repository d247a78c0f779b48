"""Lines that carry who wrote them: the truth of the lab, known while it is made and never found by comparing.

A file is a row of functions, a function a row of lines. A line has its text, its origin, and mostly a number
that no other line has: what a formatter makes of it is found by that number. Some lines have none and look
like many others, as in any program. How two kinds of work on one line count is written in README.md.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Literal, NamedTuple, TypeVar

T = TypeVar("T")
Hand = Literal["person", "agent", "command", "before", "colleague"]


class Origin(NamedTuple):
    """Who wrote a line last. Sessions and turns count from 1; people have neither."""

    by: Hand
    session: int = 0
    turn: int = 0

    @property
    def is_of_turn(self) -> bool:
        return self.by in ("agent", "command")


PERSON, BEFORE, COLLEAGUE = Origin("person"), Origin("before"), Origin("colleague")


@dataclass(frozen=True, slots=True)
class Line:
    """One line of source; `number` is 0 for one that looks like many others."""

    text: str
    origin: Origin
    number: int = 0

    @property
    def is_empty(self) -> bool:
        return not self.text.strip()


Function = tuple[Line, ...]
File = tuple[Function, ...]
Code = Mapping[str, File]
"""Files by their paths."""


class Chance:
    """A source of numbers that is the same in every version of Python: it is made of `random()` alone."""

    def __init__(self, seed: int) -> None:
        self._random = Random(seed)

    def below(self, count: int) -> int:
        return int(self._random.random() * count)

    def between(self, least: int, most: int) -> int:
        return least + self.below(most - least + 1)

    def happens(self, share: float) -> bool:
        return self._random.random() < share

    def pick(self, values: Sequence[T]) -> T:
        return values[self.below(len(values))]

    def bytes(self, count: int) -> bytes:
        return bytes(self.below(256) for _ in range(count))


COMMON = (
    "    count += 1",
    "    log(count)",
    "    # keep the order",
    "    assert values",
    "    values.sort()",
)
"""Lines as any program has many of them. A formatter leaves them as they are."""

NUMBER = re.compile(r"n(\d{6})")


class Pen:
    """Writes lines that nobody wrote before."""

    def __init__(self, chance: Chance) -> None:
        self._chance = chance
        self._count = 0

    def head(self, origin: Origin) -> Line:
        self._count += 1
        return Line(f"def step_n{self._count:06}(values, count):", origin, self._count)

    def statement(self, origin: Origin) -> Line:
        self._count += 1
        return Line(self._text(self._count), origin, self._count)

    def again(self, line: Line, origin: Origin) -> Line:
        """The same line with another text in a part of it."""
        if line.text.startswith("def "):
            text = f"def step_n{line.number:06}(values, count, depth={self._chance.below(900)}):"
        else:
            text = line.text
            while text == line.text:
                text = self._text(line.number)
        return replace(line, text=text, origin=origin)

    def lines(self, count: int, origin: Origin) -> list[Line]:
        """New lines. The first and the last of them are like no others: where a row of equal lines begins is
        in no file.
        """
        return [
            self.statement(origin)
            if place in (0, count - 1) or not self._chance.happens(0.13)
            else Line(self._chance.pick(COMMON), origin)
            for place in range(count)
        ]

    def function(self, count: int, origin: Origin) -> Function:
        body = self.lines(max(count, 3) - 1, origin)
        if len(body) > 5 and self._chance.happens(0.3):
            body.insert(self._chance.between(2, len(body) - 2), Line("", origin))
        return (self.head(origin), *body)

    def _text(self, number: int) -> str:
        n, k = f"n{number:06}", self._chance.below(9000)
        if number % 20 == 0:
            return f"    #about {n}, which is {k}"
        kind = self._chance.below(19)
        if kind < 7:
            return f'    name_{n} = "part {k} of {n}"'
        if kind < 12:
            return f"    total_{n}=amount_{n}+{k}"
        if kind < 14:
            return f"    row_{n} = [ {k},{k + 1} , {k + 2} ]"
        if kind < 16:
            parts = ", ".join(f"part_{word}_{n}=values[{k}]" for word in ("left", "right", "upper", "lower"))
            return f"    sum_{n} = gather({parts})"
        if kind < 17:
            return f"    if ready_{n}: start(now_{n}, {k})"
        if kind < 18:
            return f"    word_{n} = 'single {k} of {n}'"
        return f"    call_{n}( values , {k} )"


def rendered(file: Iterable[Function]) -> str:
    """The file's text as people and agents of the lab write it: one empty line between functions."""
    return "\n".join("".join(f"{line.text}\n" for line in function) for function in file)


def rows(file: Iterable[Function]) -> Iterator[Line]:
    """Lines in the order in which `rendered` has them, the empty ones between functions too."""
    for place, function in enumerate(file):
        if place:
            yield Line("", function[0].origin)
        yield from function


class FormatterSurprise(AssertionError):
    """A formatter did what the lab does not know: the truth would be a guess from here on."""


def formatted_rows(file: Iterable[Function], text: str) -> list[Line]:
    """The lines that a formatter made of this file, each with the origin of the line that it was.

    A formatter keeps the order, so the lines are walked side by side. A line with a number is that line, a
    common one must be the next in the file, and any other, a closing bracket, belongs to the line above.
    """
    source = [line for function in file for line in function if not line.is_empty]
    made: list[Line] = []
    place = -1
    for line in text.splitlines():
        numbers = NUMBER.findall(line)
        if not line.strip():
            made.append(Line("", made[-1].origin if made else PERSON))
            continue
        if numbers:
            if place < 0 or source[place].number != int(numbers[0]):
                place += 1
            if place == len(source) or source[place].number != int(numbers[0]):
                raise FormatterSurprise(f"no line of the file became {line!r}")
        elif place + 1 < len(source) and source[place + 1].text == line and not source[place + 1].number:
            place += 1
        elif place < 0 or line.strip() not in (")", "]", "),", "],"):
            raise FormatterSurprise(f"no line of the file became {line!r}")
        made.append(Line(line, source[place].origin, source[place].number))
    if place != len(source) - 1:
        raise FormatterSurprise(f"{source[place + 1].text!r} is gone")
    return made
