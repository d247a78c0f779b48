"""Agents that die, hang, or leave something behind; and what becomes of them when the client goes."""

from __future__ import annotations

import shutil
import signal
import time
from pathlib import Path

import pytest

from dragoman.testing.pace import patience
from tests.faults.client.cases import cases, fault
from tests.faults.client.faulty_run import (
    AT_ONCE,
    DRAGOMAN,
    IN_TIME,
    WELL,
    complete,
    complete_in_fork,
    running,
)
from tests.together import SideBySide

pytestmark = pytest.mark.bound(60)
together = SideBySide(3)


@cases({"CLI-01": (9, "configuration"), "CLI-X18": (9, "line 19999 of my last words"), "CLI-X19": (9, "")})
@together
async def test_an_agent_that_ends_at_once_is_reported(
    fault: str, case: tuple[int, str], tmp_path: Path
) -> None:
    run = await complete_in_fork("process", fault, tmp_path, format_="text")
    assert run.status == case[0]
    assert case[1] in run.err
    assert run.took_at_most(IN_TIME)
    assert len(run.err) < 100_000
    assert "\x1b" not in run.err


@cases({"CLI-02": "no-such-program", "CLI-X14": "/", "CLI-X27": "/etc/hostname", "CLI-X28": "'unclosed"})
@together
async def test_a_command_that_cannot_be_started_is_named(case: str, tmp_path: Path) -> None:
    run = await complete_in_fork("", "", tmp_path, command=case)
    assert run.status in (2, 127)
    assert case.strip("'/") in run.err
    assert run.took_at_most(IN_TIME)


@cases(
    {
        "CLI-04": 9,
        "CLI-X01": 9,
        "CLI-X02": 9,
        "CLI-X03": 9,
        "CLI-X21": 9,
    }
)
@together
async def test_a_death_in_the_middle_is_noticed_at_once(fault: str, case: int, tmp_path: Path) -> None:
    run = await complete_in_fork("process", fault, tmp_path)
    assert (run.status, run.outcome) == (case, "agent_died")
    assert run.took_at_most(10)
    if fault in ("CLI-X01", "CLI-X02"):
        assert "SIG" in run.events[-1]["message"]


@cases(
    {
        "CLI-05": ("--start-timeout", "1"),
        "CLI-X08": ("--silence", "0.5"),
        "CLI-X15": ("--timeout", "1.5"),
        "CLI-X29": ("--timeout", "1.5"),
    }
)
@together
async def test_an_agent_that_hangs_meets_its_deadline(
    fault: str, case: tuple[str, str], tmp_path: Path
) -> None:
    run = await complete_in_fork(
        "process", "CLI-05" if fault == "CLI-X29" else fault, tmp_path, *case, *AT_ONCE
    )
    assert (run.status, run.outcome) == (124, "timeout")
    assert run.took_at_most(IN_TIME)


@fault("CLI-X30")
def test_an_agent_that_never_answers_is_given_up_without_being_asked_to() -> None:
    from dragoman_app.cli.parser import make_parser

    chosen = make_parser().parse_args(["run", "hello"])
    assert 0 < chosen.start_timeout <= 50  # and what follows takes ten seconds at most, see CLI-07


@cases({"CLI-07": 10, "CLI-X16": 10, "CLI-08": 10, "CLI-X06": 10, "CLI-X22": 10, "CLI-X26": 10})
@together
async def test_nothing_is_left_of_an_agent_after_the_turn(fault: str, case: int, tmp_path: Path) -> None:
    run = await complete_in_fork("process", fault, tmp_path, *(AT_ONCE if fault == "CLI-X16" else ()))
    assert (run.status, run.text) == (0, WELL)
    assert run.took_at_most(case)


@fault("CLI-X17")
@together
async def test_a_child_that_holds_the_output_does_not_hide_the_death(fault: str, tmp_path: Path) -> None:
    run = await complete_in_fork("process", fault, tmp_path)
    assert (run.status, run.text) == (9, WELL)
    assert run.took_at_most(10)


@fault("CLI-X20")
@together
async def test_an_agent_that_leaves_after_its_answer_has_done_its_work(fault: str, tmp_path: Path) -> None:
    run = await complete_in_fork("process", fault, tmp_path)
    assert (run.status, run.text) == (0, WELL)


@fault("CLI-X04")
@together
async def test_an_agent_that_closes_its_input_can_still_end_its_turn(fault: str, tmp_path: Path) -> None:
    run = await complete_in_fork("process", fault, tmp_path, *AT_ONCE)
    assert (run.status, run.text) == (0, WELL)


