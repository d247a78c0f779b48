"""The host's part of an interpreter: it reads below the folders of a session, answers everything once, and
ends with its transport.
"""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path
from typing import Any

import pytest

from dragoman.dialect import Edge, EdgeSettings, Ledger, Message, Out, Translator
from dragoman.dialect.message import request
from dragoman.sdk.interpreter.dialect_transport import LendingTransport
from dragoman.transport.memory import memory_pair
from dragoman_local.interpreter.request_lending import MOST_SESSIONS, MOST_WAITING, RequestLending
from tests.dialect.edges import frame


@pytest.fixture(autouse=True)
def own_places(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the policy and the audit log of these tests are."""
    home = tmp_path_factory.mktemp("home")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home / "config"))
    monkeypatch.setenv("XDG_STATE_HOME", str(home / "state"))
    return home


class Desk:
    """Asks, and waits for the answers."""

    def __init__(self) -> None:
        self.lending = RequestLending(self._told)
        self._answers: asyncio.Queue[Any] = asyncio.Queue()

    def _told(self, position: int, message: Message) -> None:
        self._answers.put_nowait((position, frame(message)))

    async def ask(self, method: str, folder: Path | str, *, session: str = "s", **params: Any) -> Any:
        self.put("id", method, {"sessionId": session, "cwd": str(folder), **params})
        position, told = await self._answers.get()
        assert (position, told["id"]) == (3, "id")
        return told.get("result", told.get("error"))

    def put(self, request_id: Any, method: str, params: Any) -> None:
        self.lending.ask(3, request(request_id, method, params))

    async def next(self) -> Any:
        return (await self._answers.get())[1]


async def test_text_bytes_status_and_matches_are_read_below_the_folder(tmp_path: Path) -> None:
    desk = Desk()
    path = str(tmp_path / "rows.txt")
    Path(path).write_text("peas\nbeans\n")
    text = await desk.ask("fs/read_text_file", tmp_path, path=path, line=2, limit=1)
    assert text["content"] == "beans\n"
    read = await desk.ask("_dragoman/fs/read_range", tmp_path, path=path, offset=1, limit=3)
    assert read["content"] == "ZWFz"
    assert read["version"] == text["_meta"]["dragoman"]["version"]
    assert (await desk.ask("_dragoman/fs/stat", tmp_path, path=path))["exists"] is True
    assert (await desk.ask("_dragoman/fs/glob", tmp_path, pattern="*.txt"))["matches"] == [path]
    await desk.lending.aclose()


async def test_nothing_outside_the_folders_is_read_and_nothing_is_written(tmp_path: Path) -> None:
    desk = Desk()
    inside, other = tmp_path / "in", tmp_path / "other"
    for folder in (inside, other):
        folder.mkdir()
        (folder / "a").write_text("a")
    os.symlink(other / "a", inside / "link")
    for path in (other / "a", inside / ".." / "other" / "a", inside / "link"):
        for method in ("fs/read_text_file", "_dragoman/fs/read_range", "_dragoman/fs/stat"):
            assert (await desk.ask(method, inside, path=str(path)))["code"] == 403
    writing = await desk.ask("fs/write_text_file", inside, path=str(inside / "a"), content="b")
    assert writing["code"] == -32601
    more = [str(other)]
    read = await desk.ask(
        "fs/read_text_file", inside, path=str(other / "a"), additionalDirectories=more, session="t"
    )
    assert read["content"] == "a"
    await desk.lending.aclose()


async def test_the_policy_holds_for_files_that_an_interpreter_lends(tmp_path: Path, own_places: Path) -> None:
    desk = Desk()
    (tmp_path / ".dragoman").mkdir()
    (tmp_path / ".dragoman/policy.toml").write_text('[[rule]]\ndecision = "deny"\npath = "**/.env"\n')
    for name in (".env", "open"):
        (tmp_path / name).write_text("a")
    refused = await desk.ask("fs/read_text_file", tmp_path, path=str(tmp_path / ".env"))
    assert (refused["code"], refused["data"]["reason"]) == (403, "policy")
    assert (await desk.ask("fs/read_text_file", tmp_path, path=str(tmp_path / "open")))["content"] == "a"
    log = (own_places / "state/dragoman/audit.jsonl").read_text().splitlines()
    assert [json.loads(line)["outcome"] for line in log] == ["deny", "allow"]
    await desk.lending.aclose()


async def test_a_session_that_moves_is_lent_its_new_folder_and_no_longer_the_old(tmp_path: Path) -> None:
    desk = Desk()
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a").write_text(name)
    for name in ("one", "two"):
        read = await desk.ask("fs/read_text_file", tmp_path / name, path=str(tmp_path / name / "a"))
        assert read["content"] == name
    old = await desk.ask("fs/read_text_file", tmp_path / "two", path=str(tmp_path / "one" / "a"))
    assert old["code"] == 403
    await desk.lending.aclose()


async def test_a_folder_that_is_none_and_params_that_are_none_are_answered(tmp_path: Path) -> None:
    desk = Desk()
    assert (await desk.ask("_dragoman/fs/stat", tmp_path / "none", path="/"))["code"] == -32002
    assert (await desk.ask("_dragoman/fs/stat", "", path="/"))["code"] == -32002
    assert (await desk.ask("_dragoman/fs/stat", tmp_path, path=5))["code"] == -32602
    assert (await desk.ask("_dragoman/fs/stat", tmp_path, path="relative"))["code"] == -32602
    assert (await desk.ask("fs/read_text_file", tmp_path, path=None, line="x"))["code"] == -32602
    nonsense: list[Any] = [None, 5, []]
    for params in nonsense:
        desk.put("id", "_dragoman/fs/glob", params)
        assert "error" in await desk.next()
    await desk.lending.aclose()


async def test_many_sessions_do_not_hold_many_folders(tmp_path: Path) -> None:
    desk = Desk()
    await desk.ask("_dragoman/fs/stat", tmp_path, session="first", path=str(tmp_path))
    before = len(os.listdir("/proc/self/fd")) if Path("/proc/self/fd").is_dir() else 0
    for number in range(MOST_SESSIONS + 20):
        await desk.ask("_dragoman/fs/stat", tmp_path, session=str(number), path=str(tmp_path))
    if before:
        assert len(os.listdir("/proc/self/fd")) <= before + MOST_SESSIONS + 10
    again = await desk.ask("_dragoman/fs/stat", tmp_path, session="first", path=str(tmp_path))
    assert again["exists"] is True
    await desk.lending.aclose()


async def test_a_peer_that_asks_without_end_is_told_to_wait(tmp_path: Path) -> None:
    desk = Desk()
    params = {"sessionId": "s", "cwd": str(tmp_path), "path": str(tmp_path)}
    for number in range(MOST_WAITING + 1):
        desk.put(number, "_dragoman/fs/stat", params)
    first = await desk.next()
    assert (first["id"], first["error"]["code"]) == (MOST_WAITING, -32603)
    ids = {(await desk.next())["id"] for _ in range(MOST_WAITING)}
    assert ids == set(range(MOST_WAITING))
    await desk.lending.aclose()


class Asking(Edge):
    """Hands every request of its peer to the host, and the answer back."""

    def from_peer(self, message: Message) -> list[Out]:
        return [("host", message)]

    def from_host(self, message: Message) -> list[Out]:
        return [("peer", message)]


class Ear:
    def __init__(self) -> None:
        self.heard: asyncio.Queue[bytes] = asyncio.Queue()

    def feed(self, block: bytes) -> None:
        self.heard.put_nowait(block)

    def on_oversized(self, size: int) -> None: ...

    def on_end(self, reason: BaseException | None) -> None:
        self.heard.put_nowait(b"")


async def test_a_transport_answers_its_peer_out_of_the_host_and_closes_with_it(tmp_path: Path) -> None:
    ours, theirs = memory_pair()
    ledger = Ledger()
    transport = LendingTransport(ours, Translator([Asking(EdgeSettings(), ledger)], ledger))
    transport.start(Ear())
    peer = Ear()
    theirs.start(peer)
    asked = (
        f'{{"id":1,"method":"_dragoman/fs/stat","params":{{"sessionId":"s","cwd":"{tmp_path}","path":"/"}}}}'
    )
    theirs.write(asked.encode() + b"\n")
    assert b'"id":1' in await peer.heard.get()
    theirs.write(asked.encode() + b"\n")  # nobody waits for this one
    await transport.aclose()
    await transport.aclose()
    await theirs.aclose()
