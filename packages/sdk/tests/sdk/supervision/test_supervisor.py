"""A supervised agent dies as agents do, and whoever uses it learns that at once, and how it goes on."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path

import pytest

from dragoman import Agent, Turn, supervised
from dragoman.errors import (
    CallTimeout,
    CrashLoop,
    FirstByteTimeout,
    HandshakeTimeout,
    LinkClosed,
    LocalMistake,
    PeerDied,
    SilenceTimeout,
    SpawnFailed,
    VersionMismatch,
)
from dragoman.sdk.supervision.deadlines import Deadlines
from dragoman.sdk.supervision.supervisor import SupervisedAgent
from dragoman.testing.pace import patience
from tests.sdk.ends import text_of
from tests.sdk.supervision.lives import AT_ONCE, QUICK, Heard, lives, script
from tests.transport.programs import alive, eventually

GOOD = "agent good\non prompt wait\n  say begun\n  until cancelled\non prompt\n  say hello"


def pid_of(agent: SupervisedAgent) -> int:
    tree = agent.handle.link.transport.tree  # type: ignore[attr-defined]
    assert isinstance(tree.pid, int)
    return tree.pid


@pytest.mark.bound(20)
async def test_an_idle_death_is_told_at_once_and_the_next_prompt_starts_a_new_life(tmp_path: Path) -> None:
    heard = Heard()
    async with supervised(script(tmp_path, GOOD), restarts=QUICK, on_event=heard) as agent:
        session = await agent.new_session(cwd="/tmp")
        assert (await session.prompt("go")).text == "hello"
        os.kill(pid_of(agent), signal.SIGKILL)
        await eventually(lambda: "died" in heard.kinds)
        assert (heard.last("died").in_turn, heard.last("died").life) == (False, 1)
        former = session.id
        assert (await session.prompt("go")).text == "hello"
        assert alive(pid_of(agent))
    assert heard.kinds == [
        *("started", "initialized", "died", "restarting", "started", "initialized", "lost_context")
    ]
    lost = heard.last("lost_context")
    assert (lost.former_id, lost.session_id, lost.how) == (former, session.id, "new")


@pytest.mark.bound(20)
async def test_a_turn_whose_agent_dies_fails_and_is_not_repeated(tmp_path: Path) -> None:
    dying = 'agent dying\non prompt\n  say once\n  complain "out of memory"\n  die 7'
    heard = Heard()
    async with supervised(lives(tmp_path, dying, GOOD), restarts=QUICK, on_event=heard) as agent:
        session = await agent.new_session(cwd="/tmp")
        updates = aiter(session.prompt("go"))
        assert text_of(await anext(updates)) == "once"
        with pytest.raises(PeerDied) as died:
            await anext(updates)
        assert died.value.returncode == 7
        assert "out of memory" in died.value.stderr
        assert heard.last("died").in_turn
        assert "out of memory" in heard.last("died").stderr
        assert heard.kinds[-1] == "died"  # nothing happens before it is needed again
        assert (await session.prompt("go")).text == "hello"


@pytest.mark.bound(20)
async def test_a_crash_loop_ends_with_the_reason_and_the_last_words(tmp_path: Path) -> None:
    dying = 'agent dying\non prompt\n  complain "cannot allocate"\n  die 3'
    heard = Heard()
    async with supervised(script(tmp_path, dying), restarts=QUICK, on_event=heard) as agent:
        session = await agent.new_session(cwd="/tmp")
        for _ in range(3):
            with pytest.raises(PeerDied):
                await session.prompt("go")
        with pytest.raises(CrashLoop) as loop:
            await session.prompt("go")
        assert (loop.value.deaths, loop.value.returncode) == (3, 3)
        assert "cannot allocate" in loop.value.stderr
        with pytest.raises(CrashLoop):
            await agent.new_session(cwd="/tmp")
        assert heard.kinds.count("gave_up") == 1
        assert "cannot allocate" in heard.last("gave_up").stderr
        agent.forgive()
        await agent.new_session(cwd="/tmp")


@pytest.mark.bound(20)
async def test_an_agent_that_no_longer_starts_is_tried_until_it_is_a_crash_loop(tmp_path: Path) -> None:
    heard = Heard()
    gone = 'agent gone\nstart\n  complain "no license"\n  die 9'
    once = "agent once\non prompt\n  die 1"
    async with supervised(lives(tmp_path, once, gone), restarts=QUICK, on_event=heard) as agent:
        session = await agent.new_session(cwd="/tmp")
        with pytest.raises(PeerDied):
            await session.prompt("go")
        with pytest.raises(CrashLoop) as loop:
            await session.prompt("go")
        assert loop.value.returncode == 9
        assert "no license" in loop.value.stderr
    assert heard.kinds.count("restarting") == 2


async def test_an_agent_that_never_started_says_why_and_is_not_tried_again() -> None:
    heard = Heard()
    with pytest.raises(SpawnFailed, match="no-such-agent"):
        async with supervised("no-such-agent --acp", on_event=heard):
            pass
    with pytest.raises(PeerDied, match="no key"):
        async with supervised([sys.executable, "-c", "import sys; sys.exit('no key')"], on_event=heard):
            pass
    with pytest.raises(SpawnFailed):
        async with supervised("", on_event=heard):
            pass
    assert heard.kinds == ["started"]


@pytest.mark.bound(20)
async def test_each_deadline_has_its_own_error(tmp_path: Path) -> None:
    silent = script(tmp_path, "agent silent\non initialize\n  stall")
    with pytest.raises(HandshakeTimeout):
        async with supervised(silent, deadlines=Deadlines(handshake=0.5), limits=AT_ONCE):
            pass
    slow = script(tmp_path, "agent slow\non new\n  wait 60")
    with pytest.raises(CallTimeout):
        async with supervised(slow, deadlines=Deadlines(call=0.2), limits=AT_ONCE) as agent:
            await agent.new_session(cwd="/tmp")
    other = script(tmp_path, 'agent other\non initialize\n  answer {"protocolVersion": 99}')
    with pytest.raises(VersionMismatch):
        async with supervised(other):
            pass


@pytest.mark.bound(30)
@pytest.mark.parametrize(
    ("turn", "seconds", "error"),
    [
        ("stall", {"first_byte": 1}, FirstByteTimeout),
        ("say one\n  stall", {"silence": 1}, SilenceTimeout),
        ("linger\n  stall", {"silence": 1, "first_byte": 20}, SilenceTimeout),
    ],
)
async def test_an_agent_that_hangs_in_a_turn_is_ended_and_started_again(
    tmp_path: Path, turn: str, seconds: dict[str, float], error: type[Exception]
) -> None:
    heard = Heard()
    # The turn after it must end within them.
    deadlines = Deadlines(**{name: patience(value) for name, value in seconds.items()})
    command = lives(tmp_path, f"agent hangs\non prompt\n  {turn}", GOOD)
    async with supervised(
        command, deadlines=deadlines, limits=AT_ONCE, restarts=QUICK, on_event=heard
    ) as agent:
        session = await agent.new_session(cwd="/tmp")
        first = pid_of(agent)
        with pytest.raises(error):
            await session.prompt("go")
        assert (await session.prompt("go")).text == "hello"
        assert pid_of(agent) != first
    assert isinstance(heard.last("died").error, error)
    assert not alive(first)


@pytest.mark.bound(20)
async def test_work_that_says_something_now_and_then_is_never_too_long(tmp_path: Path) -> None:
    healthy = "agent healthy\non prompt\n  repeat 9\n    wait 0.15\n    say x"
    deadlines = Deadlines(silence=patience(1.2), first_byte=patience(5))
    async with supervised(script(tmp_path, healthy), deadlines=deadlines) as agent:
        session = await agent.new_session(cwd="/tmp")
        assert (await session.prompt("go")).text == "x" * 9


@pytest.mark.bound(20)
async def test_a_cancel_that_is_never_answered_does_not_hold_up_the_next_turn(tmp_path: Path) -> None:
    deaf = script(tmp_path, "agent deaf\non prompt wait\n  deaf\n  say begun\n  wait 60\non prompt\n  say ok")
    async with supervised(deaf, deadlines=Deadlines(cancel=0.3), limits=AT_ONCE) as agent:
        session = await agent.new_session(cwd="/tmp")
        updates = aiter(session.prompt("wait"))
        await anext(updates)
        await session.cancel()
        with pytest.raises(CallTimeout, match="the end of a cancelled turn"):
            await anext(updates)
        other = await agent.new_session(cwd="/tmp")
        left = aiter(other.prompt("wait"))
        await anext(left)
        await left.aclose()
        with pytest.raises(FirstByteTimeout):  # it was sent at last, to an agent that is still busy
            await other.prompt("wait", first_byte=0.4)


@pytest.mark.bound(20)
async def test_an_agent_that_hangs_in_one_turn_takes_the_others_with_it_and_they_are_told(
    tmp_path: Path,
) -> None:
    hangs = "agent hangs\non prompt hang\n  stall\non prompt\n  say begun\n  until cancelled"
    async with supervised(script(tmp_path, hangs), restarts=QUICK, limits=AT_ONCE) as agent:
        one, two = await agent.new_session(cwd="/tmp"), await agent.new_session(cwd="/tmp")
        turn = aiter(one.prompt("wait"))
        await anext(turn)
        with pytest.raises(FirstByteTimeout):
            await two.prompt("hang", first_byte=0.3)
        with pytest.raises(LinkClosed, match="the first word after a prompt took longer"):
            await anext(turn)


@pytest.mark.bound(20)
async def test_two_sessions_share_one_restart(tmp_path: Path) -> None:
    heard = Heard()
    async with supervised(script(tmp_path, GOOD), restarts=QUICK, on_event=heard) as agent:
        sessions = [await agent.new_session(cwd="/tmp") for _ in range(5)]
        os.kill(pid_of(agent), signal.SIGKILL)
        await eventually(lambda: not agent.is_alive)
        results = await asyncio.gather(*(session.prompt("go") for session in sessions))
        assert [result.text for result in results] == ["hello"] * 5
    assert heard.kinds.count("restarting") == 1
    assert heard.kinds.count("lost_context") == 5


async def test_an_agent_of_this_process_can_be_supervised_too() -> None:
    agent = Agent("here")

    @agent.prompt
    async def reply(turn: Turn) -> None:
        await turn.say(turn.text)

    heard = Heard()
    async with supervised(agent, restarts=QUICK, on_event=heard) as handle:
        session = await handle.new_session(cwd="/tmp")
        assert (await session.prompt("one")).text == "one"
        await handle.handle.link.transport.aclose()
        await eventually(lambda: "died" in heard.kinds)
        assert (await session.prompt("two")).text == "two"


async def test_it_is_used_inside_of_its_block() -> None:
    unopened = supervised(Agent("x"))
    with pytest.raises(LocalMistake):
        await unopened.new_session(cwd="/tmp")
    async with unopened as agent:
        session = await agent.new_session(cwd="/tmp")
    with pytest.raises(LocalMistake):
        await session.prompt("go")


async def test_a_listener_that_fails_harms_nobody(caplog: pytest.LogCaptureFixture) -> None:
    def fail(event: object) -> None:
        raise ValueError("mine")

    async with supervised(Agent("x"), on_event=fail) as agent:
        await agent.new_session(cwd="/tmp")
    assert "a listener failed at started" in caplog.text


@pytest.mark.bound(20)
async def test_leaving_a_running_turn_leaves_nothing(tmp_path: Path) -> None:
    async with supervised(script(tmp_path, GOOD)) as agent:
        session = await agent.new_session(cwd="/tmp")
        pid = pid_of(agent)
        updates = aiter(session.prompt("wait"))
        await anext(updates)
        waiting = asyncio.ensure_future(anext(updates))
        await asyncio.sleep(0)
    with pytest.raises(LinkClosed):
        await waiting
    assert not alive(pid)


@pytest.mark.bound(20)
async def test_being_cancelled_while_it_starts_leaves_nothing(tmp_path: Path) -> None:
    heard = Heard()
    silent = script(tmp_path, "agent silent\non initialize\n  stall")

    async def enter() -> None:
        async with supervised(silent, limits=AT_ONCE, on_event=heard):
            pass

    entering = asyncio.create_task(enter())
    await eventually(lambda: "started" in heard.kinds)
    entering.cancel()
    await asyncio.wait((entering,))
    assert entering.cancelled()
    assert not alive(heard.last("started").pid or 0)
