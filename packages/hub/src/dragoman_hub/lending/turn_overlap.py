"""Finds turns that run at the same time in the same folder, or in one inside the other.

A turn costs the same here however many others run: it is entered at its folders and at the folders around
them, and meets nobody. Whom it met is found when somebody asks: those that are running at these folders, and
those that ended there since it began. The latter are in chains, of which each turn holds on to the part that
began with itself; what nobody holds on to is gone.
"""

from __future__ import annotations

import asyncio
import itertools
import os
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from dragoman_hub.lending.named_files import NamedFiles


_Key: TypeAlias = tuple[str, str]
"""A folder: the machine that it is on, and its path."""


class _Link:
    """One turn in a chain of those that ended; the last link of a chain is empty."""

    __slots__ = ("later", "stay")

    def __init__(self) -> None:
        self.stay: TurnStay | None = None
        self.later: _Link | None = None


class _Group:
    """The turns of one folder, or those of all folders below it."""

    __slots__ = ("finishing", "last_start", "running", "tail")

    def __init__(self) -> None:
        self.running: dict[TurnStay, None] = {}
        self.finishing: dict[TurnStay, asyncio.Task[None]] = {}
        self.last_start = 0
        self.tail = _Link()

    def enter(self, stay: TurnStay) -> None:
        self.running[stay] = None
        self.last_start = stay.start

    def leave(self, stay: TurnStay) -> None:
        del self.running[stay]
        self.finishing.pop(stay, None)
        self.tail.stay = stay
        self.tail.later = _Link()
        self.tail = self.tail.later


class _Folder:
    __slots__ = ("below", "here")

    def __init__(self) -> None:
        self.here = _Group()
        self.below = _Group()


class TurnStay:
    """One turn, from its start to its end, numbered in the order in which turns start and end."""

    def __init__(
        self,
        named: NamedFiles,
        start: int,
        *,
        keys: Sequence[_Key],
        entered: Sequence[_Group],
        near: Sequence[_Group],
    ) -> None:
        self.named = named
        """Which files its agent names."""
        self.keys = keys
        self.start = start
        self.end: int | None = None
        self.entered = entered
        """Where others find it."""
        self._near = near  # where it finds others
        self._chains = [group.tail for group in near]
        self._met_somebody = any(group.running for group in near)

    @property
    def was_alone(self) -> bool:
        """Whether no other turn has run nearby at the same time."""
        if not self._met_somebody and self.end is None:
            self._met_somebody = any(group.last_start > self.start for group in self._near)
        return not self._met_somebody

    def others(self) -> list[NamedFiles]:
        """Return the files that agents of simultaneous turns nearby name."""
        stays = itertools.chain(
            *(group.running for group in self._near), *(_stays_from(chain) for chain in self._chains)
        )
        met = {stay: None for stay in stays if self.end is None or stay.start < self.end}
        met.pop(self, None)
        return [stay.named for stay in met]

    def forget_others(self) -> None:
        """Forget the other turns. They may still need this turn's named files."""
        self._near, self._chains = [], []


def _stays_from(link: _Link | None) -> Iterator[TurnStay]:
    while link is not None and link.stay is not None:
        yield link.stay
        link = link.later


class TurnOverlap:
    """The running turns, by folder. Folders are absolute paths without links; those on another machine have
    its name as their `place`.
    """

    def __init__(self) -> None:
        self._folders: dict[_Key, _Folder] = {}
        self._numbers = itertools.count(1)

    def __len__(self) -> int:
        """Return the number of folders in which, or below which, a turn runs."""
        return len(self._folders)

    def enter(self, place: str, folders: Iterable[str], named: NamedFiles) -> TurnStay:
        """Note the start of a turn."""
        own, around = _with_parents(place, tuple(folders))
        found = {key: self._folders.setdefault(key, _Folder()) for key in (*own, *around)}
        stay = TurnStay(
            named,
            next(self._numbers),
            keys=list(found),
            entered=[*(found[key].here for key in own), *(found[key].below for key in around)],
            near=[*(folder.here for folder in found.values()), *(found[key].below for key in own)],
        )
        for group in stay.entered:
            group.enter(stay)
        return stay

    def finish(self, stay: TurnStay, look: asyncio.Task[None]) -> None:
        """Note that its agent is done, and that this is the snapshot after it."""
        for group in stay.entered:
            group.finishing[stay] = look

    def finishing_near(self, place: str, folders: Iterable[str]) -> set[asyncio.Task[None]]:
        """Return the current snapshots after turns nearby."""
        own, around = _with_parents(place, tuple(folders))
        groups = [folder.here for key in (*own, *around) if (folder := self._folders.get(key))]
        groups += [folder.below for key in own if (folder := self._folders.get(key))]
        return {look for group in groups for look in group.finishing.values()}

    def leave(self, stay: TurnStay) -> None:
        """Note that the turn has ended. A second call has no effect."""
        if stay.end is not None:
            return
        _ = stay.was_alone  # whoever begins from here on is not met
        stay.end = next(self._numbers)
        for group in stay.entered:
            group.leave(stay)
        stay.entered = ()
        for key in stay.keys:
            folder = self._folders[key]
            if not (folder.here.running or folder.below.running):
                del self._folders[key]


@lru_cache(1024)  # turns come back to their folders
def _with_parents(place: str, folders: Sequence[str]) -> tuple[tuple[_Key, ...], tuple[_Key, ...]]:
    """The folders themselves, and all folders around them, each once."""
    own = dict.fromkeys((place, folder) for folder in folders)
    around: dict[_Key, None] = {}
    for _, folder in own:
        parent = os.path.dirname(folder)
        while parent != folder:
            around[place, parent] = None
            folder, parent = parent, os.path.dirname(parent)
    return tuple(own), tuple(around)
