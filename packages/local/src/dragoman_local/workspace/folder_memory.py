"""The store of trees, asked about one folder: how it is now, and who wrote the lines of its files."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping, Sequence
from math import inf

from msgspec import Struct

from dragoman_local.workspace.line_history import LineHistory, Origin
from dragoman_local.workspace.snapshots import Snapshot, take_snapshot
from dragoman_local.workspace.text import lines_of
from dragoman_local.workspace.tree_store import TreeStore
from dragoman_local.workspace.turn_facts import By, FactsReader, OpenJournal


class BlamedLine(Struct, frozen=True, kw_only=True):
    """Whose a line is."""

    line: int
    by: By
    session: str | None = None
    turn: int | None = None
    prompt: str | None = None
    agent: str | None = None
    model: str | None = None
    tool_call: str | None = None
    approved_by: str | None = None
    """The answer to the agent's permission request."""
    approver: str | None = None
    """Who answered, if a hub recorded it: a token's name, or `policy`."""


def roots_around(store: TreeStore, path: str) -> list[str]:
    """Return the stored folders around a path; the one with the most changes to it comes first."""
    whole = os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path))
    roots = [root for root in store.roots() if whole == root or whole.startswith(f"{root}/")]

    def rank(root: str) -> tuple[int, int]:
        return len(store.changes_of(root, os.path.relpath(whole, root))), len(root)

    return sorted(roots, key=rank, reverse=True)


async def look_now(store: TreeStore, root: str) -> Snapshot:
    """The folder as it is, as one more look of its line."""
    snapshot = await take_snapshot([root], store=store)
    await snapshot.record(None, "now")
    return snapshot


class FolderMemory:
    """Who wrote the lines of files in one folder, as they were at its last look."""

    def __init__(
        self,
        store: TreeStore,
        root: str,
        open_journal: OpenJournal,
        *,
        since: int = 0,
        most_bytes: float = inf,
    ) -> None:
        """Reads the store, with `since` from that look on. `most_bytes` limits the earlier contents to read,
        and the frames.
        """
        self.root = root
        self._history = LineHistory(
            store,
            root,
            choose=lambda turns, change, line: self.facts.choose(turns, change, line),
            since=since,
            most_bytes=most_bytes,
        )
        line = self._history.line
        self.turns = [turn for turn in line.turns if turn.kind == "turn"]
        times = {look.id: look.time for look in line.looks}
        ends = {turn.id: times[turn.last] for turn in self.turns if turn.last in times}
        self.facts = FactsReader(line.roots, ends, open_journal, most_bytes=most_bytes)

    async def blame(self, path: str) -> list[BlamedLine] | None:
        """Return the authors of a file by its path in the folder; None if it is not stored as text. An empty
        line belongs to the author of the line below it.
        """
        await self.facts.read(self._history.side_by_side())
        found = await asyncio.to_thread(self._history.origins, path)
        if found is None:
            return None
        texts, origins = [text for text, _ in found], [origin for _, origin in found]
        return (await self._blame({path: texts}, {path: origins}))[path]

    async def blame_texts(self, texts: Mapping[str, bytes]) -> dict[str, list[BlamedLine]]:
        """The same of texts that files of these paths have, or had at some time."""
        await self.facts.read(self._history.side_by_side())
        origins = await asyncio.to_thread(self._history.origins_in, texts)
        lines = {path: lines_of(text.decode(errors="replace")) for path, text in texts.items()}
        return await self._blame(lines, origins)

    async def changed_by_others(self) -> tuple[set[str], set[str]]:
        """Return the files that somebody else than a turn changed, or may have changed because no turn
        announced it; and those that changed while a command of a turn ran.
        """
        changes = await asyncio.to_thread(lambda: list(self._history.changes_since()))
        await self.facts.read([turn for turns, _ in changes for turn in turns])
        return (
            {change.path for turns, change in changes if not self.facts.explain(turns, change)},
            {
                change.path
                for turns, change in changes
                if any(self.facts.of(turn).had_command(change.changed_at) for turn in turns)
            },
        )

    def has_found(self, path: str, digest: str) -> bool:
        return self._history.has_found(path, digest)

    async def _blame(
        self, texts: Mapping[str, Sequence[str]], origins: Mapping[str, Sequence[Origin]]
    ) -> dict[str, list[BlamedLine]]:
        turns = {origin.turn.id: origin.turn for own in origins.values() for origin in own if origin.turn}
        await self.facts.read(list(turns.values()))
        return await asyncio.to_thread(self._blame_all, texts, origins)

    def _blame_all(
        self, texts: Mapping[str, Sequence[str]], origins: Mapping[str, Sequence[Origin]]
    ) -> dict[str, list[BlamedLine]]:
        blamed: dict[str, list[BlamedLine]] = {}
        for path, own in origins.items():
            lines: list[BlamedLine] = []
            below: Origin | None = None
            for number in range(len(own), 0, -1):
                is_empty = not texts[path][number - 1].strip()
                below = below if below is not None and is_empty else own[number - 1]
                lines.append(self._line(number, below))
            blamed[path] = lines[::-1]
        return blamed

    def _line(self, number: int, origin: Origin) -> BlamedLine:
        by, call = self.facts.who(origin)
        if (turn := origin.turn) is None:
            return BlamedLine(line=number, by=by)
        facts = self.facts.of(turn)
        return BlamedLine(
            line=number,
            by=by,
            session=turn.session,
            turn=turn.number,
            prompt=turn.prompt,
            agent=turn.agent,
            model=facts.model or None,
            tool_call=call,
            approved_by=facts.approvals.get(call or ""),
            approver=facts.approvers.get(call or ""),
        )
