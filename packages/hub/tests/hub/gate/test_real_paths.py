"""Where paths lead: threads look, the event loop never waits, and a link that changes is noticed."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Coroutine, Iterator
from pathlib import Path
from typing import Any

import pytest

from dragoman.testing.pace import patience
from dragoman_hub.gate import real_paths
from dragoman_hub.gate.admission import Grant
from dragoman_hub.gate.real_paths import FRESH_SECONDS, RealPaths
from tests.hub.sessions.agents import obedient
from tests.hub.sessions.stage import staged

EVERYWHERE = Grant("guest", roots=("/",))


class Disk:
    """Resolves paths, and notes which, and in which thread; those in `hanging` when it is told to."""

    def __init__(self) -> None:
        self.hanging: set[str] = set()
        self.paths: list[str] = []
        self.threads: set[int] = set()
        self.is_ready = threading.Event()

    def resolve(self, path: str) -> str:
        self.paths.append(path)
        self.threads.add(threading.get_ident())
        if path in self.hanging:
            self.is_ready.wait(patience(10))
        return os.path.realpath(path)

    async def answer(self, look: Coroutine[Any, Any, None]) -> None:
        """Let the disk answer once somebody waits for it, and hang again."""
        waiting = asyncio.create_task(look)
        await asyncio.sleep(0)
        self.is_ready.set()
        await waiting
        self.is_ready.clear()


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Iterator[Disk]:
    disk = Disk()
    monkeypatch.setattr(real_paths, "_resolve", disk.resolve)
    monkeypatch.setattr("dragoman_hub.gate.admission.real_paths", RealPaths(patience=patience(10)))
    yield disk
    disk.is_ready.set()


async def test_a_look_is_good_for_seconds_and_a_changed_link_is_noticed_after_them(
    tmp_path: Path, disk: Disk
) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "a")
    now, link = [0.0], str(tmp_path / "link")
    paths = RealPaths(clock=lambda: now[0], patience=patience(10))
    disk.hanging.add(link)  # or the thread that looks may be faster than we are
    assert paths.get(link) is None  # nobody has looked
    await disk.answer(paths.look([link]))
    (tmp_path / "link").unlink()
    (tmp_path / "link").symlink_to(tmp_path / "b")
    now[0] += FRESH_SECONDS
    await paths.look([link])
    assert paths.get(link) == str(tmp_path / "a")
    now[0] += 0.1
    assert paths.get(link) == str(tmp_path / "a")  # what was found last, and somebody looks
    await disk.answer(paths.look([link]))
    assert paths.get(link) == str(tmp_path / "b")
    assert disk.paths == [link] * 2
    assert threading.get_ident() not in disk.threads


async def test_the_place_that_was_looked_at_longest_ago_is_forgotten_first(
    disk: Disk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(real_paths, "PATHS", 2)
    now = [0.0]
    paths = RealPaths(clock=lambda: now[0])
    await paths.look(["/a"])
    now[0] += 1
    await paths.look(["/b"])
    now[0] += FRESH_SECONDS
    await paths.look(["/a"])  # again
    await paths.look(["/c"])
    assert [paths.needs_look(path) for path in ("/a", "/b", "/c")] == [False, True, False]


async def test_a_disk_that_hangs_is_asked_once_and_its_path_leads_nowhere(disk: Disk) -> None:
    disk.hanging = {"/far"}
    paths = RealPaths(patience=0.01)
    for _ in range(3):
        await paths.look(["/far"])
        assert paths.get("/far") is None
    await asyncio.wait_for(paths.look(["/near"]), patience(5))
    assert disk.paths.count("/far") == 1
    assert paths.get("/near") == "/near"


def test_who_has_no_event_loop_looks_by_itself(disk: Disk) -> None:
    assert EVERYWHERE.may_open("/near")
    assert disk.threads == {threading.get_ident()}


async def test_a_folder_on_a_disk_that_hangs_holds_up_nobody_but_who_names_it(
    tmp_path: Path, disk: Disk
) -> None:
    near, far = str(tmp_path / "near"), str(tmp_path / "far")
    async with staged({"one": obedient}) as stage:
        guest, other = await stage.client(EVERYWHERE).begin(), await stage.client(EVERYWHERE).begin()
        owner = await stage.client().begin()
        disk.hanging = {far}
        asked = guest.ask("session/new", {"cwd": far, "mcpServers": []})
        behind = guest.ask("_dragoman/hub/agents", {})
        session = await other.new(near)
        await other.answer(other.prompt(session, "hello"))
        await owner.new(far)  # whose token is for all folders
        assert not [one for one in guest.heard if one.get("id") in (asked, behind)]
        disk.is_ready.set()
        made = await guest.answer(asked)
        assert "result" in await guest.answer(behind)
        await guest.call("_dragoman/hub/sessions", {})
        await guest.call("_dragoman/hub/inbox", {})
        await guest.answer(guest.prompt(made["result"]["sessionId"], "hello"))
    assert disk.paths.count(far) < 5
    assert threading.get_ident() not in disk.threads


async def test_messages_behind_one_whose_folder_is_looked_at_stay_in_order(
    tmp_path: Path, disk: Disk
) -> None:
    """A cancel that overtook its prompt would cancel nothing."""
    link = (tmp_path / "notes.txt").as_uri()
    async with staged({"one": obedient}) as stage:
        guest = await stage.client(EVERYWHERE).begin()
        session = await guest.new(str(tmp_path))
        disk.hanging = {str(tmp_path / "notes.txt")}
        blocks = [{"type": "text", "text": "wait"}, {"type": "resource_link", "uri": link, "name": "notes"}]
        asked = guest.ask("session/prompt", {"sessionId": session, "prompt": blocks})
        guest.say({"method": "session/cancel", "params": {"sessionId": session}})
        disk.is_ready.set()
        assert (await guest.answer(asked))["result"]["stopReason"] == "cancelled"
