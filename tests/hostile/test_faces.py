"""What a person is shown, and what `dragoman run` does, where the agent says one thing and means another.

All questions stand open at one hub, and `dragoman inbox --list` shows them: the word `evil` must be on the
screen. Some tricks of the other tables are tried without a hub, too: one judge is to hold in both.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from dragoman.testing.pace import deadline, patience
from tests.forks import DRAGOMAN
from tests.hostile.ground import AGENT, HostileHub, Way
from tests.hostile.raw_client import Person, Question, RawClient
from tests.hostile.tricks import Trick, as_parameters, spelled_steps, turn
from tests.hostile.tricks_faces import FACES, RENAMED, RUN_NAMES, RUNS, Face, Renamed

pytestmark = pytest.mark.timeout(300)


def quiet(question: Question, earlier: int) -> str | None:
    return None


@pytest.fixture(scope="module")
def screens(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    hub = HostileHub(tmp_path_factory.mktemp("hub"), [])
    hub.start()
    try:
        yield asyncio.run(look(hub))
    finally:
        hub.close()


async def look(hub: HostileHub) -> dict[str, str]:
    """What the inbox shows of each question while all of them are open."""
    client = await hub.connect()
    tasks, sessions = [], {}
    for number, face in enumerate(FACES):
        here = hub.base / f"folder{number}"
        here.mkdir()
        session = await client.new_session(str(here), Person(quiet))
        sessions[session] = face.name
        steps = spelled_steps(turn(*face.steps), {"here": str(here)})
        tasks.append(asyncio.get_running_loop().create_task(client.prompt(session, steps)))
    async with deadline(30):
        while not (all(client.people[each].questions for each in sessions) and has_changed(client)):  # noqa: ASYNC110
            await asyncio.sleep(0.01)
    words = ["inbox", "--list", "--hub", f"ws://127.0.0.1:{hub.port}/acp"]
    text = await output(words, {"DRAGOMAN_TOKEN": hub.token, "HOME": str(hub.home)}, hub.base)
    for session in sessions:
        client.send({"method": "session/cancel", "params": {"sessionId": session}})
    await asyncio.gather(*tasks)
    await client.aclose()
    shown = {}
    for session, name in sessions.items():
        found = re.search(
            rf"^{session[:8]}:[^\n]*\n(.*?)(?=^[0-9a-f]{{8}}:|\Z)", text, re.DOTALL | re.MULTILINE
        )
        shown[name] = "" if found is None else found[1]
    return shown


def has_changed(client: RawClient) -> bool:
    """Whether the call that changes behind its question has done so."""
    return any("tool_call_update" in json.dumps(message) for message in client.heard)


async def output(words: list[str], env: dict[str, str], folder: Path) -> str:
    pipe, nothing = asyncio.subprocess.PIPE, asyncio.subprocess.DEVNULL
    environment = os.environ | {"XDG_CONFIG_HOME": str(folder / "none")} | env
    process = await asyncio.create_subprocess_exec(
        *DRAGOMAN, *words, cwd=folder, env=environment, stdin=nothing, stdout=pipe, stderr=pipe
    )
    out, errors = await asyncio.wait_for(process.communicate(), patience(60))
    return out.decode() or errors.decode()


@pytest.mark.parametrize("face", as_parameters(FACES))
def test_a_person_sees_what_is_asked(face: Face, screens: dict[str, str]) -> None:
    screen = screens[face.name]
    assert "evil" in screen or (face.may_be_withdrawn and not screen)
    assert not face.forged or face.forged not in screens[face.name].split("\n")


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[bool, bool]]:
    """Of each trick: whether the cheat had its effect, and the honest way its own."""
    return asyncio.run(run_all(HostileHub(tmp_path_factory.mktemp("run"), RUNS)))


async def run_all(hub: HostileHub) -> dict[str, tuple[bool, bool]]:
    free = asyncio.Semaphore(3)

    async def run(trick: Trick, way: Way) -> bool:
        is_honest = way == "honest"
        hub.prepare(trick, way)
        spell = hub.spell(trick, way)
        steps = [step for each in (trick.honest if is_honest else trick.turns) for step in each.steps]
        words = ["run", "--agent", f"{sys.executable} {AGENT}", "--dialect", "v1", "--cwd", spell["here"]]
        words += ["--policy", str(hub.base / "policy.toml"), "--approve", "none", "--no-history"]
        words += ["--changes", "keep", "--format", "json", json.dumps(spelled_steps(turn(*steps), spell))]
        async with free:
            told = await output(words, {"HOME": str(hub.home)}, hub.base)
        assert '"end_turn"' in told or '"permission_denied"' in told, told
        effect = trick.honest_effect if is_honest else trick.effect
        return effect.is_there(spell)

    try:
        async with asyncio.TaskGroup() as group:
            tasks = {
                trick.name: (group.create_task(run(trick, "cheat")), group.create_task(run(trick, "honest")))
                for trick in RUNS
            }
    finally:
        hub.close()
    return {name: (cheat.result(), honest.result()) for name, (cheat, honest) in tasks.items()}


@pytest.mark.parametrize("renamed", as_parameters(RENAMED))
def test_a_run_does_nothing_that_nobody_decided(renamed: Renamed, runs: dict[str, tuple[bool, bool]]) -> None:
    assert not runs[renamed.trick.name][0]


def test_a_run_does_what_is_allowed(runs: dict[str, tuple[bool, bool]]) -> None:
    assert len(runs) == len(RUN_NAMES)
    assert [name for name, (_, is_honest_done) in runs.items() if not is_honest_done] == []
