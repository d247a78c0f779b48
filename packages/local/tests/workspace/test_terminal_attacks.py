"""The corpus of attacks on terminals: none succeeds."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from dragoman.transport.owned_tree import owned_trees
from dragoman.transport.tree import processes
from dragoman_local.workspace.lent_files import Access
from dragoman_local.workspace.lent_terminals import TerminalRequest
from dragoman_local.workspace.settings import TerminalSettings
from dragoman_local.workspace.workspace import Workspace
from tests.workspace.command_agent import Running, running
from tests.workspace.terminal_attacks import CONTAINED, REFUSED, SECRET, Attack


@asynccontextmanager
async def ground(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[tuple[Running, Path, Path]]:
    monkeypatch.setenv("SOME_SERVICE", SECRET)
    monkeypatch.setenv("SOME_TOKEN", SECRET)
    root, outside = tmp_path / "root", tmp_path / "outside"
    for folder in (root, outside, tmp_path / "root-twin"):
        folder.mkdir()
    (outside / "secret.txt").write_text(SECRET)
    # What a command leaves behind gets little time to go by itself, so that tests are short.
    async with running(root, Workspace(terminals=TerminalSettings(grace=0.1))) as agent:
        yield agent, root, outside


def params(attack: Attack, root: Path, outside: Path) -> dict[str, Any]:
    def filled(value: Any) -> Any:
        if isinstance(value, str):
            return value.replace("{root}", str(root)).replace("{outside}", str(outside))
        if isinstance(value, list | tuple):
            return [filled(one) for one in value]
        return {key: filled(one) for key, one in value.items()} if isinstance(value, dict) else value

    asked = {"command": attack.command, "args": list(attack.args), **attack.more}
    asked["env"] = [{"name": name, "value": value} for name, value in attack.env.items()]
    if attack.cwd is not None:
        asked["cwd"] = attack.cwd
    for name, target in attack.links:
        (root / name).symlink_to(filled(target))
    for name, text in attack.programs:
        (root / name).write_text(filled(text))
        (root / name).chmod(0o755)
    return {key: filled(value) for key, value in asked.items()}


def assert_unharmed(outside: Path) -> None:
    assert [path.name for path in outside.iterdir()] == ["secret.txt"]
    assert (outside / "secret.txt").read_text() == SECRET


@pytest.mark.parametrize("attack", REFUSED, ids=[attack.what for attack in REFUSED])
async def test_it_is_refused(attack: Attack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with ground(tmp_path, monkeypatch) as (agent, root, outside):
        answer = await agent.ask("create", **params(attack, root, outside))
        assert "error" in answer
        assert SECRET not in str(answer)
        assert owned_trees() == []
        assert_unharmed(outside)
        assert await agent.run("echo", "alive") == "alive\n"


@pytest.mark.parametrize("attack", CONTAINED, ids=[attack.what for attack in CONTAINED])
async def test_it_gains_nothing(attack: Attack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with ground(tmp_path, monkeypatch) as (agent, root, outside):
        answer = await agent.ask("create", **params(attack, root, outside))
        terminal = answer["result"]["terminalId"]
        wait = agent.send("wait_for_exit", terminalId=terminal)
        await asyncio.sleep(0.05)  # not to wait for anything: to give the attack a chance
        shown = await agent.output(terminal)
        assert SECRET not in shown["output"]
        assert (await agent.ask("release", terminalId=terminal))["result"] == {}
        assert "result" in await agent.answer(wait)
        assert [pid for pid, one in processes().items() if not one.dead and _is_in(root, pid)] == []
        assert owned_trees() == []
        assert_unharmed(outside)


def _is_in(root: Path, pid: int) -> bool:
    """Whether this is a process of the attack: they all stay in their folder."""
    try:
        return Path(f"/proc/{pid}/cwd").readlink() == root
    except OSError:  # gone, or not ours to look at
        return False


async def test_a_folder_that_is_exchanged_after_approval_is_still_the_approved_one(tmp_path: Path) -> None:
    (tmp_path / "root/sub").mkdir(parents=True)
    (tmp_path / "outside").mkdir()

    async def guard(access: Access) -> None:
        assert access.command is not None
        assert access.command.cwd == str(tmp_path / "root/sub")
        (tmp_path / "root/sub").rename(tmp_path / "root/moved")
        (tmp_path / "root/sub").symlink_to(tmp_path / "outside")

    async with Workspace(guard=guard) as workspace:
        workspace.open("s", cwd=str(tmp_path / "root"))
        terminals = workspace.terminals("s")
        wanted = TerminalRequest(command="touch", args=["witness"], cwd=str(tmp_path / "root/sub"))
        await terminals.wait(await terminals.create(wanted))
    assert list((tmp_path / "outside").iterdir()) == []
    assert [path.name for path in (tmp_path / "root/moved").iterdir()] == ["witness"]


async def test_a_program_behind_another_path_is_shown_to_the_guard_as_what_it_is(tmp_path: Path) -> None:
    (tmp_path / "ls").write_text("#!/bin/sh\n")
    (tmp_path / "ls").chmod(0o755)
    seen: list[str] = []

    async def guard(access: Access) -> None:
        seen.append(access.path)

    async with Workspace(guard=guard) as workspace:
        workspace.open("s", cwd=str(tmp_path))
        terminals = workspace.terminals("s")
        await terminals.create(TerminalRequest(command="ls", env=[("PATH", str(tmp_path))]))
    assert seen == [str(tmp_path / "ls")]


def test_the_corpus_is_large_enough() -> None:
    names = [attack.what for attack in (*REFUSED, *CONTAINED)]
    assert len(set(names)) == len(names) >= 60
