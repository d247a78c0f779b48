"""This machine's files and commands, for an agent whose client lends none."""

from __future__ import annotations

from pathlib import Path

import pytest

from dragoman import KitTurn
from dragoman.errors import CallFailed
from tests.kit.kit_agents import alive, handled_by, listening


async def test_files_and_commands_stay_inside_the_folders_of_the_session(tmp_path: Path) -> None:
    inside = tmp_path / "inside"
    inside.mkdir()
    (inside / "a.txt").write_text("here")
    (tmp_path / "b.txt").write_text("there")

    async def work(turn: KitTurn[None]) -> None:
        read = await turn.session.local.files.read(turn.text)
        ran = await turn.run("sh", "-c", "pwd; exit 3")
        await turn.say(f"{read.text} {ran.output.strip()} {ran.exit_code}")

    async with listening(handled_by(work)) as (handle, _):
        session = await handle.new_session(cwd=str(inside))
        assert (await session.prompt(str(inside / "a.txt"))).text == f"here {inside} 3"
        with pytest.raises(CallFailed):
            await session.prompt(str(tmp_path / "b.txt"))


async def test_commands_that_were_left_running_end_with_the_session(tmp_path: Path) -> None:
    from dragoman_local.workspace.lent_terminals import TerminalRequest

    pids: list[int] = []

    async def work(turn: KitTurn[None]) -> None:
        terminals = turn.session.local.terminals
        started = await terminals.create(TerminalRequest(command="sleep", args=["600"]))
        pids.append(terminals.get(started).tree.pid)

    async with listening(handled_by(work)) as (handle, _):
        session = await handle.new_session(cwd=str(tmp_path))
        await session.prompt("go")
        assert alive(pids[0])
        await session.close()
        assert not alive(pids[0])
