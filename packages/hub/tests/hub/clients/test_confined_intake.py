"""Messages of a client whose token has roots: in order, each behind the look at its folders, and bounded."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

import pytest

from dragoman.errors import LinkClosed
from dragoman.runtime.owner import TaskOwner
from dragoman.wire.envelope import Envelope, Notification, Request
from dragoman_hub.clients.confined_intake import ConfinedClient, ConfinedIntake
from dragoman_hub.engine.options import HubOptions
from dragoman_hub.gate.admission import Grant
from dragoman_hub.gate.real_paths import RealPaths
from tests.hub.sessions.agents import obedient
from tests.hub.sessions.stage import staged
from tests.runtime.raw import until

LOAD = {"method": "session/load", "params": {"sessionId": "s", "cwd": "/a", "mcpServers": []}}
CANCEL = {"method": "session/cancel", "params": {"sessionId": "s"}}


class SlowGrant:
    """Paths are looked at when `ready` is set, and then known."""

    roots = ("/",)

    def __init__(self) -> None:
        self.ready = asyncio.Event()
        self.looked: list[str] = []

    def paths_to_look_at(self, paths: Iterable[str]) -> list[str]:
        return [path for path in paths if path and path not in self.looked]

    async def look_at(self, paths: Iterable[str]) -> None:
        await self.ready.wait()
        self.looked += paths


class Stage:
    """Stands for the hub and for the client, too."""

    def __init__(self) -> None:
        self.options = HubOptions(default_agent="one", unread=1000, folder="/folder", home="/home")
        self.hub = self
        self.grant = SlowGrant()
        self.taken: list[str] = []
        self.given_up: list[str] = []
        self.is_gone = False

    def give_up(self, why: str) -> None:
        self.given_up.append(why)

    def take(self, envelope: Envelope) -> None:
        if self.is_gone:
            raise LinkClosed("gone")
        assert isinstance(envelope, Request | Notification)
        self.taken.append(envelope.method)


@asynccontextmanager
async def intake() -> AsyncIterator[tuple[Stage, ConfinedIntake]]:
    stage, owner = Stage(), TaskOwner("intake")
    try:
        yield stage, ConfinedIntake(cast(ConfinedClient, stage), stage.take, owner)
    finally:
        await owner.aclose()


def block(*messages: dict[str, Any]) -> bytes:
    numbered = [
        {"jsonrpc": "2.0", **({} if message is CANCEL else {"id": number}), **message}
        for number, message in enumerate(messages)
    ]
    return b"".join(json.dumps(message).encode() + b"\n" for message in numbered)


async def test_what_names_no_folder_is_taken_at_once() -> None:
    async with intake() as (stage, messages):
        messages.feed(block(CANCEL, {"method": "session/list", "params": {}}))
        assert stage.taken == ["session/cancel", "session/list"]
        assert stage.grant.looked == []


async def test_what_comes_behind_a_folder_waits_for_the_look_at_it() -> None:
    async with intake() as (stage, messages):
        other = {**LOAD, "params": {**LOAD["params"], "cwd": "/b"}}  # type: ignore[dict-item]
        messages.feed(block(LOAD, CANCEL))
        messages.feed(block(other, LOAD, CANCEL))
        assert stage.taken == []
        stage.grant.ready.set()
        await until(lambda: len(stage.taken) == 5)
        load, cancel = LOAD["method"], CANCEL["method"]
        assert stage.taken == [load, cancel, load, load, cancel]
        assert stage.grant.looked == ["/a", "/b"]
        messages.feed(block(LOAD))
        assert len(stage.taken) == 6, "what is known is taken at once"


async def test_the_folders_of_the_hub_are_looked_at_for_an_introduction() -> None:
    async with intake() as (stage, messages):
        stage.grant.ready.set()
        messages.feed(block({"method": "initialize", "params": {"protocolVersion": 1}}))
        await until(lambda: stage.taken == ["initialize"])
        assert stage.grant.looked == ["/folder", "/home"]


async def test_who_goes_on_while_a_disk_hangs_is_given_up() -> None:
    async with intake() as (stage, messages):
        messages.feed(block(LOAD))
        while not stage.given_up:
            messages.feed(block(CANCEL) * 4)
        assert stage.given_up == ["it goes on while a disk does not answer"]
        stage.grant.ready.set()
        await until(lambda: LOAD["method"] in stage.taken)
        messages.feed(block(LOAD) * 20)
        assert len(stage.given_up) == 1, "nothing is held any more"


async def test_nothing_is_taken_of_a_client_that_is_gone() -> None:
    async with intake() as (stage, messages):
        messages.feed(block(LOAD, CANCEL))
        stage.is_gone = True
        stage.grant.ready.set()
        await until(lambda: stage.grant.looked == ["/a"])
        stage.is_gone = False
        messages.feed(block(CANCEL))
        await until(lambda: stage.taken != [])
        assert stage.taken == ["session/cancel"]


async def test_a_token_with_roots_may_open_them_though_nobody_has_looked_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dragoman_hub.gate.admission.real_paths", RealPaths())
    (tmp_path / "link").symlink_to(tmp_path)
    async with staged({"one": obedient}) as stage:
        for cwd, is_good in ((tmp_path, True), (tmp_path / "link", True), (tmp_path.parent, False)):
            rooted = await stage.client(Grant("rooted", roots=(str(tmp_path),))).begin()
            answer = await rooted.answer(rooted.ask("session/new", {"cwd": str(cwd), "mcpServers": []}))
            assert ("result" in answer) is is_good
