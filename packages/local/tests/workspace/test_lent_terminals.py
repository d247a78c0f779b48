"""The commands of a session: guards, bounds, and ends; nothing is left of any."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from dragoman import Agent, Client, Turn, blocking
from dragoman.errors import ErrorAnswer
from dragoman.testing.pace import patience
from dragoman.transport.owned_tree import owned_trees
from dragoman.transport.tree import members
from dragoman_local.sandbox import wall
from dragoman_local.sandbox.boundary import SandboxChoice
from dragoman_local.workspace.lent_files import Access
from dragoman_local.workspace.lent_terminals import LentTerminals, TerminalRequest
from dragoman_local.workspace.places import FilePlace
from dragoman_local.workspace.refusals import FORBIDDEN, NOT_FOUND
from dragoman_local.workspace.roots import Roots
from dragoman_local.workspace.settings import TerminalSettings
from dragoman_local.workspace.workspace import Workspace
from tests.faults.watch import eventually
from tests.sandbox.stage import need_wall
from tests.workspace.command_agent import code, descriptors, gone, is_alive, pid_here, running

SLEEP = "sleep 60"
EURO = "\u20ac"


def python(text: str) -> tuple[str, ...]:
    return (sys.executable, "-c", text)


# Guards, sessions, bounds.


async def test_a_guard_sees_what_is_really_started_and_may_refuse(tmp_path: Path) -> None:
    seen: list[Access] = []

    async def guard(access: Access) -> None:
        seen.append(access)
        if access.command is not None and access.command.shell_line is not None:
            raise ErrorAnswer(FORBIDDEN, "no", {"reason": "policy"})

    workspace = Workspace(guard=guard, terminals=TerminalSettings(shell_lines=True))
    async with running(tmp_path, workspace) as agent:
        await agent.run("echo hello", env=[{"name": "B", "value": "1"}, {"name": "A", "value": "2"}])
        assert code(await agent.create("echo a > file")) == (FORBIDDEN, "policy")
    first, second = (access.command for access in seen)
    assert first is not None
    assert second is not None
    assert (first.words, first.cwd, first.env_names) == (("echo", "hello"), str(tmp_path), ("A", "B"))
    assert seen[0].path == first.program
    assert os.path.isabs(first.program)
    assert (seen[0].kind, seen[0].session_id) == ("run", "s1")
    assert second.shell_line == "echo a > file"
    assert list(tmp_path.iterdir()) == []


class SlowRoots(Roots):
    """A disk that takes its time."""

    inside, go = threading.Event(), threading.Event()

    @contextmanager
    def place(
        self, path: str, *, make_folders: bool = False, may_be_folder: bool = False
    ) -> Iterator[FilePlace]:
        self.inside.set()
        assert self.go.wait(patience(5))
        with super().place(path, make_folders=make_folders, may_be_folder=may_be_folder) as place:
            yield place


async def test_a_folder_that_is_opened_for_nobody_any_more_is_closed(tmp_path: Path) -> None:
    roots = SlowRoots(str(tmp_path))
    with roots:
        terminals = LentTerminals(roots, TerminalSettings())
        await eventually(lambda: True)  # how busy the machine is stands in a file that is opened once
        before, tasks = descriptors(), asyncio.all_tasks()
        creating = asyncio.create_task(terminals.create(TerminalRequest(command="true")))
        await asyncio.to_thread(roots.inside.wait, 5)
        creating.cancel()
        await asyncio.wait((creating,))
        roots.go.set()
        await eventually(lambda: descriptors() == before and asyncio.all_tasks() == tasks)
    assert creating.cancelled()


async def test_a_session_that_closes_while_the_guard_thinks_starts_nothing(tmp_path: Path) -> None:
    asked, decided = asyncio.Event(), asyncio.Event()

    async def guard(_: Access) -> None:
        asked.set()
        await decided.wait()

    with Workspace(guard=guard) as workspace:
        workspace.open("s", cwd=str(tmp_path))
        starting = asyncio.create_task(workspace.terminals("s").create(TerminalRequest(command="true")))
        await asked.wait()
        workspace.close("s")
        decided.set()
        with pytest.raises(ErrorAnswer, match="closed"):
            await starting


async def test_a_terminal_belongs_to_its_session(tmp_path: Path) -> None:
    async with running(tmp_path) as agent:
        terminal = await agent.start("sleep", "60")
        mine, agent.session_id = agent.session_id, "foreign"
        assert code(await agent.ask("output", terminalId=terminal))[0] == NOT_FOUND
        with Workspace() as workspace:
            workspace.open("other", cwd=str(tmp_path))
            with pytest.raises(ErrorAnswer, match="no such terminal"):
                workspace.terminals("other").get(terminal)
        agent.session_id = mine
        assert "result" in await agent.ask("output", terminalId=terminal)


async def test_commands_that_run_at_once_are_bounded(tmp_path: Path) -> None:
    async with running(tmp_path, Workspace(terminals=TerminalSettings(most_running=2))) as agent:
        first = await agent.start("sleep", "60")
        await agent.start("sleep", "60")
        assert code(await agent.create("true")) == (FORBIDDEN, "too_many")
        await agent.ask("kill", terminalId=first)
        await agent.run("true")


async def test_an_agent_that_never_releases_loses_its_oldest_output(tmp_path: Path) -> None:
    settings = TerminalSettings(most_kept=3)
    async with running(tmp_path, Workspace(terminals=settings)) as agent:
        started = []
        for _ in range(5):
            started.append(await agent.start("true"))
            await agent.wait(started[-1])
        answers = [await agent.ask("output", terminalId=terminal) for terminal in started]
        assert ["result" in answer for answer in answers] == [False, False, True, True, True]


async def test_opening_a_session_again_keeps_its_commands(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    async with Workspace() as workspace:
        workspace.open("s", cwd=str(tmp_path))
        terminal = await workspace.terminals("s").create(TerminalRequest(command="sleep", args=["60"]))
        workspace.open("s", cwd=str(tmp_path / "other"))
        assert workspace.terminals("s").get(terminal).exit is None
        where = await workspace.terminals("s").create(TerminalRequest(command="pwd"))
        await workspace.terminals("s").wait(where)
        assert workspace.terminals("s").get(where).tail.text == f"{tmp_path}/other\n"


# Ends.


async def test_closing_a_session_ends_its_commands_at_once(tmp_path: Path) -> None:
    before = descriptors()
    with Workspace() as workspace:
        workspace.open("s", cwd=str(tmp_path))
        terminals = workspace.terminals("s")
        terminal = await terminals.create(
            TerminalRequest(command="sh", args=["-c", f"trap '' TERM; {SLEEP}"])
        )
        waiting = asyncio.create_task(terminals.wait(terminal))
        await asyncio.sleep(0)
        pid = terminals.get(terminal).tree.pid
        workspace.close("s")
        assert not is_alive(pid)
        assert (await waiting).signal == "SIGKILL"
    assert owned_trees() == []
    assert descriptors() == before


def test_a_workspace_may_outlive_the_loop_of_its_commands(tmp_path: Path) -> None:
    before = descriptors()
    with Workspace() as workspace:
        workspace.open("s", cwd=str(tmp_path))

        async def start() -> int:
            terminal = await workspace.terminals("s").create(TerminalRequest(command="sleep", args=["60"]))
            return workspace.terminals("s").get(terminal).tree.pid

        pid = asyncio.run(start())
        assert is_alive(pid)
    assert not is_alive(pid)
    assert owned_trees() == []
    assert descriptors() == before


def test_a_blocking_client_has_terminals_too(tmp_path: Path) -> None:
    agent = Agent("runner")

    @agent.prompt
    async def run(turn: Turn) -> None:
        asked = {"sessionId": turn.session_id, "command": "sleep", "args": ["60"]}
        await turn.client.call("terminal/create", asked)
        answer = await turn.client.call("terminal/create", {**asked, "command": "echo", "args": ["hi"]})
        named = {"sessionId": turn.session_id, "terminalId": answer["terminalId"]}
        await turn.client.call("terminal/wait_for_exit", named)
        await turn.say((await turn.client.call("terminal/output", named))["output"])

    with Workspace() as workspace:
        client = Client()
        workspace.serve(client)
        with blocking.connect(agent, client=client) as handle:
            with workspace.opening(cwd=str(tmp_path)) as opening:
                session = handle.new_session(cwd=str(tmp_path))
                opening.settle(session.id)
            assert session.prompt("go").result.text == "hi\n"
            workspace.close(session.id)
            assert owned_trees() == []


KILLED = """
import asyncio, sys
from dragoman_local.workspace.lent_terminals import TerminalRequest
from dragoman_local.workspace.workspace import Workspace
from dragoman.transport.owned_tree import owned_trees

