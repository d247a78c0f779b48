"""`dragoman chat` through a hub whose connections break: on the screen it is a pause, and nothing else."""

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from dragoman import Agent
from dragoman.transport.messages import MessageTransport
from dragoman_app.apps.chat.hub_backend import HubBackend
from dragoman_app.tui.model.entries import SpeechEntry
from dragoman_app.tui.ports import ChatRequest
from dragoman_app.tui.screens import permission
from dragoman_hub.api.endpoint import AcpEndpoint, Visit
from dragoman_hub.api.listener import open_listener, open_socket
from dragoman_hub.gate.admission import Admission, Grant, hash_token, local_hosts
from dragoman_local.workspace.settings import LocalRules
from tests.hub.sessions.agents import Gate, obedient
from tests.hub.sessions.stage import Stage, Talker, staged
from tests.hub.test_hub_killed import KilledHub
from tests.tui.stage import Eyes, on_stage

pytestmark = [pytest.mark.bound(100), pytest.mark.timeout(150)]

TOKEN = "t" * 40
HEADERS = {"authorization": f"Bearer {TOKEN}"}


@pytest.fixture(autouse=True)
def quick_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(permission, "STILL", -1.0)


class Door:
    """Of a hub in this process. Shut, it lets everybody in and out again at once."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self.is_shut = False
        self._leaving: set[asyncio.Task[None]] = set()

    def accept(self, client: MessageTransport, visit: Visit) -> None:
        if self.is_shut:
            self._leaving.add(asyncio.get_running_loop().create_task(client.aclose()))
        else:
            self.stage.hub.accept(client, Grant("owner"))

    async def cut(self) -> None:
        """All connections end, and nobody comes in before it is opened again."""
        self.is_shut = True
        for client in list(self.stage.hub.clients):
            await client.aclose()

    async def crash(self) -> None:
        self.is_shut = True
        await self.stage.crash()
        await self.stage.start()

    def open(self) -> None:
        self.is_shut = False

    async def aclose(self) -> None:
        if self._leaving:
            await asyncio.wait(self._leaving)


@asynccontextmanager
async def hub_of(agent: Callable[[], Agent], **options: Any) -> AsyncIterator[tuple[Door, str]]:
    async with staged({"one": agent}, **options) as stage:
        door = Door(stage)
        bound = open_socket("127.0.0.1", 0, tls=None, insecure=False)
        port = bound.getsockname()[1]
        endpoint = AcpEndpoint(
            Admission({hash_token(TOKEN): Grant("owner")}, hosts=local_hosts(port)), door.accept
        )
        async with open_listener(endpoint, bound, tls=None):
            yield door, f"ws://127.0.0.1:{port}/acp"
            endpoint.leave()
            await door.aclose()


def words(eyes: Eyes) -> list[str]:
    return [entry.text for entry in eyes.chat.transcript.entries if isinstance(entry, SpeechEntry)]


async def spoken(eyes: Eyes, *texts: str) -> None:
    """Until this has been said in the session, and nothing else."""
    await eyes.until(lambda: words(eyes) == list(texts), f"{texts} to be said")


async def answered_elsewhere(stage: Stage) -> None:
    """Somebody else allows what waits."""
    other: Talker = await stage.client().begin()
    (waiting,) = (await other.call("_dragoman/hub/inbox"))["requests"]
    chosen = {"outcome": {"outcome": "selected", "optionId": "allow"}}
    params = {"sessionId": waiting["sessionId"], "request": waiting["request"], "result": chosen}
    assert await other.call("_dragoman/hub/answer", params) == {"settled": True}
    await other.transport.aclose()


async def test_a_cut_connection_is_a_pause_and_a_restarted_hub_is_one(tmp_path: Path) -> None:
    gate = Gate()
    async with hub_of(lambda: obedient(gate)) as (door, url):
        backend = HubBackend(str(tmp_path), LocalRules(), url=url, headers=HEADERS)
        async with on_stage(backend, ChatRequest(agent="", cwd=str(tmp_path))) as eyes:
            await eyes.see("● ready")

            await eyes.say("wait")
            await gate.waiting.wait()
            await door.cut()
            await eyes.see("◌ away", "trying again")
            gate.open.set()  # the turn ends while nobody listens
            door.open()
            await eyes.see("waited", "● ready")
            await spoken(eyes, "wait", "waited")

            gate.waiting.clear()
            gate.open.clear()
            await eyes.say("wait")
            await gate.waiting.wait()
            await door.crash()
            await eyes.see("◌ away")
            await eyes.say("say 3")  # queued behind it, here
            door.open()
            await eyes.see("◐ working")
            gate.open.set()
            await eyes.see("0 1 2", "● ready")
            await spoken(eyes, *["wait", "waited"] * 2, "say 3", "0 1 2 ")
            assert gate.prompts == ["wait", "wait", "say 3"]


async def test_an_open_question_outlives_the_connection_and_is_taken_back_when_it_is_answered(
    tmp_path: Path,
) -> None:
    gate = Gate()
    async with hub_of(lambda: obedient(gate)) as (door, url):
        backend = HubBackend(str(tmp_path), LocalRules(), url=url, headers=HEADERS)
        async with on_stage(backend, ChatRequest(agent="", cwd=str(tmp_path))) as eyes:
            await eyes.see("● ready")
            for how in ("here", "elsewhere"):
                await eyes.say("ask")
                await eyes.see("Permission", "Delete it")
                await door.cut()
                await eyes.until(lambda: eyes.chat.conversation.away is not None, "the cut to be noticed")
                assert "Permission" in eyes.screen
                if how == "here":
                    await eyes.press("y")  # nobody is there to hear it yet
                else:
                    await answered_elsewhere(door.stage)
                door.open()
                await eyes.lose("Permission")
                await eyes.see("● ready")
            await spoken(eyes, *["ask", "yes"] * 2)


AGENT = """
import asyncio, os, sys
from dragoman import Agent, Turn, serve

