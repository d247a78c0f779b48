"""The history of a folder: its snapshots and turns; for a fork, also those of its source.

A fork begins as its source was at a look. What its first look finds to be otherwise was not seen being made.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from dragoman_local.workspace.snapshot_entries import SnapshotEntry
from dragoman_local.workspace.tree_store import Change, Fork, Look, TreeStore, Turn


class FolderLine(Struct, frozen=True):
    """Snapshots, their differences, and the turns between them."""

    looks: Sequence[Look]
    changes: Mapping[int, Mapping[str, Change]]
    """By look and path."""
    turns: Sequence[Turn]
    roots: Mapping[int, str]
    """By turn, the folder in which it ran."""


def folder_line(store: TreeStore, root: str) -> FolderLine:
    """The stored history of a folder, and of the folders that it was made from."""
    turns = store.turns(root)
    line = FolderLine(store.looks(root), store.changes(root), turns, {turn.id: root for turn in turns})
    fork = store.fork_of(root)
    return line if fork is None else _behind(folder_line(store, fork.source), fork, line, store, root)


def _behind(source: FolderLine, fork: Fork, own: FolderLine, store: TreeStore, root: str) -> FolderLine:
    looks = [look for look in source.looks if look.id <= fork.look]
    if not looks:
        return own  # forgotten since
    end = looks[-1].id
    there, here = store.tree(fork.source, fork.look), store.tree(root, fork.first)
    turns = [
        turn._replace(last=end if turn.last is None else min(turn.last, end))
        for turn in source.turns
        if turn.first is not None and turn.first < end
    ]
    return FolderLine(
        looks=[*looks, *(look for look in own.looks if look.id >= fork.first)],
        changes={**source.changes, **own.changes, fork.first: dict(_differences(there, here))},
        turns=[*turns, *own.turns],
        roots={**source.roots, **own.roots},
    )


def _differences(
    there: Mapping[str, SnapshotEntry], here: Mapping[str, SnapshotEntry]
) -> Iterator[tuple[str, Change]]:
    for path in there.keys() | here.keys():
        if there.get(path) != here.get(path):
            yield path, Change(path, here.get(path), is_sure=False)
