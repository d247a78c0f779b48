"""One command over the wire: its output, its end, and everything asked in any order."""

from __future__ import annotations

import asyncio
import os
import resource
import sys
import time
from pathlib import Path

import pytest

from dragoman.transport.owned_tree import owned_trees
from dragoman_local.workspace.lent_terminals import TerminalRequest
from dragoman_local.workspace.refusals import NOT_FOUND
from dragoman_local.workspace.settings import TerminalSettings
from dragoman_local.workspace.workspace import Workspace
from tests.runtime.raw import until
from tests.workspace.command_agent import code, gone, is_alive, pid_here, running

SLEEP = "sleep 60"
EURO = "\u20ac"


def python(text: str) -> tuple[str, ...]:
    return (sys.executable, "-c", text)


# Output and exit.


async def test_a_command_runs_and_tells_how_it_ended(tmp_path: Path) -> None:
    async with running(tmp_path) as agent:
        terminal = await agent.start("sh", "-c", "echo out; echo err >&2; exit 3")
        assert await agent.wait(terminal) == {"exitCode": 3, "signal": None}
        assert await agent.output(terminal) == {
            "output": "out\nerr\n",
            "truncated": False,
            "exitStatus": {"exitCode": 3, "signal": None},
        }
        assert (await agent.ask("release", terminalId=terminal))["result"] == {}


async def test_both_outputs_come_in_the_order_of_writing(tmp_path: Path) -> None:
    async with running(tmp_path) as agent:
        script = "for i in 1 2 3 4 5 6 7 8 9; do echo $i; echo e$i >&2; done"
        assert await agent.run("sh", "-c", script) == "".join(f"{i}\ne{i}\n" for i in range(1, 10))


async def test_a_running_command_has_output_and_no_exit_status(tmp_path: Path) -> None:
    async with running(tmp_path) as agent:
        terminal = await agent.start("sh", "-c", f"echo here; {SLEEP}")
        await agent.until(terminal, "here")
        assert await agent.output(terminal) == {"output": "here\n", "truncated": False}


async def test_arguments_are_text(tmp_path: Path) -> None:
    async with running(tmp_path) as agent:
        assert await agent.run("printf", "%s|", "$(id)", "a b", "*", ";ls", "") == "$(id)|a b|*|;ls||"


async def test_there_is_nothing_to_read_and_no_terminal(tmp_path: Path) -> None:
    async with running(tmp_path) as agent:
        assert await agent.run("cat") == ""
        assert await agent.run("sh", "-c", "test -t 1 || test -t 0 || echo no; : </dev/tty") != ""


async def test_nine_megabytes_are_cut_to_a_thousand_bytes_of_whole_characters(tmp_path: Path) -> None:
    async with running(tmp_path) as agent:
        text = "import sys\nfor i in range(300_000): sys.stdout.write(f'{i} ' + 6 * '\u20ac' + '\\n')"
        terminal = await agent.start(*python(text), outputByteLimit=1000)
        await agent.wait(terminal)
        shown = await agent.output(terminal)
        assert shown["truncated"]
        assert 990 < len(shown["output"].encode()) <= 1000
        assert shown["output"].endswith(f"299999 {6 * EURO}\n")
        assert "\ufffd" not in shown["output"]


async def test_what_is_no_text_is_replaced(tmp_path: Path) -> None:
    async with running(tmp_path) as agent:
        assert await agent.run("printf", r"a\377b\000") == "a\ufffdb\0"


async def test_no_limit_that_an_agent_asks_for_exceeds_ours(tmp_path: Path) -> None:
    workspace = Workspace(terminals=TerminalSettings(output_bytes=10, most_output_bytes=20))
    async with running(tmp_path, workspace) as agent:
        for limit, kept in ((2**63, 20), (None, 10), (5, 5), (0, 0)):
            written = await agent.run("printf", "x" * 30, outputByteLimit=limit)
            assert len(written) == kept


@pytest.mark.bound(20)
async def test_endless_output_costs_no_memory_and_stops_nobody(tmp_path: Path) -> None:
    async with Workspace() as workspace:
        workspace.open("s", cwd=str(tmp_path))
        terminals = workspace.terminals("s")
        terminal = terminals.get(await terminals.create(TerminalRequest(command="yes", args=["x" * 100])))
        await until(lambda: terminal.tail.is_truncated)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        end, turns = time.thread_time() + 0.7, 0  # of a processor: what others take of it stops nobody
        while time.thread_time() < end:
            await asyncio.sleep(0)
            turns += 1
        assert turns > 70
        assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 32 * 1024
        await terminal.kill()
        assert 1024 * 1024 - 4 < len(terminal.tail.text.encode()) <= 1024 * 1024


# Waiting, killing, releasing.