@cases(
    {
        "CLI-10": (signal.SIGTERM, 143),
        "CLI-X11": (signal.SIGHUP, 143),
        "CLI-X09": (signal.SIGINT, 130),
        "CLI-X12": (signal.SIGKILL, -9),
        "CLI-X23": (signal.SIGTERM, 143),
    }
)
@together
async def test_a_signal_to_the_client_ends_both(fault: str, case: tuple[int, int], tmp_path: Path) -> None:
    async with running("process", fault, tmp_path, *AT_ONCE) as run:
        await run.noted("working")
        sent = time.monotonic()
        run.peer.send_signal(case[0])
        await run.peer.wait(seconds=10)
        if case[0] == signal.SIGKILL:  # it could not clean up: the next run does
            await run.gone(seconds=5)
            run.format = "cut"
            shutil.rmtree(run.folder.temporary)
            run.folder.temporary.mkdir()
        await run.done()
        assert time.monotonic() - sent < patience(10)
    assert run.status == case[1]
    if case[1] > 0:
        assert run.outcome in ("terminated", "cancelled")
        assert run.text == "working"


@fault("CLI-X10")
@together
async def test_a_second_ctrl_c_ends_an_agent_that_ignores_the_first(fault: str, tmp_path: Path) -> None:
    async with running("process", fault, tmp_path) as run:
        await run.noted("working")
        run.peer.send_signal(signal.SIGINT)
        await run.peer.read_until(lambda text: b'"note"' in text, seconds=IN_TIME)
        run.peer.send_signal(signal.SIGINT)
        await run.done(seconds=12)
    assert run.status == 130


@fault("CLI-X31")
@together
async def test_a_ctrl_c_that_comes_too_late_interrupts_nothing(tmp_path: Path) -> None:
    async with running("process", "CLI-X03", tmp_path) as run:
        run.out += await run.peer.read_until(lambda text: b'"event":"end"' in text, seconds=IN_TIME)
        for _ in range(3):
            run.peer.send_signal(signal.SIGINT)
        await run.done()
    assert run.status in (9, 130)


@fault("CLI-X25")
@together
async def test_a_reader_that_leaves_ends_the_run(fault: str, tmp_path: Path) -> None:
    async with running("process", fault, tmp_path, *AT_ONCE, format_="text") as run:
        await run.noted("working")
        run.peer.close_stdout()
        await run.peer.wait(seconds=10)
        await run.done()
    assert run.status == 141


@fault("CLI-11")
@together
async def test_secrets_stay_with_the_client(fault: str, tmp_path: Path) -> None:
    secrets = {"MY_API_KEY": "hunter2", "AWS_SECRET_ACCESS_KEY": "hunter3", "DATABASE_URL": "hunter4"}
    run = await complete_in_fork("process", fault, tmp_path, env=secrets)
    assert run.status == 0
    assert "hunter" not in str(run.folder.noted("environment"))


@fault("CLI-X24")
@together
async def test_a_secret_that_is_named_is_handed_on(fault: str, tmp_path: Path) -> None:
    secrets = {"MY_API_KEY": "hunter2", "OTHER_API_KEY": "hunter3"}
    run = await complete_in_fork("process", fault, tmp_path, "--env", "MY_API_KEY", env=secrets)
    assert run.folder.noted("environment")["MY_API_KEY"] == "hunter2"
    assert "hunter3" not in str(run.folder.noted("environment"))


@fault("CLI-13")
@together
async def test_an_agent_inherits_three_descriptors(fault: str, tmp_path: Path) -> None:
    shell = ["/bin/sh", "-c", 'exec 7</etc/hostname 9>&1 && exec "$@"', "sh"]
    run = await complete("process", fault, tmp_path, dragoman=[*shell, *DRAGOMAN])
    assert run.status == 0
    assert run.folder.noted("descriptors") == [0, 1, 2]


@fault("CLI-X05")
@together
async def test_endless_complaints_are_drained(fault: str, tmp_path: Path) -> None:
    run = await complete("process", fault, tmp_path)
    assert (run.status, run.text) == (0, WELL)
    assert run.growth <= 32


@fault("CLI-X07")
@together
async def test_an_agent_that_stops_listening_cannot_keep_us(fault: str, tmp_path: Path) -> None:
    long = tmp_path / "prompt.txt"
    long.write_text("word " * 600_000)
    options = ("--prompt-file", str(long), "--timeout", "1.5", *AT_ONCE)
    run = await complete_in_fork("process", fault, tmp_path, *options, words=())
    assert (run.status, run.outcome) == (124, "timeout")
    assert run.took_at_most(IN_TIME)
