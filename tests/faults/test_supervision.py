"""Ends: of the input, by signals, in the middle of work. The process goes, and all that it started."""

from __future__ import annotations

import asyncio
import os
import signal

import pytest

from tests.faults.cases import cases, fault
from tests.faults.talk import Talk, code, line, opening, prompt, request, starting
from tests.faults.trial_agents import Command
from tests.faults.watch import cpu, eventually, state, zombies
from tests.together import SideBySide

pytestmark = pytest.mark.bound(40)
together = SideBySide()

IN_TIME = 12.0
"""Seconds; it should be five, but the machine may be busy."""
SECONDS_STOPPED = 0.5

AT_ONCE = {**os.environ, "AT_ONCE": "1"}
"""For agents that will not end by themselves; SUP-X10 waits for one with the limits that everybody has."""


async def ends(talk: Talk, how: int | None) -> int:
    """Bring it to its end, by a signal or by the end of its input; its exit status."""
    if how is None:
        talk.peer.close_stdin()
    else:
        talk.peer.send_signal(how)
    return await talk.peer.wait(seconds=IN_TIME)


@cases({"SUP-01": None, "SUP-04": signal.SIGTERM, "SUP-X1": signal.SIGINT})
@together
async def test_an_idle_agent_ends_when_it_is_told_to(agent: Command, case: int | None) -> None:
    async with opening(agent) as talk:
        status = await ends(talk, case)
        assert status == 0 or case is not None
        assert talk.peer.processes() == []
        assert "Traceback" not in talk.peer.stderr


@cases({"SUP-02": None, "SUP-05": signal.SIGTERM, "SUP-X2": signal.SIGINT})
@together
async def test_a_turn_does_not_keep_the_agent_from_ending(agent: Command, case: int | None) -> None:
    async with opening(agent) as talk:
        await talk.peer.send(prompt("turn", talk.session, "/wait 60"))
        await talk.replies()
        await ends(talk, case)
        assert talk.peer.processes() == []
        assert "Traceback" not in talk.peer.stderr


@cases(
    {
        "SUP-11": None,
        "SUP-X3": signal.SIGTERM,
        "SUP-X4": signal.SIGINT,
        "SUP-X5": signal.SIGHUP,
        "SUP-X6": signal.SIGKILL,
    }
)
@together
async def test_the_children_of_a_turn_end_with_the_agent(agent: Command, case: int | None) -> None:
    async with opening(agent) as talk:
        await talk.peer.send(prompt("child", talk.session, "/child 60"))
        await talk.said("Started")
        await eventually(lambda: len(talk.peer.processes()) >= 4)
        await ends(talk, case)
        await eventually(lambda: talk.peer.processes() == [], seconds=IN_TIME)


@cases({"SUP-X7": None, "SUP-X8": signal.SIGTERM})
@together
async def test_an_agent_ends_before_it_was_told_anything(agent: Command, case: int | None) -> None:
    async with starting(agent) as talk:
        await talk.peer.send(line(request(1, "initialize"))[:10])
        if case is not None:
            await eventually(lambda: cpu(talk.peer.pid) > 0.05)  # somewhere in its start
        await ends(talk, case)
        assert "Traceback" not in talk.peer.stderr


@fault("SUP-X9")
@together
async def test_two_hundred_turns_end_with_the_agent(agent: Command) -> None:
    async with opening(agent) as talk:
        for number in range(200):
            await talk.peer.send(prompt(number, await talk.new_session(), "/wait 60"))
        await talk.replies()
        await ends(talk, None)


@cases({"SUP-X10": None, "SUP-X11": signal.SIGTERM}, stage="stubborn")
@together
async def test_a_handler_that_swallows_its_cancellation_does_not_keep_the_agent(
    agent: Command, case: int | None
) -> None:
    async with opening(agent, env=None if case is None else AT_ONCE) as talk:
        await talk.peer.send(prompt("turn", talk.session, "swallow"))
        await talk.said("started")
        await ends(talk, case)


@cases({"SUP-X12": None, "SUP-X13": signal.SIGTERM}, stage="blocking")
@together
async def test_a_handler_that_blocks_its_thread_does_not_keep_the_agent(
    agent: Command, case: int | None
) -> None:
    async with opening(agent, env=AT_ONCE) as talk:
        await talk.peer.send(prompt("turn", talk.session, "block"))
        await talk.replies()
        await ends(talk, case)


