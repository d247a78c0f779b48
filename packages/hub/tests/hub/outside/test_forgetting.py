"""Sessions that a hub forgets are gone from its disk: by a command, by its settings, and after a restart."""

from __future__ import annotations

import json
import subprocess
import time
from pathlib import Path

import pytest

from dragoman.testing.pace import deadline, patience
from dragoman_local.journal.sqlite import SqliteJournal
from tests.forks import forked
from tests.hub.outside.process import DRAGOMAN, ROOT, STARTING, UNHURRIED, HubProcess, leave, running_hub
from tests.hub.sessions.raw_agents import eventually
from tests.journal.test_erasure import files_with

pytestmark = pytest.mark.bound(90)

MARKER = "zanzibarquagga"


def forget(hub: HubProcess, *words: str, token: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        forked([*DRAGOMAN, "sessions", "forget", "--hub", f"ws://{hub.place}/acp", *words]),
        cwd=ROOT,
        env={**hub.env, "DRAGOMAN_TOKEN": token or hub.token},
        capture_output=True,
        text=True,
        timeout=patience(STARTING),
        check=False,
    )


async def talk(
    hub: HubProcess, *, agent: str = "review", cwd: Path | None = None, marker: str = MARKER
) -> str:
    """A session in which the marker was said."""
    client = await (await hub.client()).begin()
    session = await client.new(str(cwd or hub.work), agent=agent)
    await client.answer(client.prompt(session, f"say {marker}"))
    await client.call("_dragoman/hub/search", {"text": marker})  # the index of words is made
    await leave(client)
    return session


async def test_a_command_lets_a_hub_forget_a_session_whose_agent_is_gone(tmp_path: Path) -> None:
    with running_hub(tmp_path) as hub:
        session = await talk(hub)
        assert {"hub.db", "sessions.db"} <= {
            name.removesuffix("-wal") for name in files_with(MARKER, tmp_path)
        }
        hub.stop()
        hub.start()  # nobody can tell the agent now: its process does not run
        done = forget(hub, session, "--yes", "--json")
        assert (done.returncode, json.loads(done.stdout)["sessions"]) == (0, [session]), done.stderr
        assert f"no session {session!r}" in forget(hub, session, "--yes").stderr
        await eventually(lambda: not files_with(MARKER, tmp_path))


async def test_a_turn_that_runs_is_kept_and_a_narrow_token_forgets_only_its_own(tmp_path: Path) -> None:
    with running_hub(tmp_path) as hub:
        root = tmp_path / "root"
        root.mkdir()
        words = ("hub", "token", "add", "ci", "--scope", "prompt", "--root", str(root))
        narrow = hub.command(*words).split()[-1]
        client = await (await hub.client()).begin()
        session = await client.new(str(hub.work))
        prompt = client.prompt(session, "/wait 600")
        async with deadline(20.0):
            while (await client.call("_dragoman/hub/sessions"))["sessions"][0]["state"] != "running":
                pass
        done = forget(hub, "--all", "--yes")
        assert done.returncode == 1
        assert "a turn runs in this session: cancel it first, then forget the session" in done.stderr

        own = await talk(hub, agent="echo", cwd=root)
        assert "no session" in forget(hub, session, "--yes", token=narrow).stderr
        done = forget(hub, "--all", "--yes", "--json", token=narrow)
        assert (done.returncode, json.loads(done.stdout)["sessions"]) == (0, [own]), done.stderr
        listing = await client.call("_dragoman/hub/sessions")
        assert [line["sessionId"] for line in listing["sessions"]] == [session]
        client.say({"method": "session/cancel", "params": {"sessionId": session}})
        await client.answer(prompt)
        await leave(client)


async def test_sessions_older_than_the_settings_allow_are_forgotten_by_themselves(tmp_path: Path) -> None:
    with running_hub(tmp_path, config=f"keep_days = 2\n{UNHURRIED}") as hub:
        old, new = await talk(hub, agent="echo"), await talk(hub, agent="echo", marker="kept")
        hub.stop()
        await make_old(hub.data / "hub.db", old, days=3)
        await make_old(hub.data / "hub.db", new, days=1)
        hub.start()
        client = await (await hub.client()).begin()
        async with deadline(20.0):
            while len((listing := await client.call("_dragoman/hub/sessions"))["sessions"]) > 1:
                pass
        assert [line["sessionId"] for line in listing["sessions"]] == [new]
        await leave(client)
        await eventually(lambda: not files_with(MARKER, tmp_path))
        assert files_with("say kept", tmp_path)


async def make_old(path: Path, stream: str, *, days: int) -> None:
    """As if nothing had been said in it since."""
    async with SqliteJournal(path, clock=lambda: time.time() - days * 86400) as journal:
        await journal.describe(stream)
