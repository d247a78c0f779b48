"""What a hub keeps of turns: whose lines are, which prompt they followed, and nothing of what is erased."""

from __future__ import annotations

from pathlib import Path

import pytest

from dragoman_local.workspace.line_history import LineHistory, Origin
from dragoman_local.workspace.tree_store import store_beside
from tests.hub.lending.writer_stage import do, names, writer
from tests.hub.sessions.stage import staged
from tests.runtime.raw import until


@pytest.fixture
def project(tmp_path: Path) -> Path:
    project = tmp_path / "project"
    project.mkdir()
    (project / "old.txt").write_text("old\n")
    return project


def owner(journal: Path, project: Path, name: str) -> Origin | None:
    """Of the only line of a file; None if nothing is kept of it."""
    store = store_beside(journal)
    try:
        found = LineHistory(store, str(project)).origins(name)
    finally:
        store.close()
    return None if found is None else found[0][1]


async def test_turns_of_a_hub_are_kept_beside_its_journal_and_erased_with_their_sessions(
    project: Path, tmp_path: Path
) -> None:
    journal = tmp_path / "data" / "hub.db"
    async with staged({"one": writer}, changes=True, trees=str(journal)) as stage:
        client = await stage.client().begin()
        first, second = await client.new(str(project)), await client.new(str(project))
        await do(client, first, "write a.txt")
        assert await names(client, first) == ["a.txt"]
        (project / "typed.txt").write_text("typed\n")
        await do(client, second, "edit b.txt write c.txt")
        assert await names(client, second) == ["b.txt", "c.txt"]
        origin = owner(journal, project, "b.txt")
        assert origin is not None
        turn = origin.turn
        assert turn is not None
        assert (turn.session, turn.stream, turn.number, turn.agent) == (second, second, 1, "one")
        assert (turn.prompt, turn.journal) == ("edit b.txt write c.txt", str(journal))
        assert owner(journal, project, "typed.txt") == Origin(None)
        assert owner(journal, project, "old.txt") == Origin(None, is_known=False)
        await client.call("session/delete", {"sessionId": second})
        await until(lambda: owner(journal, project, "b.txt") is None)
        origin = owner(journal, project, "a.txt")
        assert origin is not None
        assert origin.turn is not None
        assert origin.turn.session == first


async def test_a_store_that_cannot_be_used_costs_no_turn(project: Path, tmp_path: Path) -> None:
    (tmp_path / "memory.db").write_text("no database " * 200)
    async with staged({"one": writer}, changes=True, trees=str(tmp_path / "hub.db")) as stage:
        client = await stage.client().begin()
        session = await client.new(str(project))
        await do(client, session, "write a.txt")
        assert await names(client, session) == ["a.txt"]
