"""What clients ask of the installer: passed on in their name, limited to the agents of their token."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from dragoman.errors import LocalMistake
from dragoman_hub.clients.install_methods import NOBODY
from dragoman_hub.gate.admission import Grant
from tests.hub.sessions.agents import obedient
from tests.hub.sessions.stage import staged
from tests.runtime.raw import until

AGENTS = "_dragoman/hub/agents"


class Installer:
    """Notes what it is asked for."""

    def __init__(self, *, refusal: str = "") -> None:
        self.refusal = refusal
        self.job: Any = None
        self.acts: list[tuple[Any, ...]] = []

    async def listed(self, offered: set[str]) -> dict[str, Any]:
        self.acts.append(("listed", *sorted(offered)))
        names = [{"name": "red"}, {"name": "blue"}]
        return {"made": "today", "origin": "here", "agents": names, "installed": names}

    async def begin(self, agent: str, *, plan: str, by: str) -> Any:
        self.acts.append(("begin", agent, plan, by))
        if plan == "old":
            raise LocalMistake("the plan is another one now")
        if self.job is not None:
            return None
        self.job = SimpleNamespace(agent=agent, describe=lambda: {"agent": agent, "plan": plan})
        return self.job

    async def run(self, job: Any) -> None:
        self.acts.append(("run", job.agent))

    async def cancel(self) -> None:
        self.acts.append(("cancel",))
        self.job = None

    async def remove(self, agent: str, *, by: str, end: Any) -> str:
        self.acts.append(("remove", agent, by))
        await end()
        return "1.0" if agent == "red" else ""

    async def write_down(self, act: str, agent: str, title: str, *, by: str, is_allowed: bool = True) -> None:
        self.acts.append((act, agent, title, by, is_allowed))


async def test_an_agent_is_installed_and_removed_in_the_name_of_who_asks() -> None:
    async with staged({"one": obedient}) as stage:
        installer: Any = Installer()
        stage.hub.installer = installer
        dismissed: list[str] = []

        async def dismiss(agent: str) -> None:
            dismissed.append(agent)

        stage.hub.pool.dismiss = dismiss  # type: ignore[method-assign, assignment]
        client = await stage.client(Grant("ann")).begin()
        listed = await client.call(f"{AGENTS}/registry")
        assert [agent["name"] for agent in (*listed["agents"], *listed["installed"])] == ["red", "blue"] * 2
        assert (listed["made"], listed["refusal"], listed["job"]) == ("today", "", None)
        job = {"job": {"agent": "red", "plan": "p"}}
        for _ in range(2):
            assert await client.call(f"{AGENTS}/install", {"agent": "red", "plan": "p"}) == job
        await until(lambda: ("run", "red") in installer.acts)
        assert await client.call(f"{AGENTS}/install/status") == job
        assert (await client.call(f"{AGENTS}/registry"))["job"] == job["job"]
        assert await client.call(f"{AGENTS}/install/cancel") == {"job": None}
        assert await client.call(f"{AGENTS}/install/cancel") == {"job": None}
        removed = await client.call(f"{AGENTS}/uninstall", {"agent": "red"})
        assert removed == {"removed": True, "version": "1.0"}
        removed = await client.call(f"{AGENTS}/uninstall", {"agent": "blue"})
        assert removed == {"removed": False, "version": ""}
        old = await client.refusal(f"{AGENTS}/install", {"agent": "red", "plan": "old"})
        assert old["message"].endswith("the plan is another one now")
        begun = ("begin", "red", "p", "ann")
        assert installer.acts == [
            *(("listed", "one"), begun, ("run", "red"), begun, ("listed", "one"), ("cancel",)),
            *(("remove", "red", "ann"), ("remove", "blue", "ann"), ("begin", "red", "old", "ann")),
        ]
        assert dismissed == ["red", "blue"]


async def test_a_token_for_some_agents_hears_of_no_other() -> None:
    async with staged({"one": obedient}) as stage:
        installer: Any = Installer()
        stage.hub.installer = installer
        await (await stage.client().begin()).call(f"{AGENTS}/install", {"agent": "red", "plan": "p"})
        narrow = await stage.client(Grant("narrow", agents=("one", "blue"))).begin()
        listed = await narrow.call(f"{AGENTS}/registry")
        assert [agent["name"] for agent in (*listed["agents"], *listed["installed"])] == ["blue"] * 2
        assert listed["job"] is None
        assert await narrow.call(f"{AGENTS}/install/status") == {"job": None}
        assert await narrow.call(f"{AGENTS}/install/cancel") == {"job": None}
        assert ("cancel",) not in installer.acts


@pytest.mark.parametrize("has_installer", [True, False])
async def test_a_hub_that_installs_nothing_for_clients_says_why_and_writes_it_down(
    has_installer: bool,
) -> None:
    async with staged({"one": obedient}) as stage:
        installer: Any = Installer(refusal="agent_installs is off")
        stage.hub.installer = installer if has_installer else None
        why = installer.refusal if has_installer else NOBODY
        client = await stage.client(Grant("ann")).begin()
        listed = await client.call(f"{AGENTS}/registry")
        assert (listed["refusal"], listed["job"]) == (why, None)
        assert len(listed["agents"]) == 2 * has_installer
        for act in ("install", "uninstall"):
            refused = await client.refusal(f"{AGENTS}/{act}", {"agent": "red" * 40, "plan": "p"})
            assert (refused["code"], refused["message"]) == (-32003, f"Forbidden: {why}")
            assert refused["data"] == {"setting": "agent_installs"}
        for act in ("install/status", "install/cancel"):
            assert await client.call(f"{AGENTS}/{act}") == {"job": None}
        agent = ("red" * 40)[:80]
        written = [(act, agent, f"{act} {agent}", "ann", False) for act in ("install", "uninstall")]
        assert [act for act in installer.acts if act[0] != "listed"] == (written if has_installer else [])
