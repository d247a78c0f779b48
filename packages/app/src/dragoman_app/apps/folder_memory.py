"""The store of trees for one folder: its current state, and who wrote the lines of its files."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct

from dragoman_app.apps.console import CommandFailed
from dragoman_app.apps.turn_facts import By, FactsReader
from dragoman_local.journal.history import history_path
from dragoman_local.workspace.line_history import LineHistory, Origin
from dragoman_local.workspace.snapshots import Snapshot, take_snapshot
from dragoman_local.workspace.text import lines_of
from dragoman_local.workspace.tree_store import Change, TreeStore, Turn, store_beside


class BlamedLine(Struct, frozen=True, kw_only=True):
    """The author of a line."""

    line: int
    by: By
    session: str | None = None
    turn: int | None = None
    prompt: str | None = None
    agent: str | None = None
    model: str | None = None
    tool_call: str | None = None
    approved_by: str | None = None


@contextmanager
def open_store(journal: str | None) -> Iterator[TreeStore]:
    """Open the store beside a journal. Raises `CommandFailed` if there is none."""
    store = store_beside(journal or history_path())
    if not os.path.exists(store.path):
        raise CommandFailed(
            f"no turn is remembered yet: {store.path} does not exist",
            "run a turn with `dragoman run`, `dragoman chat` or the hub",
        )
    try:
        yield store
    finally:
        store.close()


def session_turns(store: TreeStore, session: str | None, folder: str) -> list[Turn]:
    """Return the turns of a session, once for each of its folders; without a session, of the last session in
    the folder. Raises `CommandFailed`.
    """
    if session is None:
        here = [turn for turn in store.turns(folder) if turn.kind == "turn"]
        if not here:
            raise CommandFailed(
                f"no turn is remembered in {folder}", "name the session, or its folder with --folder"
            )
        session = here[-1].session
    turns = [turn for turn in store.turns() if turn.kind == "turn"]
    own = [turn for turn in turns if session in (turn.session, turn.stream)]
    own = own or [
        turn for turn in turns if turn.session.startswith(session) or turn.stream.startswith(session)
    ]
    if len({turn.session for turn in own}) != 1:
        raise CommandFailed(
            f"{'several sessions match' if own else 'no session matches'} {session!r}",
            "`dragoman sessions` lists them",
        )
    return own


def root_of(store: TreeStore, path: str) -> str:
    """Return the stored folder around a path: of several, the one with the most changes to it."""
    whole = os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path))
    roots = [root for root in store.roots() if whole == root or whole.startswith(f"{root}/")]
    if not roots:
        raise CommandFailed(
            f"no turn ran in the folder of {path}, so nothing is known of it",
            "name the folder of the session with --folder, or another journal with --journal",
        )
    return max(roots, key=lambda root: (len(store.changes_of(root, os.path.relpath(whole, root))), len(root)))


async def look_now(store: TreeStore, root: str) -> Snapshot:
    """Record the current state of the folder."""
    snapshot = await take_snapshot([root], store=store)
    await snapshot.record(None, "now")
    return snapshot


class FolderMemory:
    """Finds who wrote the lines of files in one folder, as of its last recorded state."""

    def __init__(self, store: TreeStore, root: str) -> None:
        self.root = root
        self._history = LineHistory(store, root, choose=self._choose)
        line = self._history.line
        self.turns = [turn for turn in line.turns if turn.kind == "turn"]
        times = {look.id: look.time for look in line.looks}
        ends = {turn.id: times[turn.last] for turn in self.turns if turn.last in times}
        self.facts = FactsReader(line.roots, ends)

    def _choose(self, turns: Sequence[Turn], change: Change, line: str) -> Turn | None:
        return self.facts.choose(turns, change, line)

    async def blame(self, path: str) -> list[BlamedLine]:
        """Return the authors of a file by its path in the folder. An empty line belongs to the author of the
        line below it.
        """
        await self.facts.read(self._history.side_by_side())
        found = await asyncio.to_thread(self._history.origins, path)
        if found is None:
            count = len(await asyncio.to_thread(read_text, Path(self.root, path)))
            return [BlamedLine(line=number, by="unknown") for number in range(1, count + 1)]
        texts, origins = [text for text, _ in found], [origin for _, origin in found]
        return (await self._blame({path: texts}, {path: origins}))[path]

    async def blame_texts(self, texts: Mapping[str, bytes]) -> dict[str, list[BlamedLine]]:
        """Do the same for texts that files of these paths have, or had at some time."""
        await self.facts.read(self._history.side_by_side())
        origins = await asyncio.to_thread(self._history.origins_in, texts)
        lines = {path: lines_of(text.decode(errors="replace")) for path, text in texts.items()}
        return await self._blame(lines, origins)

    def has_found(self, path: str, digest: str) -> bool:
        return self._history.has_found(path, digest)

    async def _blame(
        self, texts: Mapping[str, Sequence[str]], origins: Mapping[str, Sequence[Origin]]
    ) -> dict[str, list[BlamedLine]]:
        turns = {origin.turn.id: origin.turn for own in origins.values() for origin in own if origin.turn}
        await self.facts.read(list(turns.values()))
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
        turn: Turn | None = origin.turn
        if turn is None:
            return BlamedLine(line=number, by=by)
        return BlamedLine(
            line=number,
            by=by,
            session=turn.session,
            turn=turn.number,
            prompt=turn.prompt,
            agent=turn.agent,
            model=self.facts.of(turn).model or None,
            tool_call=call,
            approved_by=None if call is None else self.facts.of(turn).approvals.get(call),
        )


def read_text(path: Path) -> list[str]:
    """Return the lines of a file; none if it is not text."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise CommandFailed(f"{path} cannot be read: {error.strerror}", "name an existing file") from None
    return (
        [] if b"\0" in data else [line.removesuffix("\n") for line in lines_of(data.decode(errors="replace"))]
    )
