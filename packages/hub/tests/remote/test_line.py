"""The line to an agent behind a real sshd: nothing is lost or doubled, whatever is cut."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from dragoman_hub.agents.specs import specs_of
from dragoman_hub.settings import AgentSettings
from tests.hub.sessions.agents import obedient
from tests.hub.sessions.stage import staged
from tests.remote.cutting_proxy import CuttingProxy
from tests.remote.other_side import SshServer, needs_sshd
from tests.remote.run_cuts import PARTS, run_cuts

CUTS = int(os.environ.get("DRAGOMAN_CUTS", "4"))

pytestmark = needs_sshd


@pytest.mark.bound(60)  # each cut costs a handshake of ssh and a start of Python
async def test_cuts_at_random_bytes_lose_nothing_and_double_nothing(
    server: SshServer, cache_here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache_here))
    report = await run_cuts(server, cuts=CUTS, seed=7)
    assert report.mistakes == []
    assert report.heard == PARTS * report.written
    assert report.cuts >= CUTS
    assert report.attached > 0


PATIENT = """
import asyncio, itertools
from pathlib import Path
from dragoman import Agent, Turn, serve

agent = Agent("patient")

@agent.prompt
async def prompt(turn: Turn) -> None:
    folder = Path(turn.session.cwd)
    for number in itertools.count():
        await turn.say(f"{number} " + 500 * ".")
        if number == 5:
            async with turn.tool("Delete it", kind="delete") as call:
                with (folder / "answers").open("a") as file:
                    file.write(f"{bool(await call.ask())}\\n")
        if (folder / "enough").exists():
            (folder / "said").write_text(str(number + 1))
            return
        await asyncio.sleep(0.02)

serve(agent)
"""


@pytest.mark.bound(
    60 + 4 * CUTS
)  # each cut is waited for, and costs a handshake of ssh and a start of Python
async def test_nln_x1_a_line_that_is_cut_every_second_costs_a_turn_nothing(
    server: SshServer, cache_here: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    work = tmp_path / "work"
    work.mkdir()
    (tmp_path / "patient.py").write_text(PATIENT)
    for kind in ("CONFIG", "STATE"):  # of this side: no policy of whoever runs the tests counts
        monkeypatch.setenv(f"XDG_{kind}_HOME", str(tmp_path / kind))
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache_here))
    monkeypatch.setenv("DRAGOMAN_REMOTE_PYTHON", sys.executable)
    command = (sys.executable, str(tmp_path / "patient.py"))
    settings = AgentSettings(command=command, place="ssh:there", dialect="v1")
    async with CuttingProxy(server.port) as proxy, staged({"one": obedient}) as stage:
        monkeypatch.setenv("DRAGOMAN_SSH_CONFIG", str(server.config(port=proxy.port)))
        stage.hub.pool.offer(specs_of({"far": settings}, tmp_path / "hosts"))
        stage.hub.default_agent = "far"
        client = await stage.client().begin()
        session = await client.new(str(work))
        proxy.seconds = 1.0  # the first start had to bring everything along
        proxy.cut_all()
        turn = client.prompt(session, "go")
        question = await client.asked()
        options = {one["kind"]: one["optionId"] for one in question["params"]["options"]}
        client.allow(question, options["allow_once"])
        while proxy.cuts < CUTS // 2:
            heard = len(client.heard)
            await client.until(lambda _: True, after=heard)  # any further word
        (work / "enough").touch()
        assert (await client.answer(turn))["result"]["stopReason"] == "end_turn"
        numbers = [int(words.split()[0]) for words in client.texts()]
        assert [one["id"] for one in client.heard if "options" in one.get("params", ())] == [question["id"]]
    assert numbers == list(range(int((work / "said").read_text())))
    assert (work / "answers").read_text() == "True\n"