@fault("SUP-X14", stage="stubborn")
@together
async def test_a_handler_that_blocks_the_loop_does_not_keep_the_agent_from_sigterm(agent: Command) -> None:
    async with opening(agent, env=AT_ONCE) as talk:
        await talk.peer.send(prompt("turn", talk.session, "block the loop"))
        await eventually(lambda: state(talk.peer.pid) == "S")
        before = cpu(talk.peer.pid)
        await ends(talk, signal.SIGTERM)
        assert before < IN_TIME


@fault("SUP-10")
@together
async def test_what_was_sent_to_a_stopped_agent_is_answered_when_it_goes_on(agent: Command) -> None:
    async with opening(agent) as talk:
        talk.peer.send_signal(signal.SIGSTOP)
        await eventually(lambda: state(talk.peer.pid) == "T")
        for number in range(100):
            talk.peer.send_soon(line(request(number, "_stopped")))
        await asyncio.sleep(SECONDS_STOPPED)  # this is the fault
        talk.peer.send_signal(signal.SIGCONT)
        for number in range(100):
            await talk.answer_to(number)
        await talk.echoes()


@fault("SUP-X15")
async def test_a_turn_survives_being_stopped(agent: Command) -> None:
    async with opening(agent) as talk:
        await talk.peer.send(prompt("turn", talk.session, "/stream 5000 100"))
        await talk.said("100 ")
        talk.peer.send_signal(signal.SIGSTOP)
        await eventually(lambda: state(talk.peer.pid) == "T")
        talk.peer.send_signal(signal.SIGCONT)
        assert code(await talk.answer_to("turn")) is None
        assert talk.words() == "".join(f"{n} ".ljust(100, ".") for n in range(5000))


@fault("SUP-X16")
@together
async def test_a_stopped_agent_ends_when_it_goes_on_if_it_was_told_to_meanwhile(agent: Command) -> None:
    async with opening(agent) as talk:
        talk.peer.send_signal(signal.SIGSTOP)
        await eventually(lambda: state(talk.peer.pid) == "T")
        talk.peer.send_signal(signal.SIGTERM)
        talk.peer.close_stdin()
        talk.peer.send_signal(signal.SIGCONT)
        await talk.peer.wait(seconds=IN_TIME)


@fault("SUP-X17")
@together
async def test_ten_signals_are_one(agent: Command) -> None:
    async with opening(agent) as talk:
        await talk.peer.send(prompt("turn", talk.session, "/child 60"))
        await talk.said("Started")
        for _ in range(10):
            talk.peer.send_signal(signal.SIGTERM)
        await talk.peer.wait(seconds=IN_TIME)
        await eventually(lambda: talk.peer.processes() == [], seconds=IN_TIME)
        assert "Traceback" not in talk.peer.stderr


@fault("SUP-13")
async def test_a_child_that_ends_is_reaped(agent: Command) -> None:
    async with opening(agent) as talk:
        answer, _ = await talk.turn("/child 0.1")
        assert code(answer) is None
        await eventually(lambda: zombies(talk.peer.pid) == [], seconds=2)
        assert talk.peer.processes() == [talk.peer.pid]


@fault("SUP-X39")
@together
async def test_a_child_that_is_killed_ends_its_turn_and_is_reaped(agent: Command) -> None:
    async with opening(agent) as talk:
        await talk.peer.send(prompt("child", talk.session, "/child 60"))
        started = await talk.said("Started")
        pid = int(started["params"]["update"]["content"]["text"].split()[1].rstrip("."))
        os.kill(pid, signal.SIGKILL)
        assert code(await talk.answer_to("child")) is None
        await eventually(lambda: talk.peer.processes() == [talk.peer.pid])
        assert zombies(talk.peer.pid) == []


@fault("SUP-X40")
@together
async def test_few_descriptors_are_enough(agent: Command) -> None:
    async with opening(["/bin/sh", "-c", 'ulimit -n 24 && exec "$@"', "sh", *agent]) as talk:
        for _ in range(30):
            await talk.new_session()
        assert code((await talk.turn("/child 0"))[0]) is None
        await talk.echoes()


@fault("SUP-X41")
@together
async def test_a_background_job_of_a_shell_does_not_hear_ctrl_c(agent: Command) -> None:
    async with opening(["/bin/sh", "-c", 'trap "" INT && exec "$@"', "sh", *agent]) as talk:
        talk.peer.send_signal(signal.SIGINT)
        await talk.echoes()
        await ends(talk, signal.SIGTERM)


@fault("SUP-X18")
@together
async def test_a_signal_that_means_nothing_changes_nothing(agent: Command) -> None:
    async with opening(agent) as talk:
        for number in (signal.SIGPIPE, signal.SIGCHLD, signal.SIGWINCH, signal.SIGURG, signal.SIGCONT):
            talk.peer.send_signal(number)
        await talk.echoes()
