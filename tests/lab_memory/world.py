"""The scripted world: what people, agents and commands do in one folder, and whose each line is.

A round is a turn of one of three sessions, and what people do after it. Everything follows from the seed;
nothing here touches a disk, so the truth of a seed is the same wherever and whenever it is made
(`digests.json` holds that). What happens afterwards, the upheaval, is planned here too: `upheaval` names the
commits that are carried elsewhere and the functions and files that move.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

from tests.lab_memory.edits import Edit, Editor, moved
from tests.lab_memory.model import (
    BEFORE,
    COLLEAGUE,
    PERSON,
    Chance,
    Code,
    Hand,
    Line,
    Origin,
    Pen,
    rendered,
    rows,
)

SESSIONS = 3
OLD = "src/legacy.py"
"""A file from before all turns. Its first functions belong to a colleague, who changes them elsewhere."""
OLD_UNTOUCHED = 4
COMMIT_EVERY = 5
PICKS = 6
"""Commits that add one file of an agent, and are picked for another branch."""

Way = Literal["lent", "own", "terminal", "shell", "review"]
"""How a turn acts: by files that we lend, in the agent's own process, by a command in a terminal of ours, by
a command that the agent runs itself, or not at all.
"""


@dataclass(frozen=True, slots=True)
class Thing:
    """What is no code: a file of any bytes, a link, or nothing (both None: it is deleted)."""

    data: bytes | None = None
    target: str | None = None
    mode: int = 0o644


@dataclass(frozen=True, slots=True)
class Step:
    """One act of a turn, or of a person: edits of code, things, and renames of code files."""

    way: Way | Literal["hand"]
    edits: tuple[Edit, ...] = ()
    things: tuple[tuple[str, Thing], ...] = ()
    renames: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Turn:
    session: int
    number: int
    prompt: str
    steps: tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class Round:
    """A turn and the time of people after it. `commits` are titles: before the turn, right after it, at the
    end.
    """

    turn: Turn
    people: tuple[Step, ...]
    commits: tuple[str | None, str | None, str | None]


@dataclass(frozen=True, slots=True)
class Upheaval:
    """What becomes of the history afterwards. `release` is the commit of a branch that gets the picked
    commits, with what its files are then; the colleague's file comes in by the rebase.
    """

    release: str
    picks: tuple[str, ...]
    released: Code
    colleague: Edit
    rebased: Code
    moves: tuple[tuple[Edit, Edit], ...]
    renames: tuple[tuple[str, str], ...]
    after: Code


WORDS = ("orders", "stock", "prices", "routes", "crew", "tides", "cargo", "lamps", "maps", "ropes")
TASKS = ("Add the sums to", "Make room for returns in", "Handle empty rows in", "Cover the night shift in")


@dataclass
class World:
    seed: int
    turns: int = 300
    lines: int = 10_000
    code: dict[str, tuple[tuple[Line, ...], ...]] = field(default_factory=dict)
    things: dict[str, Thing] = field(default_factory=dict)
    rounds: list[Round] = field(default_factory=list)
    commits: dict[str, Code] = field(default_factory=dict)
    start: Code = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.chance = Chance(self.seed)
        self.pen = Pen(self.chance)
        self.editor = Editor(self.chance, self.pen)
        self._pick_rounds = {self.turns * (place + 4) // (PICKS + 4) - 1 for place in range(PICKS)}
        old = self.editor.new_file(OLD, max(self.lines // 40, 60), BEFORE)
        other = self.editor.new_file("src/first.py", max(self.lines // 40, 60), BEFORE)
        for edit in (old, other):
            assert edit.after is not None
            self.code[edit.path] = edit.after
        self.start = dict(self.code)
        numbers = [0] * SESSIONS
        for place in range(self.turns):
            session = self.chance.below(SESSIONS) if place >= SESSIONS else place
            numbers[session] += 1
            self.rounds.append(self._round(place, session + 1, numbers[session]))
        self.before: Code = dict(self.code)
        self.upheaval = self._upheave()

    def _size(self) -> int:
        return sum(1 for file in self.code.values() for f in file for line in f if not line.is_empty)

    def _growth(self, place: int) -> int:
        """How many lines this round should add, so that the end has as many as asked for."""
        left = self.turns - place
        return max((self.lines - self._size()) // max(left, 1), 3)

    def _round(self, place: int, session: int, number: int) -> Round:
        is_pick = place in self._pick_rounds
        path = self._any_path()
        prompt = f"{self.chance.pick(TASKS)} {path} (task {session}-{number})"
        growth = self._growth(place)
        before = self._commit(f"Before {session}-{number}") if is_pick else None
        if is_pick:
            edit = self.editor.new_file(
                f"src/picked_{session}_{number}.py", growth, Origin("agent", session, number)
            )
            steps: tuple[Step, ...] = (self._done(Step("lent", (edit,))),)
        else:
            steps = tuple(self._turn_steps(session, number, growth))
        after = self._commit(f"Task {session}-{number}") if is_pick else None
        people = tuple(self._people_steps(growth))
        is_last = place == self.turns - 1
        end = self._commit(f"Work of round {place}") if place % COMMIT_EVERY == 4 or is_last else None
        return Round(Turn(session, number, prompt, steps), people, (before, after, end))

    def _commit(self, title: str) -> str:
        self.commits[title] = dict(self.code)
        return title

    def _any_path(self) -> str:
        return self.chance.pick(sorted(self.code))

    def _turn_steps(self, session: int, number: int, growth: int) -> Iterator[Step]:
        if self.chance.happens(0.1):
            yield Step("review", tuple(Edit(p, self.code[p], self.code[p]) for p in [self._any_path()]))
            return
        count = self.chance.between(1, 3)
        share = growth * 4 // 5 * 10 // 9 // count
        for _ in range(count):
            way: Way = self.chance.pick(("lent", "lent", "lent", "own", "own", "own", "terminal", "shell"))
            by: Hand = "agent" if way in ("lent", "own") else "command"
            edit = self._code_edit(share, Origin(by, session, number), f"_{session}_{number}")
            yield self._done(Step(way, (edit,), tuple(self._thing_changes(by))))
        if self.chance.happens(0.03):
            yield self._done(
                Step(self.chance.pick(("own", "terminal")), renames=self._rename(f"{session}{number}"))
            )

    def _people_steps(self, growth: int) -> Iterator[Step]:
        if self.chance.happens(0.3):
            return
        for _ in range(self.chance.between(1, 2)):
            yield self._done(Step("hand", (self._code_edit(growth // 5, PERSON, "_hand"),)))
        if self.chance.happens(0.25):
            yield self._done(Step("hand", things=tuple(self._thing_changes("person"))))
        if self.chance.happens(0.02):
            yield self._done(Step("hand", renames=self._rename(f"p{len(self.rounds)}")))

    def _code_edit(self, growth: int, origin: Origin, tag: str) -> Edit:
        if len(self.code) < 6 or (self.chance.happens(0.05) and len(self.code) < 45):
            path = f"src/{self.chance.pick(WORDS)}{tag}.py"
            if path not in self.code:
                return self.editor.new_file(path, max(growth, 8), origin)
        path = self._any_path()
        untouched = OLD_UNTOUCHED if path == OLD else 0
        return self.editor.edit(path, self.code[path], max(growth, 0), origin, untouched=untouched)

    def _thing_changes(self, by: Hand) -> Iterator[tuple[str, Thing]]:
        """Things that are not code; the ignored and the secret ones too."""
        chance = self.chance
        if chance.happens(0.10):
            yield f"data/table{chance.below(8)}.bin", Thing(b"\0" + chance.bytes(chance.between(20, 3000)))
        if chance.happens(0.06):
            mode = chance.pick((0o755, 0o644, 0o700, 0o640))
            yield (
                f"tools/step{chance.below(6)}.sh",
                Thing(b"#!/bin/sh\necho step\n" * chance.between(1, 4), mode=mode),
            )
        if chance.happens(0.05):
            yield f"links/link{chance.below(5)}", Thing(target=f"../{self._any_path()}")
        if chance.happens(0.04):
            yield f"notes/pa ge{chance.below(5)} ü.txt", Thing(f"note {chance.below(99)}\nno end".encode())
        gone = [path for path in sorted(self.things) if path.startswith(("data/", "links/", "notes/"))]
        if gone and chance.happens(0.05):
            yield chance.pick(gone), Thing()
        if by == "person" and chance.happens(0.2):
            yield ".env", Thing(f"TOKEN=lab-{chance.below(10**9)}\n".encode(), mode=0o600)
        if by == "command" and chance.happens(0.2):
            yield f"build/out{chance.below(3)}.bin", Thing(chance.bytes(200))

    def _rename(self, tag: str) -> tuple[tuple[str, str], ...]:
        paths = [path for path in sorted(self.code) if path != OLD and "picked" not in path]
        old = self.chance.pick(paths)
        return ((old, f"src/renamed_{tag}.py"),)

    def _done(self, step: Step) -> Step:
        """The step, when the model has it."""
        for edit in step.edits:
            if edit.after is None:
                del self.code[edit.path]
            else:
                self.code[edit.path] = edit.after
        for path, thing in step.things:
            if thing.data is None and thing.target is None:
                self.things.pop(path, None)
            else:
                self.things[path] = thing
        for old, new in step.renames:
            self.code[new] = self.code.pop(old)
        return step

    def _upheave(self) -> Upheaval:
        titles = list(self.commits)
        picks = tuple(title for title in titles if title.startswith("Task "))
        release = titles[0]
        released = dict(self.commits[release])
        for title in picks:
            _, _, task = title.partition(" ")
            path = f"src/picked_{task.replace('-', '_')}.py"
            released[path] = self.commits[title][path]
        old = self.start[OLD]
        colleague = self.editor.edit(OLD, old[: OLD_UNTOUCHED - 1], 5, COLLEAGUE)
        assert colleague.after is not None
        colleague = Edit(OLD, old, colleague.after + old[OLD_UNTOUCHED - 1 :])
        assert colleague.after is not None
        added = len(colleague.after) - len(old)
        code = dict(self.before)
        code[OLD] = colleague.after[: OLD_UNTOUCHED + added] + code[OLD][OLD_UNTOUCHED:]
        rebased = dict(code)
        moves = []
        for _ in range(min(12, self.turns)):
            source, target = self._any_of(code), self._any_of(code)
            move = (
                None
                if source == target
                else moved(
                    self.chance, (source, code[source]), (target, code[target]), self.chance.between(1, 2)
                )
            )
            if move is not None:
                moves.append(move)
                code |= {edit.path: edit.after for edit in move if edit.after is not None}
        renames = []
        for place in range(min(5, len(code) // 3)):
            old_path = self._any_of({path: code[path] for path in code if "/kept" not in path})
            new_path = f"lib/kept{place}.py"
            renames.append((old_path, new_path))
            code[new_path] = code.pop(old_path)
        return Upheaval(release, picks, released, colleague, rebased, tuple(moves), tuple(renames), code)

    def _any_of(self, code: Code) -> str:
        return self.chance.pick(sorted(code))

    def prompts(self) -> dict[tuple[int, int], str]:
        return {(r.turn.session, r.turn.number): r.turn.prompt for r in self.rounds}

    def digest(self) -> str:
        """Of every act and of the truth before and after the upheaval; a formatter has no part in it."""
        made = hashlib.sha256()
        for turn_round in self.rounds:
            turn = turn_round.turn
            acts = [
                [
                    step.way,
                    [[edit.path, edit.content] for edit in step.edits],
                    _things(step.things),
                    step.renames,
                ]
                for step in (*turn.steps, *turn_round.people)
            ]
            made.update(json.dumps([turn.prompt, acts, turn_round.commits]).encode())
        for code in (
            self.start,
            self.before,
            self.upheaval.released,
            self.upheaval.rebased,
            self.upheaval.after,
        ):
            made.update(json.dumps(truth(code)).encode())
        return made.hexdigest()


def _things(things: tuple[tuple[str, Thing], ...]) -> list[list[object]]:
    return [[path, thing.data and thing.data.hex(), thing.target, thing.mode] for path, thing in things]


def truth(code: Mapping[str, tuple[tuple[Line, ...], ...]]) -> dict[str, list[tuple[str, Origin]]]:
    """Whose each line of each file is, as data."""
    return {path: [(line.text, line.origin) for line in rows(code[path])] for path in sorted(code)}


def texts(code: Code) -> dict[str, str]:
    return {path: rendered(file) for path, file in code.items()}
