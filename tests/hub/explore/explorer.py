"""Every world that can be reached, the nearest first.

Worlds are remembered by a hash of 64 bits each, and by five bytes that say how each was reached; so the story of
a broken promise is the shortest one there is. With two processes, each looks behind the worlds whose hash is its
own, and hands the others over between two distances.
"""

from __future__ import annotations

import time
from array import array
from collections.abc import Callable
from typing import NamedTuple

from dragoman.hub.session.invariants import BrokenPromise
from tests.hub.explore.world import Action, HubWorld, Model, Scope


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
    began = time.monotonic()
    model = Model(scope)
    first = model.first()
    seen = {hash(first)}
    parents, choices = array("I", [0]), array("B", [0])
    level: list[tuple[int, HubWorld]] = [(0, first)]
    depth = moves_made = resting = 0
    found: Found | None = None
    is_exhausted = True
    moves, perform, check_rest = model.moves, model.perform, model.check_rest
    while level and found is None:
        behind: list[tuple[int, HubWorld]] = []
        for number, world in level:
            must, may = moves(world)
            choice = 0
            action: Action | None = None
            try:
                if not must:
                    resting += 1
                    check_rest(world)
                for action in must + may:
                    reached = perform(world, action)
                    if reached is not None:
                        moves_made += 1
                        mark = hash(reached)
                        if mark not in seen:
                            seen.add(mark)
                            behind.append((len(parents), reached))
                            parents.append(number)
                            choices.append(choice)
                    choice += 1
            except BrokenPromise as broken:
                last = () if action is None else (action,)
                path = (*path_to(model, parents, choices, number), *last)
                found = Found(scope, path, broken.name, broken.why)
                break
            if most and len(parents) >= most:
                is_exhausted = False
                break
        if not is_exhausted:
            break
        level = behind
        depth += 1
        if on_level is not None:
            on_level(depth, len(parents))
    return Exploration(
        worlds=len(parents),
        moves=moves_made,
        steps=model.tables.steps,
        depth=depth,
        resting=resting,
        seconds=time.monotonic() - began,
        is_exhausted=is_exhausted and found is None,
        found=found,
    )


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
