"""The history of a folder: its snapshots and turns; for a fork, also those of its source.

A fork begins as its source was at a look. What its first look finds to be otherwise was not seen being made.
What looks found is read when it is asked for: a store has far more of it than a question needs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from dragoman_local.workspace.tree_store import Change, Fork, Look, TreeStore, Turn


class FolderLine(Struct, frozen=True, kw_only=True):
    """Snapshots, and the turns between them."""

    store: TreeStore
    looks: Sequence[Look]
    turns: Sequence[Turn]
    roots: Mapping[int, str]
    """The folder of each turn."""
    parts: Sequence[tuple[str, int, int]]
    """Folders with their own first and last snapshot."""
    beginnings: Mapping[int, Mapping[str, Change]] = {}
    """The further contents at the first snapshot of a fork."""

    def changes_at(self, look: int) -> Mapping[str, Change]:
        """Return the differences that a snapshot found, by path."""
        found = self.beginnings.get(look)
        return self.store.changes_at(look) if found is None else found

    def changes_of(self, path: str) -> Mapping[int, Change]:
        """Return the differences of one file, by snapshot."""
        found = {look: changes[path] for look, changes in self.beginnings.items() if path in changes}
        for root, first, last in self.parts:
            found |= {
                look: change
                for look, change in self.store.changes_of(root, path).items()
                if first <= look <= last and look not in self.beginnings
            }
        return found


def folder_line(store: TreeStore, root: str, *, since: int = 0) -> FolderLine:
    """Return the history of a folder in the store, from a snapshot on, and of its sources."""
    fork = store.fork_of(root)
    if fork is not None and since < fork.first:
        since = 0
    turns, looks = store.turns(root, since=since), store.looks(root, since=since)
    line = FolderLine(
        store=store,
        looks=looks,
        turns=turns,
        roots={turn.id: root for turn in turns},
        parts=[(root, 0, looks[-1].id if looks else 0)],  # others may look meanwhile
    )
    return line if fork is None else _behind(folder_line(store, fork.source), fork, line, root)


def _behind(source: FolderLine, fork: Fork, own: FolderLine, root: str) -> FolderLine:
    looks = [look for look in source.looks if look.id <= fork.look]
    if not looks:
        return own  # forgotten since
    end = looks[-1].id
    there, here = own.store.tree(fork.source, fork.look), own.store.tree(root, fork.first)
    turns = [
        turn._replace(last=end if turn.last is None else min(turn.last, end))
        for turn in source.turns
        if turn.first is not None and turn.first < end
    ]
    return replace(
        own,
        looks=[*looks, *(look for look in own.looks if look.id >= fork.first)],
        turns=[*turns, *own.turns],
        roots={**source.roots, **own.roots},
        parts=[
            *((root, fork.first, last) for _, _, last in own.parts),
            *((folder, first, min(last, end)) for folder, first, last in source.parts),
        ],
        beginnings={
            **source.beginnings,
            fork.first: {
                path: Change(path, here.get(path), is_sure=False)
                for path in there.keys() | here.keys()
                if there.get(path) != here.get(path)
            },
        },
    )
