"""Why an agent does not work, as the hub tells it to whoever administers it, and the sandbox around one."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from dragoman.errors import LocalMistake
from dragoman.transport.memory import memory_pair
from dragoman_hub.agents.specs import specs_of
from dragoman_hub.engine.options import HubOptions
from dragoman_hub.gate.admission import Grant
from dragoman_hub.hub import Hub
from dragoman_hub.settings import AgentSettings
from dragoman_local.journal.memory import MemoryJournal
from dragoman_local.sandbox import wall
from dragoman_local.sandbox.boundary import Profile
from dragoman_local.sandbox.wall import can_hold
from tests.hub.sessions.stage import Talker
from tests.sandbox import walled_agent

pytestmark = pytest.mark.bound(30)


async def test_an_examination_names_the_step_that_failed_and_covers_secrets(tmp_path: Path) -> None:
    words = "import sys; sys.exit('no login: API_KEY=abcdef123456 is wrong')"
    broken = AgentSettings(command=(sys.executable, "-c", words), dialect="v1")
    examine = specs_of({"broken": broken}, tmp_path)["broken"].examine
    assert examine is not None
    found = await examine()
    assert found["outcome"] != "ok"
    failed = [step for step in found["steps"] if step["verdict"] == "failed"]
    assert failed
    assert failed[-1]["advice"]
    assert "no login" in found["stderr"]
    assert "abcdef123456" not in str(found)


@pytest.mark.bound(40)
@pytest.mark.parametrize("dialect", ["v1", "auto"])
async def test_an_agent_of_the_hub_is_behind_the_wall_of_its_settings(tmp_path: Path, dialect: str) -> None:
    if reason := can_hold("workspace"):
        pytest.skip(f"no sandbox can be held here: {reason}")
    folder = tmp_path / "project"
    folder.mkdir()
    shutil.copy(walled_agent.__file__, folder / "agent.py")
    command = (sys.executable, str(folder / "agent.py"))
    profiles: dict[str, Profile] = {"held": "workspace", "free": "off"}
    agents = {
        name: AgentSettings(command=command, dialect=dialect, cwd=str(folder), sandbox=profile)
        for name, profile in profiles.items()
    }
    specs = specs_of(agents, tmp_path / "hosts", secrets=[str(tmp_path / "hub.db")])
    (tmp_path / "hub.db").write_text("secret")
    prompt = f"write inside\nread {tmp_path / 'hub.db'}\nwrite {tmp_path}/outside"
    async with Hub(MemoryJournal(), specs, options=HubOptions(default_agent="held")) as hub:
        for name in ("held", "free"):
            here, there = memory_pair()
            client = Talker(here)
            hub.accept(there, Grant("owner"), agent=name)
            await client.begin()
            session = await client.new(str(folder))
            answer = await client.answer(client.prompt(session, prompt))
            assert answer["result"]["stopReason"] == "end_turn"
            assert (folder / "inside").exists()
            assert (tmp_path / "outside").exists() is (name == "free")
            text = "".join(map(str, client.texts()))
            assert ("secret" in text) is (name == "free")
            answer = await client.answer(client.prompt(session, "run kill -9 $PPID"))
            assert "cut short" in answer["error"]["message"]
            answer = await client.answer(client.prompt(session, "write inside"))
            assert answer["result"]["stopReason"] == "end_turn"  # in another process
            if name == "held":
                refusal = await client.refusal("session/new", {"cwd": str(tmp_path), "mcpServers": []})
                assert "outside of the sandbox of held" in refusal["message"]
        listed = {agent["name"]: agent.get("sandbox") for agent in hub.views._agents()}
    assert listed == {"held": "workspace", "free": None}


def test_a_hub_does_not_start_with_a_wall_that_it_cannot_hold(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wall, "_why_not", lambda **_: "there is none")
    with pytest.raises(LocalMistake, match="can't be used here: there is none"):
        specs_of({"held": AgentSettings(command=("agent",), sandbox="read-only")}, tmp_path)