async def test_several_may_wait_and_all_are_answered(tmp_path: Path) -> None:
    async with running(tmp_path) as agent:
        terminal = await agent.start("sh", "-c", f"echo ready; {SLEEP}")
        await agent.until(terminal, "ready")
        waits = [agent.send("wait_for_exit", terminalId=terminal) for _ in range(5)]
        kill = agent.send("kill", terminalId=terminal)
        for wait in waits:
            assert (await agent.answer(wait))["result"] == {"exitCode": None, "signal": "SIGTERM"}
        assert (await agent.answer(kill))["result"] == {}


async def test_a_kill_keeps_the_id_and_may_be_repeated(tmp_path: Path) -> None:
    async with running(tmp_path) as agent:
        terminal = await agent.start("sh", "-c", f"echo ready; {SLEEP}")
        await agent.until(terminal, "ready")
        for _ in range(3):
            assert (await agent.ask("kill", terminalId=terminal))["result"] == {}
        shown = await agent.output(terminal)
        assert (shown["output"], shown["exitStatus"]["signal"]) == ("ready\n", "SIGTERM")


async def test_a_command_that_ignores_the_request_is_killed(tmp_path: Path) -> None:
    async with running(tmp_path, Workspace(terminals=TerminalSettings(grace=0.1))) as agent:
        terminal = await agent.start("sh", "-c", "trap '' TERM; echo ready; while :; do sleep 0.05; done")
        await agent.until(terminal, "ready")
        await agent.ask("kill", terminalId=terminal)
        assert (await agent.wait(terminal))["signal"] == "SIGKILL"


async def test_a_release_takes_the_whole_tree_and_answers_whoever_waits(tmp_path: Path) -> None:
    async with running(tmp_path) as agent:
        script = f"setsid {SLEEP} & {SLEEP} & echo $!; wait"
        terminal = await agent.start("sh", "-c", script)
        child = pid_here(int(await agent.until(terminal, "\n")))
        wait = agent.send("wait_for_exit", terminalId=terminal)
        tree = owned_trees()[-1]
        while len(members := tree.processes()) < 3:
            await agent.output(terminal)
        release = agent.send("release", terminalId=terminal)
        late = agent.send("output", terminalId=terminal)
        assert (await agent.answer(release))["result"] == {}
        assert "result" in await agent.answer(wait)
        assert code(await agent.answer(late)) == (NOT_FOUND, "no_terminal")
        assert child in [process.pid for process in members]
        assert not any(is_alive(process.pid) for process in members)


@pytest.mark.parametrize("method", ["output", "wait_for_exit", "kill", "release"])
async def test_after_its_release_an_id_is_nothing(tmp_path: Path, method: str) -> None:
    async with running(tmp_path) as agent:
        terminal = await agent.start("true")
        await agent.ask("release", terminalId=terminal)
        answer = await agent.ask(method, terminalId=terminal)
        assert code(answer) == (NOT_FOUND, "no_terminal")
        assert answer["error"]["data"]["terminalId"] == terminal


async def test_a_cancelled_wait_ends_and_disturbs_nobody(tmp_path: Path) -> None:
    async with running(tmp_path) as agent:
        terminal = await agent.start("sh", "-c", f"echo ready; {SLEEP}")
        await agent.until(terminal, "ready")
        stays = agent.send("wait_for_exit", terminalId=terminal)
        leaves = agent.send("wait_for_exit", terminalId=terminal)
        agent.cancel(leaves)
        assert (await agent.answer(leaves))["error"]["code"] == -32800
        assert "exitStatus" not in await agent.output(terminal)
        await agent.ask("kill", terminalId=terminal)
        assert (await agent.answer(stays))["result"]["signal"] == "SIGTERM"


async def test_a_cancelled_kill_kills_at_once(tmp_path: Path) -> None:
    async with running(tmp_path) as agent:
        terminal = await agent.start("sh", "-c", "trap '' TERM; echo ready; while :; do sleep 0.05; done")
        await agent.until(terminal, "ready")
        kill = agent.send("kill", terminalId=terminal)
        agent.cancel(kill)
        await agent.answer(kill)
        assert (await agent.wait(terminal))["signal"] == "SIGKILL"


async def test_what_a_command_leaves_running_ends_with_it(tmp_path: Path) -> None:
    async with running(tmp_path) as agent:
        os.mkfifo(tmp_path / "go")
        terminal = await agent.start("sh", "-c", f"{SLEEP} & echo $!; cat go")
        child = pid_here(int(await agent.until(terminal, "\n")))
        assert is_alive(child)
        (tmp_path / "go").write_text("")
        assert (await agent.wait(terminal))["exitCode"] == 0
        await gone(child)


async def test_everything_at_once_in_every_order(tmp_path: Path) -> None:
    async with running(tmp_path) as agent:
        methods = ("output", "wait_for_exit", "kill", "release")
        asked: list[str] = []
        for first in methods:
            for second in methods:
                terminal = await agent.start("sleep", "60")
                asked += [
                    agent.send(name, terminalId=terminal) for name in (first, second, "kill", "release")
                ]
        answers = [await agent.answer(one) for one in asked]
        assert all("result" in answer or code(answer) == (NOT_FOUND, "no_terminal") for answer in answers)
        assert owned_trees() == []
