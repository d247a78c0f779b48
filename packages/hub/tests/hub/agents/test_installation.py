"""Agents that clients of a real hub add and remove: archives of a list without a network, by the very command
that people type.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from dragoman.errors import LocalMistake
from dragoman.testing.pace import deadline, patience
from dragoman_hub.agents import installation
from dragoman_hub.agents.addable import listed
from dragoman_hub.agents.installation import AgentInstaller
from dragoman_hub.gate.grants_store import TokenStore
from dragoman_hub.runner import install_refusal
from dragoman_hub.settings_file import parse_settings
from dragoman_local.known.installation.installer import install, make_plan
from dragoman_local.known.installation.registry import read_registry
from dragoman_local.workspace.policy.audit import read_entries
from tests.agent_shelf import archive_entry, keep_list
from tests.hub.outside.process import HubProcess, leave
from tests.hub.sessions.stage import Talker

pytestmark = [
    pytest.mark.bound(60),
    pytest.mark.skipif(sys.platform == "win32", reason="programs are scripts with a first line"),
]

HUB = "_dragoman/hub/"
SETTINGS = """
durability = "off"
default_agent = "echo"

[limits]
connect_rate = "10000/s"
"""


@contextmanager
def running(folder: Path, *entries: dict[str, Any], settings: str = "") -> Iterator[HubProcess]:
    """A hub whose list has these agents in front of those that dragoman ships."""
    hub = HubProcess(folder)
    hub.config.write_text(settings + SETTINGS)
    keep_list(hub.data, folder, entries)
    hub.token = TokenStore(hub.data / "tokens.json").add("ann")
    hub.start()
    try:
        yield hub
    finally:
        hub.stop()


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HubProcess]:
    """One hub for most tests, each with agents of its own."""
    shelf = tmp_path_factory.mktemp("shelf")
    entries = [
        archive_entry(shelf, "tiny", repository="https://x.org/t"),
        archive_entry(shelf, "damaged", sha256="0" * 64),
        slow_entry(shelf),
        archive_entry(shelf, "next"),
        archive_entry(shelf, "busy"),
    ]
    with running(shelf, *entries) as hub:
        yield hub


def slow_entry(shelf: Path) -> dict[str, Any]:
    """An agent whose archive never comes: nobody writes to the pipe."""
    entry = archive_entry(shelf, "slow")
    (shelf / "slow-1.0.0.tar.gz").unlink()
    os.mkfifo(shelf / "slow-1.0.0.tar.gz")
    return entry


async def plan_of(client: Talker, name: str) -> dict[str, Any]:
    agents = (await client.call(f"{HUB}agents/registry"))["agents"]
    return next(agent for agent in agents if agent["name"] == name)


async def begin(client: Talker, name: str) -> dict[str, Any]:
    plan = (await plan_of(client, name))["plan"]
    job: dict[str, Any] = (await client.call(f"{HUB}agents/install", {"agent": name, "plan": plan}))["job"]
    return job


async def has_begun(hub: HubProcess, name: str) -> None:
    async with deadline(60):
        while not list((hub.data / "agents").glob(f"{name}/1.0.0-*")):  # noqa: ASYNC110 (another process)
            await asyncio.sleep(0.05)


async def end_of_job(client: Talker) -> dict[str, Any]:
    async with deadline(60):
        while True:
            job: dict[str, Any] = (await client.call(f"{HUB}agents/install/status"))["job"]
            if job["state"] != "running":
                return job
            await asyncio.sleep(0.05)


def audited(hub: HubProcess, agent: str) -> list[tuple[str, ...]]:
    (log,) = hub.folder.rglob("audit.jsonl")
    entries = [entry for entry in read_entries(log.read_text()) if entry["agent"] == agent]
    return [tuple(entry[key] for key in ("method", "outcome", "person")) for entry in entries]


async def test_an_agent_is_added_used_and_removed_again(hub: HubProcess) -> None:
    client = await (await hub.client()).begin()
    entry = await plan_of(client, "tiny")
    assert (entry["version"], entry["license"], entry["homepage"]) == ("1.0.0", "MIT", "https://x.org/t")
    assert entry["kind"] == "binary"
    assert entry["steps"][0] == "download tiny-1.0.0.tar.gz"
    assert entry["check"].startswith("SHA-256 ")

    job = await begin(client, "tiny")
    assert (job["agent"], job["title"], job["by"]) == ("tiny", "Tiny", "ann")
    job = await end_of_job(client)
    assert (job["state"], job["failure"]) == ("installed", "")
    assert "  the archive is unpacked …" in job["lines"]

    tiny = await (await hub.client(query="?agent=tiny")).begin()
    session = await tiny.new(str(hub.work))
    await tiny.answer(tiny.prompt(session, "hello"))
    assert "hello" in "".join(tiny.texts(session=session))
    listing = await client.call(f"{HUB}agents/registry")
    assert [(one["name"], one["version"]) for one in listing["installed"]] == [("tiny", "1.0.0")]

    removed = await client.call(f"{HUB}agents/uninstall", {"agent": "tiny"})
    assert removed == {"removed": True, "version": "1.0.0"}
    names = [agent["name"] for agent in (await client.call(f"{HUB}agents"))["agents"]]
    assert "tiny" not in names
    assert not (hub.data / "agents" / "tiny").exists()
    assert not (await client.call(f"{HUB}agents/uninstall", {"agent": "tiny"}))["removed"]
    assert audited(hub, "tiny") == [
        ("_dragoman/hub/agents/install", "allow", "ann"),
        ("_dragoman/hub/agents/uninstall", "allow", "ann"),
    ]
    await leave(client, tiny)


async def test_a_failure_has_its_last_words_and_leaves_nothing(hub: HubProcess) -> None:
    client = await (await hub.client()).begin()
    await begin(client, "damaged")
    job = await end_of_job(client)
    assert job["state"] == "failed"
    assert job["failure"].startswith("the SHA-256 of the archive is ")
    assert job["failure"].endswith("nothing was unpacked")
    assert not (hub.data / "agents" / "damaged").exists()
    await leave(client)


async def test_one_runs_at_a_time_and_can_be_cancelled(hub: HubProcess) -> None:
    client = await (await hub.client()).begin()
    began = (await begin(client, "slow"))["began"]
    assert (await begin(client, "slow"))["began"] == began, "the same plan joins what runs"
    plan = (await plan_of(client, "next"))["plan"]
    refusal = await client.refusal(f"{HUB}agents/install", {"agent": "next", "plan": plan})
    assert "slow is being installed" in refusal["message"]
    await has_begun(hub, "slow")
    job = (await client.call(f"{HUB}agents/install/cancel"))["job"]
    assert job["state"] == "cancelled"
    assert not (hub.data / "agents" / "slow").exists()
    await begin(client, "next")
    assert (await end_of_job(client))["state"] == "installed"
    await leave(client)


async def test_an_agent_at_work_is_not_removed(hub: HubProcess) -> None:
    client = await (await hub.client()).begin()
    await begin(client, "busy")
    assert (await end_of_job(client))["state"] == "installed"
    busy = await (await hub.client(query="?agent=busy")).begin()
    session = await busy.new(str(hub.work))
    number = busy.prompt(session, "/wait 600")
    await busy.call(f"{HUB}history", {"sessionId": session})  # taken behind the prompt
    refusal = await client.refusal(f"{HUB}agents/uninstall", {"agent": "busy"})
    assert "busy is at work" in refusal["message"]
    busy.say({"method": "session/cancel", "params": {"sessionId": session}})
    await busy.answer(number)
    assert (await client.call(f"{HUB}agents/uninstall", {"agent": "busy"}))["removed"]
    await leave(client, busy)


async def test_a_plan_that_is_another_one_is_refused(hub: HubProcess) -> None:
    client = await (await hub.client()).begin()
    before = await client.call(f"{HUB}agents/install/status")
    for agent in ("damaged", "no-such-agent", "../tiny"):
        plan = (await plan_of(client, "next"))["plan"]
        refusal = await client.refusal(f"{HUB}agents/install", {"agent": agent, "plan": plan})
        assert refusal["code"] == -32600
    assert await client.call(f"{HUB}agents/install/status") == before
    await leave(client)


async def test_an_installation_ends_with_its_hub(hub: HubProcess) -> None:
    client = await (await hub.client()).begin()
    await begin(client, "slow")
    await has_begun(hub, "slow")
    await leave(client)
    hub.stop()
    assert not (hub.data / "agents" / "slow").exists()
    hub.start()


async def test_a_hub_may_refuse_it(tmp_path: Path) -> None:
    settings = 'agent_installs = "never"\n'
    with running(tmp_path, archive_entry(tmp_path, "tiny"), settings=settings) as hub:
        client = await (await hub.client()).begin()
        assert "does not let clients add agents" in (await client.call(f"{HUB}agents/registry"))["refusal"]
        plan = (await plan_of(client, "tiny"))["plan"]
        for method, params in (
            ("install", {"agent": "tiny", "plan": plan}),
            ("uninstall", {"agent": "tiny"}),
        ):
            refusal = await client.refusal(f"{HUB}agents/{method}", params)
            assert (refusal["code"], refusal["data"]) == (-32003, {"setting": "agent_installs"})
        assert [outcome for _, outcome, _ in audited(hub, "tiny")] == ["deny", "deny"]
        await leave(client)


@pytest.mark.parametrize(
    ("settings", "host", "reason"),
    [
        ("", "127.0.0.1", ""),
        ("", "::1", ""),
        ('hosts = ["localhost:1234", "[::1]:80"]', "127.0.0.1", ""),
        ("", "0.0.0.0", "can be reached from other machines"),
        ('hosts = ["hub.example"]', "127.0.0.1", "can be reached from other machines"),
        ('agent_installs = "always"\nhosts = ["hub.example"]', "0.0.0.0", ""),
        ('agent_installs = "never"', "127.0.0.1", "does not let clients add agents"),
        ("known_agents = false", "127.0.0.1", "only the agents of its configuration"),
        ('journal = "nats://127.0.0.1"', "127.0.0.1", "several hubs share this journal"),
    ],
)
def test_the_settings_say_whether_clients_may_add_agents(settings: str, host: str, reason: str) -> None:
    refusal = install_refusal(parse_settings(settings), host)
    assert (reason in refusal) if reason else refusal == ""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("data", "config", "cache"):
        monkeypatch.setenv(f"XDG_{name.upper()}_HOME", str(tmp_path / name))
    return tmp_path


async def test_an_installation_has_a_bounded_time(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(installation, "ENDING_SECONDS", patience(10))
    monkeypatch.setattr(installation, "COMMAND", (sys.executable, "-c", "import time; time.sleep(600)"))
    keep_list(home / "data" / "dragoman", home, [archive_entry(home, "tiny")])
    (entry,) = [agent for agent in listed(())["agents"] if agent["name"] == "tiny"]
    installer = AgentInstaller(offer=lambda: None, seconds=-patience(10) + 0.1)
    job = await installer.begin("tiny", plan=entry["plan"], by="ann")
    assert job is not None
    await installer.run(job)
    assert (job.state, "it took longer than" in job.failure) == ("failed", True)


async def test_nothing_is_done_that_the_audit_log_cannot_hold(home: Path) -> None:
    keep_list(home / "data" / "dragoman", home, [archive_entry(home, "tiny")])
    (entry,) = [agent for agent in listed(())["agents"] if agent["name"] == "tiny"]
    (home / "file").write_text("")
    installer = AgentInstaller(offer=lambda: None, audit=str(home / "file" / "audit.jsonl"))
    with pytest.raises(LocalMistake, match="the audit log cannot be written"):
        await installer.begin("tiny", plan=entry["plan"], by="ann")
    assert installer.job is not None
    assert installer.job.state == "failed"


def test_what_needs_more_than_a_client_may_allow_has_its_reason(home: Path) -> None:
    bare = archive_entry(home, "bare")
    for target in bare["distribution"]["binary"].values():
        del target["sha256"]
    keep_list(home / "data" / "dragoman", home, [bare])
    (entry,) = [agent for agent in listed(())["agents"] if agent["name"] == "bare"]
    assert "plan" not in entry
    assert "no hash for the archive" in entry["refusal"]
    assert "bare" not in [agent["name"] for agent in listed({"bare"})["agents"]]
    json.dumps(listed(()))


def test_an_older_version_of_the_list_is_no_update(home: Path) -> None:
    data = home / "data" / "dragoman"
    keep_list(data, home, [archive_entry(home, "tiny", version="2.5.0")])
    install(make_plan("tiny", registry=read_registry()), progress=lambda text: None)
    for version, has_plan in (("1.6.0", False), ("2.5.0", True), ("2.6.0", True)):
        keep_list(data, home, [archive_entry(home, "tiny", version=version)])
        (entry,) = [agent for agent in listed(())["agents"] if agent["name"] == "tiny"]
        assert ("plan" in entry) is has_plan
        assert has_plan or "tiny 2.5.0 is installed, and the list's 1.6.0 is not newer" in entry["refusal"]


async def test_nothing_is_installed_while_an_agent_is_being_removed(home: Path) -> None:
    keep_list(home / "data" / "dragoman", home, [archive_entry(home, "tiny")])
    (entry,) = [agent for agent in listed(())["agents"] if agent["name"] == "tiny"]
    installer = AgentInstaller(offer=lambda: None)
    job = await installer.begin("tiny", plan=entry["plan"], by="ann")
    assert job is not None
    await installer.run(job)
    assert job.state == "installed", job.failure
    is_ending, may_end = asyncio.Event(), asyncio.Event()

    async def end() -> None:
        is_ending.set()
        await may_end.wait()

    removal = asyncio.create_task(installer.remove("tiny", by="ann", end=end))
    await is_ending.wait()
    with pytest.raises(LocalMistake, match="tiny is being removed"):
        await installer.begin("tiny", plan=entry["plan"], by="ann")
    with pytest.raises(LocalMistake, match="tiny is being removed"):
        await installer.remove("tiny", by="ann", end=end)
    may_end.set()
    assert await removal == "1.0.0"
    assert await installer.begin("tiny", plan=entry["plan"], by="ann") is not None
