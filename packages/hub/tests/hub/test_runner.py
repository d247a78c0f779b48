"""How a hub starts: it lets nobody in before it can serve, and does what its environment says."""

from __future__ import annotations

import asyncio
import os
import socket
import sys
import threading
from pathlib import Path

import pytest
from msgspec.structs import replace

from dragoman.errors import LocalMistake
from dragoman.runtime.loop_watch import SWITCH
from dragoman.system.files import lock
from dragoman_hub.runner import run_hub
from dragoman_hub.settings import EncryptionSettings, HubSettings
from tests.ports import KeptPort

pytestmark = [
    pytest.mark.bound(40),
    pytest.mark.skipif(sys.platform == "win32", reason="holds a lock that Windows does not have"),
]


def settings(folder: Path, port: int) -> HubSettings:
    return HubSettings(
        listen=f"127.0.0.1:{port}",
        journal=str(folder / "hub.db"),
        default_agent="echo",
        known_agents=False,
    )


async def is_open(port: int) -> bool:
    try:
        _, writer = await asyncio.open_connection("127.0.0.1", port)
    except ConnectionRefusedError:
        return False
    writer.close()
    await writer.wait_closed()
    return True


async def test_nobody_is_let_in_while_the_journal_is_being_opened(tmp_path: Path) -> None:
    kept_port = KeptPort()
    port = kept_port.number
    descriptor = os.open(tmp_path / "hub.db-lock", os.O_RDWR | os.O_CREAT, 0o600)
    lock(descriptor)  # as whoever repairs the journal does
    running = run_hub(settings(tmp_path, port))
    starting = asyncio.ensure_future(running.__aenter__())
    try:
        await asyncio.sleep(0)  # up to the journal it waits for nothing
        assert (tmp_path / "hub" / "lock").exists()
        assert not await is_open(port)
        assert not starting.done()
    finally:
        os.close(descriptor)
    await starting
    try:
        assert await is_open(port)
    finally:
        await running.__aexit__(None, None, None)


async def test_a_hub_with_a_sealed_journal_seals_the_memory_of_turns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HUB_KEY", "0123456789abcdef" * 2)
    sealed = replace(settings(tmp_path, 0), encryption=EncryptionSettings(key="env:HUB_KEY"))
    async with run_hub(sealed) as running:
        store = running.hub.changes.store
        assert store is not None
        store.begin_turn("s", ["/quagga"])
        running.reload(sealed)
        assert running.hub.options.trees_seal is not None
        assert store.path in running.hub.options.secrets
    assert not (tmp_path / "memory.db").exists()
    assert all(b"quagga" not in path.read_bytes() for path in tmp_path.glob("memory-sealed.db*"))


async def test_a_hub_whose_tokens_cannot_be_read_never_listens(tmp_path: Path) -> None:
    kept_port = KeptPort()
    port = kept_port.number
    (tmp_path / "tokens.json").write_text("no tokens")
    (tmp_path / "tokens.json").chmod(0o600)
    with pytest.raises(LocalMistake, match="not a token file"):
        async with run_hub(settings(tmp_path, port)):
            pass
    assert not await is_open(port)


async def test_a_port_that_is_taken_is_named_before_anything_is_opened(tmp_path: Path) -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as taken,
        pytest.raises(LocalMistake, match="can't listen at"),
    ):
        async with run_hub(settings(tmp_path, taken.getsockname()[1])):
            pass
    assert not (tmp_path / "hub.db").exists()


def watches() -> int:
    return sum(thread.name == "loop watch" for thread in threading.enumerate())


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere nobody looks on")
@pytest.mark.parametrize("switch", ["", "1"])
async def test_a_hub_watches_its_loop_if_it_is_told_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, switch: str
) -> None:
    monkeypatch.setenv(SWITCH, switch)
    before = watches()
    settings = HubSettings(listen="127.0.0.1:0", journal=str(tmp_path / "hub.db"), known_agents=False)
    async with run_hub(settings):
        assert watches() - before == bool(switch)
    assert watches() == before