async def main():
    workspace = Workspace()
    workspace.open("s", cwd=sys.argv[1])
    script = "setsid sleep 60 & sleep 60 & echo $$; wait"
    terminal = await workspace.terminals("s").create(TerminalRequest(command="sh", args=["-c", script]))
    while "\\n" not in (text := workspace.terminals("s").get(terminal).tail.text):
        await asyncio.sleep(0.01)
    print(owned_trees()[-1].pid, text, end="", flush=True)
    await asyncio.sleep(60)

asyncio.run(main())
"""


@pytest.mark.bound(15)
async def test_nothing_survives_a_client_that_is_killed(tmp_path: Path) -> None:
    client = subprocess.Popen(
        [sys.executable, "-c", KILLED, str(tmp_path)], stdout=subprocess.PIPE, text=True
    )
    assert client.stdout is not None
    with client.stdout as output:
        root, number = map(int, (await asyncio.to_thread(output.readline)).split())
    shell = pid_here(number, members(root))
    session = [process.pid for process in _processes() if process.session == shell or process.parent == shell]
    assert len(session) >= 3
    client.send_signal(signal.SIGKILL)
    client.wait()
    for pid in session:
        await gone(pid)


def _processes() -> Any:
    from dragoman.transport.tree import processes

    return processes().values()


# The sandbox.


async def test_a_command_runs_behind_the_wall_and_a_guard_sees_that(tmp_path: Path) -> None:
    need_wall()
    seen: list[Access] = []

    async def guard(access: Access) -> None:
        seen.append(access)

    folder = tmp_path / "here"
    folder.mkdir()
    async with running(folder, Workspace(guard=guard)) as agent:
        text = await agent.run(
            "sh", "-c", "echo x > inside; echo kept > /tmp/note; echo x > /etc/dragoman-note"
        )
        assert "/etc/dragoman-note" in text
        assert not Path("/etc/dragoman-note").exists()
        assert await agent.run("cat", "/tmp/note") == "kept\n"
    assert [command.command.wall for command in seen if command.command] == ["workspace", "workspace"]
    assert [path.name for path in tmp_path.rglob("*")] == ["here", "inside"]


@pytest.mark.parametrize("line", ["exit 0", "trap '' TERM; echo up; sleep 60 & wait; sleep 60"])
async def test_what_a_command_made_that_others_obey_has_another_name_also_if_it_was_killed(
    tmp_path: Path, line: str
) -> None:
    """A command that does not end when it is asked is killed, and its launcher with it."""
    need_wall()
    async with running(tmp_path, Workspace(terminals=TerminalSettings(grace=0.1))) as agent:
        terminal = await agent.start("sh", "-c", f"echo x > .envrc; echo up; {line}")
        await agent.until(terminal, "up")
        await agent.ask("kill", terminalId=terminal)
        await agent.wait(terminal)
        assert f"this command made {tmp_path}/.envrc" in (await agent.output(terminal))["output"]
    assert [path.name for path in tmp_path.iterdir()] == [".envrc-made-inside-1"]


@pytest.mark.parametrize("choice", ["auto", "workspace", "off"])
async def test_a_machine_without_walls_says_so_and_refuses_one_that_was_chosen(
    tmp_path: Path, choice: SandboxChoice, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wall, "_why_not", lambda **_: "the kernel is too old")
    heard: list[str] = []
    workspace = Workspace(terminals=TerminalSettings(sandbox=choice), on_no_wall=heard.append)
    async with running(tmp_path, workspace) as agent:
        for _ in range(2):
            if choice == "workspace":
                assert code(await agent.create("true")) == (FORBIDDEN, "no_wall")
            else:
                assert await agent.run("echo", "ran") == "ran\n"
    told = ["commands run without a sandbox: the kernel is too old"]
    assert heard == (told if choice == "auto" else [])


def test_a_workspace_can_lend_no_terminals() -> None:
    client = Client()
    Workspace(terminals=None).serve(client)
    assert client.capabilities().terminal is False


def test_a_client_advertises_what_its_workspace_adds() -> None:
    client = Client()
    client.meta["mine"] = 1
    Workspace().serve(client)
    offered = client.capabilities()
    assert offered.terminal is True
    assert isinstance(offered.meta, dict)
    assert offered.meta["mine"] == 1
    assert "_dragoman/fs/stat" in offered.meta["dragoman"]["extensions"]
