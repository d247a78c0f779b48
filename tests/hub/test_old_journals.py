"""What a hub 0.1.0 has left on disks and on NATS is opened: nothing that clients were told is lost or changes.

The fixtures were made by that version and are never made again; `expected.json` is what its clients were told.
Its agent host is gone here: turns end and say so, and prompts that waited are run by a new process.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dragoman.errors import DragomanError
from dragoman.hub.running import running
from tests.hub.fixtures.scenes import KINDS, OldScene, OldWatcher, opened
from tests.nats_servers import Servers, started

pytestmark = pytest.mark.bound(30)

OPEN = ("open", "queue", "permission", "elicitation", "secret")
IDLE = ("keys", "titled", "fork", "closed", "attachments")
KEPT_ANSWERS = 64
"""Answers that a hub 0.1.0 keeps for each session."""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Servers]:
    with started(tmp_path_factory.mktemp("nats")) as servers:
        yield servers


@pytest.fixture(params=KINDS)
async def scene(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> OldScene:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("FIXTURE_KEY", "")
    url = request.getfixturevalue("server").url if request.param == "nats" else ""
    found = OldScene(request.param, tmp_path, server=url)
    await found.unpack()
    return found


def without_risks(told: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What the rules found in a question is told while it is open."""
    hidden = ("risks", "risksNote")
    return [
        {**message, "params": {name: value for name, value in message["params"].items() if name not in hidden}}
        for message in told
    ]


async def test_sessions_are_listed_as_they_were(scene: OldScene) -> None:
    async with opened(scene) as (_, watcher):
        listed = (await watcher.call("_dragoman/hub/sessions", {"limit": 100}))["sessions"]
        found = {session["sessionId"]: session for session in listed}
        assert set(found) == {session["id"] for session in scene.sessions.values() if session["listing"]}
        for name in (*IDLE, *OPEN):
            before = scene.sessions[name]["listing"]
            now = found[scene.sessions[name]["id"]]
            same = ("agent", "cwd", "title", "createdAt")
            assert {key: now.get(key) for key in same} == {key: before.get(key) for key in same}
        states = {name: found[scene.sessions[name]["id"]]["state"] for name in IDLE}
        assert states == {name: scene.sessions[name]["listing"]["state"] for name in IDLE}


async def test_loading_replays_what_clients_were_told(scene: OldScene) -> None:
    async with opened(scene) as (_, watcher):
        for name in (*IDLE, *OPEN):
            session = scene.sessions[name]
            await watcher.load(session)
            before = without_risks(session["told"])
            now = without_risks(watcher.told(session))[: len(before)]
            if name == "secret":
                secret = scene.expected["secret"]
                assert secret not in str(now)
                before = eval(str(before).replace(secret, "[redacted]"))  # noqa: S307 -- our own values
            assert now == before, name
        error = await watcher.refusal("session/load", {"sessionId": "deleted-session", "cwd": "/", "mcpServers": []})
        assert error["code"] == -32002