agent = Agent("teller")

@agent.prompt
async def tell(turn: Turn) -> None:
    for number in range(40):
        await turn.say(f"{number} ")
    while not os.path.exists(sys.argv[1]):
        await asyncio.sleep(0.02)
    for number in range(40, 400):
        await turn.say(f"{number} ")

serve(agent)
"""


async def test_a_real_hub_that_is_killed_in_mid_turn_leaves_no_gap(tmp_path: Path) -> None:
    hub, go_on = KilledHub(tmp_path), tmp_path / "go-on"
    (tmp_path / "agent.py").write_text(AGENT)
    command = json.dumps([sys.executable, str(tmp_path / "agent.py"), str(go_on)])
    (tmp_path / "hub.toml").write_text(
        f'default_agent = "teller"\nknown_agents = false\n[agents.teller]\ncommand = {command}\n'
        f'dialect = "v1"\nenv = {{ PYTHONPATH = {json.dumps(os.pathsep.join(sys.path))} }}\n'
    )
    await hub.start()
    try:
        url, headers = f"ws://127.0.0.1:{hub.port}/acp", {"authorization": f"Bearer {hub.token}"}
        backend = HubBackend(str(tmp_path), LocalRules(), url=url, headers=headers)
        async with on_stage(backend, ChatRequest(agent="", cwd=str(tmp_path))) as eyes:
            await eyes.see("● ready")
            await eyes.say("tell")
            await eyes.see("38 39")
            await asyncio.to_thread(hub.kill)
            await eyes.see("◌ away", "trying again")
            go_on.touch()  # the agent lives, and talks on to nobody
            await hub.start()
            await eyes.see("398 399", "● ready")
            await spoken(eyes, "tell", "".join(f"{number} " for number in range(400)))
    finally:
        await asyncio.to_thread(hub.kill, signal.SIGTERM)
        hub.close()
