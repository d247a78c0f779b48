"""A session outlives its agent's process: resumed, loaded, or made anew."""

from __future__ import annotations

from pathlib import Path

import pytest

from dragoman import supervised
from dragoman.errors import PeerDied
from tests.sdk.supervision.lives import QUICK, Heard, program, script

KEEPER = """
import os
from dragoman import Agent, ClientHandle, Turn, serve
from dragoman.errors import ErrorAnswer

agent = Agent("keeper")

@agent.prompt
async def reply(turn: Turn):
    if turn.text == "die":
        os._exit(1)
    await turn.say(turn.session.id)
"""

RESUME = """
@agent.resume_session
async def resume(request):
    {resume}
"""

LOAD = """
@agent.load_session
async def load(request, client: ClientHandle):
    await client.sessions[request.session_id].echo("what was said")
"""


def keeper(folder: Path, *parts: str) -> list[str]:
    return program(folder, KEEPER + "".join(parts) + "\nserve(agent)\n")


@pytest.mark.bound(20)
@pytest.mark.parametrize(
    ("parts", "how"),
    [
        ((RESUME.format(resume="pass"), LOAD), "resume"),
        ((LOAD,), "load"),
        ((RESUME.format(resume="raise ErrorAnswer(-32002, 'gone')"), LOAD), "load"),
    ],
)
async def test_a_session_is_resumed_or_else_loaded(tmp_path: Path, parts: tuple[str, ...], how: str) -> None:
    heard = Heard()
    async with supervised(keeper(tmp_path, *parts), restarts=QUICK, on_event=heard) as agent:
        session = await agent.new_session(cwd="/tmp")
        former = session.id
        with pytest.raises(PeerDied):
            await session.prompt("die")
        assert (await session.prompt("go")).text == former == session.id
        assert list(session.late) == []  # the replay is swallowed
    resumed = heard.last("resumed")
    assert (resumed.how, resumed.session_id, resumed.replayed) == (how, former, 1 if how == "load" else 0)


@pytest.mark.bound(20)
async def test_a_replay_can_be_kept(tmp_path: Path) -> None:
    async with supervised(keeper(tmp_path, LOAD), restarts=QUICK, replay="keep") as agent:
        session = await agent.new_session(cwd="/tmp")
        with pytest.raises(PeerDied):
            await session.prompt("die")
        await session.prompt("go")
        assert len(session.late) == 1


@pytest.mark.bound(20)
async def test_a_session_that_kills_its_agent_whenever_it_comes_back_is_a_crash_loop(tmp_path: Path) -> None:
    parts = RESUME.format(resume="os._exit(4)")
    async with supervised(keeper(tmp_path, parts), restarts=QUICK) as agent:
        session = await agent.new_session(cwd="/tmp")
        with pytest.raises(PeerDied):
            await session.prompt("die")
        with pytest.raises(PeerDied) as died:
            await session.prompt("go")
        assert died.value.returncode == 4


@pytest.mark.bound(20)
async def test_what_was_set_is_set_again_in_a_new_life(tmp_path: Path) -> None:
    modes = '{"currentModeId": "ask", "availableModes": [{"id": "code", "name": "Code"}]}'
    text = f"""agent moded
on new
  answer {{"sessionId": "$session", "modes": {modes}}}
on session/set_mode
  complain mode
  answer {{}}
on prompt die
  die 1
on prompt
  say ok
"""
    stderr: list[bytes] = []
    async with supervised(script(tmp_path, text), restarts=QUICK, on_stderr=stderr.append) as agent:
        session = await agent.new_session(cwd="/tmp")
        await session.set_mode("code")
        with pytest.raises(PeerDied):
            await session.prompt("die")
        assert (await session.prompt("go")).text == "ok"
    assert b"".join(stderr).count(b"mode") == 2
