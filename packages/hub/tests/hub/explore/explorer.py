"""Every world that can be reached, the nearest first.

Worlds are remembered by a hash of 64 bits each, and by five bytes that say how each was reached. The nearest
come first, so the story of a broken promise is the shortest one there is.
"""

from __future__ import annotations

import gc
import time
from array import array
from collections.abc import Callable
from typing import NamedTuple

from tests.hub.explore.invariants import BrokenPromise
from tests.hub.explore.model import Model
from tests.hub.explore.world import Action, HubWorld, Scope


class Found(NamedTuple):
    """A broken promise, and how it comes to that."""

    scope: Scope
    actions: tuple[Action, ...]
    promise: str
    why: str


class Exploration(NamedTuple):
    """What came of it. `is_exhausted`: there are no other worlds within the scope."""

    worlds: int
    moves: int
    steps: int
    depth: int
    resting: int
    seconds: float
    is_exhausted: bool
    found: Found | None

    def __str__(self) -> str:
        how = "all of them" if self.is_exhausted else "stopped"
        return (
            f"{self.worlds:,} distinct states ({how}), {self.moves:,} transitions, {self.depth} deep, "
            f"{self.resting:,} at rest, {self.steps:,} steps of the machine, {self.seconds:.1f} s"
        )


def explore(
    scope: Scope, *, most: int = 0, on_level: Callable[[int, int], None] | None = None
) -> Exploration:
    """Look at all worlds, or at the `most` nearest ones; stop at the first broken promise."""
    gc.disable()  # millions of tuples, none of which is garbage as long as this runs
    try:
        return _Search(Model(scope), most).run(on_level)
    finally:
        gc.enable()


class _Search:
    def __init__(self, model: Model, most: int) -> None:
        self.model = model
        self.most = most
        first = model.first()
        self.seen = {hash(first)}
        self.level: list[tuple[int, HubWorld]] = [(0, first)]
        self.behind: list[tuple[int, HubWorld]] = []
        # For each world its parent, and the place of the action among those that were possible there.
        self.parents = array("I", [0])
        self.choices = array("B", [0])
        self.moves = self.resting = 0

    def run(self, on_level: Callable[[int, int], None] | None) -> Exploration:
        began = time.monotonic()
        depth = 0
        found: Found | None = None
        while self.level and found is None and not self._is_over:
            found = self._next_level()
            self.level, self.behind = self.behind, []
            depth += 1
            if on_level is not None:
                on_level(depth, len(self.parents))
        return Exploration(
            worlds=len(self.parents),
            moves=self.moves,
            steps=self.model.tables.steps,
            depth=depth,
            resting=self.resting,
            seconds=time.monotonic() - began,
            is_exhausted=found is None and not self.level,
            found=found,
        )

    @property
    def _is_over(self) -> bool:
        return 0 < self.most <= len(self.parents)

    def _next_level(self) -> Found | None:
        """Everything that follows from the worlds of this distance."""
        model, perform = self.model, self.model.perform
        for number, world in self.level:
            action: Action | None = None
            try:
                must, may = model.moves(world)
                is_resting = True
                for choice, action in enumerate(must):
                    reached = perform(world, action)
                    if reached is not None:
                        is_resting = False
                        self._add(number, choice, reached)
                action = None
                if is_resting:
                    self.resting += 1
                    model.check_rest(world)
                for choice, action in enumerate(may, len(must)):
                    reached = perform(world, action)
                    if reached is not None:
                        self._add(number, choice, reached)
            except BrokenPromise as broken:
                path = path_to(model, self.parents, self.choices, number)
                path = path if action is None else (*path, action)
                return Found(model.scope, path, broken.name, broken.why)
            if self._is_over:
                break
        return None

    def _add(self, number: int, choice: int, world: HubWorld) -> None:
        self.moves += 1
        mark = hash(world)
        if mark not in self.seen:
            self.seen.add(mark)
            self.behind.append((len(self.parents), world))
            self.parents.append(number)
            self.choices.append(choice)


def path_to(model: Model, parents: array[int], choices: array[int], number: int) -> tuple[Action, ...]:
    """The actions that lead to a world, found by doing them again."""
    taken: list[int] = []
    while number:
        taken.append(choices[number])
        number = parents[number]
    world = model.first()
    path: list[Action] = []
    for choice in reversed(taken):
        must, may = model.moves(world)
        action = (must + may)[choice]
        reached = model.perform(world, action)
        assert reached is not None
        path.append(action)
        world = reached
    return tuple(path)
