"""Tokens, wrong tokens and a key, tried on a hub that runs."""

from __future__ import annotations

import json
from pathlib import Path

import httpx2
import pytest
from websockets.asyncio.client import ClientConnection, connect

from dragoman_hub.runner import RunningHub, run_hub
from dragoman_hub.settings import EncryptionSettings, HubSettings
from dragoman_local.journal import WrongKey
from tests.journal.streams import all_bytes

pytestmark = pytest.mark.bound(40)

KEY = "q2VfZ3Jvd3MgaW4gdGhlIGRhcms0LCBpdCBzYXlz"


def settings(folder: Path) -> HubSettings:
    return HubSettings(
        listen="127.0.0.1:0",
        journal=str(folder / "hub.db"),
        durability="off",
        default_agent="echo",
        known_agents=False,
        encryption=EncryptionSettings(key="env:HUB_KEY"),
    )


def bearer(token: str | None) -> dict[str, str]:
    return {"authorization": f"Bearer {token}"}


async def begun(run: RunningHub, token: str | None) -> ClientConnection:
    socket = await connect(f"{run.url.replace('http', 'ws', 1)}acp", additional_headers=bearer(token))
    await asked(socket, "initialize", protocolVersion=1, clientCapabilities={})
    return socket


async def asked(socket: ClientConnection, method: str, **params: object) -> dict[str, object]:
    """The result of a request; what else is said meanwhile is passed over."""
    await socket.send(json.dumps({"jsonrpc": "2.0", "id": method, "method": method, "params": params}))
    while True:
        heard = json.loads(await socket.recv())
        if heard.get("id") == method:
            result: dict[str, object] = heard["result"]
            return result


async def test_a_hub_ends_connections_of_revoked_tokens_and_seals_what_it_stores(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HUB_KEY", KEY)
    async with run_hub(settings(tmp_path)) as run:
        guest = run.store.add("guest")
        owner = await begun(run, run.token)
        stays = await begun(run, guest)
        run.store.revoke("owner")
        await owner.wait_closed()
        session = await asked(stays, "session/new", cwd=str(tmp_path), mcpServers=[])
        prompt = [{"type": "text", "text": "a confidential question"}]
        await asked(stays, "session/prompt", sessionId=session["sessionId"], prompt=prompt)
        await stays.close()
    assert b"confidential" not in all_bytes(tmp_path)
    monkeypatch.setenv("HUB_KEY", KEY[::-1])
    with pytest.raises(WrongKey, match="sealed with another key"):
        async with run_hub(settings(tmp_path)):
            pass


async def test_a_guesser_is_told_to_wait(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HUB_KEY", KEY)
    async with run_hub(settings(tmp_path)) as run, httpx2.AsyncClient(timeout=None) as http:
        answers = [await http.post(f"{run.url}ticket", headers=bearer("wrong")) for _ in range(20)]
        assert {answer.status_code for answer in answers[:10]} == {401}
        slowed = [answer for answer in answers if answer.status_code == 429]
        assert slowed
        assert all(1 <= int(answer.headers["retry-after"]) <= 6 for answer in slowed)
        assert (await http.post(f"{run.url}ticket", headers=bearer(run.token))).status_code == 200
