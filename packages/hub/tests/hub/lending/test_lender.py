"""What the hub lends: folders are opened without holding up the others, and nothing stays open."""

from __future__ import annotations

import asyncio
import os
import threading
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec import Raw

from dragoman.errors import DragomanError, ErrorAnswer
from dragoman.testing.pace import patience
from dragoman_hub.lending import lender
from dragoman_local.workspace import roots
from dragoman_local.workspace.method_handlers import MethodHandlers
from dragoman_local.workspace.settings import FileSettings
from tests.hub.sessions.agents import obedient
from tests.hub.sessions.stage import staged
from tests.hub.test_hub_effects import user
from tests.runtime.raw import until


class SlowDisk:
    """Opens folders of sessions when it is told to, and notes in which thread."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.is_ready = threading.Event()
        self.is_asked, self.is_open = asyncio.Event(), asyncio.Event()
        self.threads: list[int] = []
        self._loop, self._thread = asyncio.get_running_loop(), threading.get_ident()
        self._open = roots._open_root
        monkeypatch.setattr(roots, "_open_root", self._open_root)

    def _open_root(self, path: str) -> Any:
        self.threads.append(threading.get_ident())
        self._loop.call_soon_threadsafe(self.is_asked.set)
        if threading.get_ident() != self._thread:
            self.is_ready.wait(patience(5))
        root = self._open(path)
        self._loop.call_soon_threadsafe(self.is_open.set)
        return root


@pytest.fixture
async def disk(monkeypatch: pytest.MonkeyPatch) -> SlowDisk:
    return SlowDisk(monkeypatch)


async def test_a_folder_on_a_slow_disk_holds_up_its_own_session_alone(tmp_path: Path, disk: SlowDisk) -> None:
    (tmp_path / "a.txt").write_text("lent")
    async with staged({"user": user}) as stage:
        client = await stage.client().begin()
        session, other = await client.new(str(tmp_path)), await client.new(str(tmp_path))
        number = client.prompt(session, f"read {tmp_path}/a.txt")
        await disk.is_asked.wait()
        await client.call("_dragoman/hub/sessions", {})
        disk.is_ready.set()
        await client.answer(number)
        await client.answer(client.prompt(other, f"read {tmp_path}/a.txt"))
        assert client.texts() == ["lent", "lent"]
    assert len(disk.threads) == 2
    assert threading.get_ident() not in disk.threads


async def test_folders_that_are_opened_too_late_for_their_session_do_not_stay_open(
    tmp_path: Path, disk: SlowDisk
) -> None:
    async with staged({"user": user}) as stage:
        client = await stage.client().begin()
        session = await client.new(str(tmp_path))
        client.prompt(session, f"read {tmp_path}/a.txt")
        await disk.is_asked.wait()
        await client.call("session/close", {"sessionId": session})
        disk.is_ready.set()
        await disk.is_open.wait()
        await until(lambda: str(tmp_path) not in _open_folders())


async def test_what_an_agent_writes_is_not_copied_to_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may be a hundred megabytes, and the session holds it already."""
    copies: list[bool] = []
    answer = MethodHandlers.answer

    async def see(handlers: MethodHandlers, method: str, params: bytes | Raw) -> bytes:
        (session,) = stage.hub.sessions.values()
        copies.append(all(request.params is not params for request in session.state.requests.values()))
        return await answer(handlers, method, params)

    monkeypatch.setattr(MethodHandlers, "answer", see)
    (tmp_path / "policy.toml").write_text('default = "allow"\n')
    async with staged({"user": user}, policy=str(tmp_path / "policy.toml")) as stage:
        client = await stage.client().begin()
        session = await client.new(str(tmp_path))
        await client.answer(client.prompt(session, f"write {tmp_path}/new.txt"))
    assert (tmp_path / "new.txt").read_text() == "text\n"
    assert copies == [False]


@pytest.mark.parametrize(
    ("problem", "said"),
    [
        (RuntimeError("a mistake of ours"), "-32603  Internal error"),
        (DragomanError("gone"), "-32603  Internal error: the session's folder cannot be used"),
        (ErrorAnswer(-32002, "not found", {"reason": "missing"}), "-32002 missing not found"),
    ],
    ids=lambda case: type(case).__name__,
)
async def test_an_agent_is_told_what_kept_it_from_what_it_asks_for(
    problem: Exception, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(handlers: MethodHandlers, method: str, params: bytes | Raw) -> bytes:
        raise problem

    monkeypatch.setattr(MethodHandlers, "answer", fail)
    async with staged({"user": user}) as stage:
        client = await stage.client().begin()
        session = await client.new(str(tmp_path))
        await client.answer(client.prompt(session, f"read {tmp_path}/a.txt"))
        assert client.texts() == [said]


async def test_what_a_released_terminal_printed_is_kept_for_people_up_to_a_bound(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lender, "RELEASED", 2)
    monkeypatch.setattr(lender, "SHOWN", 4)
    (tmp_path / "policy.toml").write_text('default = "allow"\n')
    async with staged({"one": obedient}, policy=str(tmp_path / "policy.toml")) as stage:
        client = await stage.client().begin()
        session = await client.new(str(tmp_path))
        for number in range(3):
            await client.answer(client.prompt(session, f"run echo number-{number}"))
        first, *others = client.texts()
        said = {"sessionId": session, "terminalId": first}
        assert (await client.refusal("_dragoman/hub/terminal", said))["code"] == -32002
        for number, terminal in enumerate(others, 1):
            shown = await client.call("_dragoman/hub/terminal", {**said, "terminalId": terminal})
            assert shown["output"] == f"r-{number}\n"
            assert shown["exitStatus"] == {"exitCode": 0, "signal": None}


@pytest.mark.parametrize(
    ("params", "size"),
    [
        ({"path": "large"}, 2000),
        ({"path": "larger"}, 3000),
        ({"path": "none"}, 0),
        ({"path": "a\0b"}, 0),
        ({"path": 7}, 0),
        ({}, 0),
    ],
)
def test_room_is_taken_for_as_much_as_a_file_will_need(
    params: dict[str, Any], size: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(lender, "DEFAULT_SETTINGS", FileSettings(read_bytes=3000))
    (tmp_path / "large").write_bytes(bytes(2000))
    (tmp_path / "larger").write_bytes(bytes(4000))
    assert lender._size_of_file(Raw(msgspec.json.encode(params))) == size


def _open_folders() -> set[str]:
    folders = set()
    for fd in os.listdir("/proc/self/fd"):
        try:
            folders.add(os.readlink(f"/proc/self/fd/{fd}"))
        except OSError:
            pass  # the listing's own
    return folders
