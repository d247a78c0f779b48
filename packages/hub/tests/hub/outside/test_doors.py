"""A real hub from outside: stolen tickets, revoked tokens, guessers, secrets on disk, frames without measure,
and a reader that does not read.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from tests.hub.outside.process import DRAGOMAN, ROOT, HubProcess, leave, running_hub
from tests.hub.sessions.stage import Talker

pytestmark = [pytest.mark.bound(100), pytest.mark.timeout(150)]

MEBIBYTE = 1024 * 1024


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HubProcess]:
    with running_hub(tmp_path_factory.mktemp("hub")) as one:
        yield one


def ticket(hub: HubProcess, token: str = "") -> httpx2.Response:
    headers = {"authorization": f"Bearer {token or hub.token}"}
    return httpx2.post(f"http://{hub.place}/ticket", timeout=None, headers=headers)


async def test_a_ticket_that_was_used_is_of_no_use_to_whoever_stole_it(hub: HubProcess) -> None:
    url = f"ws://{hub.place}/acp?ticket={ticket(hub).json()['ticket']}"
    async with connect(url):
        with pytest.raises(InvalidStatus) as refused:
            await connect(url)
    assert refused.value.response.status_code == 401


async def test_a_revoked_token_ends_its_connection_and_its_tickets(hub: HubProcess) -> None:
    token = json.loads(hub.command("hub", "token", "add", "guest", "--json"))["token"]
    bought = ticket(hub, token)
    guest = await (await hub.client(token=token)).begin()
    hub.command("hub", "token", "revoke", "guest")
    await guest.until(lambda _: bool(guest.ended_with), after=-1)
    assert ticket(hub, token).status_code in (401, 429)
    with pytest.raises(InvalidStatus):
        await connect(f"ws://{hub.place}/acp?ticket={bought.json()['ticket']}")
    await leave(guest)


async def test_a_guesser_is_told_to_wait_and_nobody_else_is(hub: HubProcess) -> None:
    answers = [ticket(hub, "guess").status_code for _ in range(30)]
    assert 429 in answers
    assert set(answers) <= {401, 429}
    assert ticket(hub).status_code == 200


@pytest.mark.parametrize(
    "text", ['{"jsonrpc":"2.0","id":1,"method":"initialize"' + " " * 17 * MEBIBYTE, "{" * 9]
)
async def test_messages_without_measure_or_meaning_end_or_are_refused(hub: HubProcess, text: str) -> None:
    async with connect(f"ws://{hub.place}/acp", additional_headers=hub.headers) as socket:
        heard = ""
        with contextlib.suppress(ConnectionClosed):
            await socket.send(text)
            heard = str(await socket.recv())
        assert '"error"' in heard or socket.close_code in (1009, 1006)
    assert ticket(hub).status_code == 200


def resident(pid: int) -> int:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * 4096


async def idle(client: Talker) -> list[dict[str, str]]:
    found = await client.call("_dragoman/hub/sessions", {"state": "idle", "limit": 500})
    sessions: list[dict[str, str]] = found["sessions"]
    return sessions


async def test_a_reader_that_does_not_read_slows_only_itself(hub: HubProcess) -> None:
    clients = [await (await hub.client()).begin() for _ in range(8)]
    slow, *others = clients
    sessions = [await client.new(str(hub.work)) for client in clients]
    before = resident(hub.pid)
    slow.transport.pause()
    slow_turn = slow.prompt(sessions[0], "/stream 4000 10000")
    turns = [one.prompt(session, "/stream 500") for one, session in zip(others, sessions[1:], strict=True)]
    for one, turn in zip(others, turns, strict=True):
        assert (await one.answer(turn))["result"]["stopReason"] == "end_turn"
        assert [int(text) for text in one.texts()] == list(range(500))
    while sessions[0] not in [one["sessionId"] for one in await idle(others[0])]:
        pass  # the agent is not held up either
    assert resident(hub.pid) - before < 28 * MEBIBYTE, "40 MB wait for it"
    slow.transport.resume()
    assert (await slow.answer(slow_turn))["result"]["stopReason"] == "end_turn"
    assert [int(text.rstrip(".")) for text in slow.texts()] == list(range(4000))
    await leave(*clients)


async def test_no_token_no_ticket_and_no_pairing_code_is_in_the_log_or_on_disk(hub: HubProcess) -> None:
    given = ticket(hub).json()["ticket"]
    async with connect(f"ws://{hub.place}/acp?ticket={given}"):
        pass
    client = await (await hub.client()).begin()
    codes = [(await client.call("_dragoman/hub/pair", {}))["code"] for _ in range(2)]
    device = httpx2.post(f"http://{hub.place}/pair", timeout=None, json={"code": codes[0]}).json()["token"]
    assert httpx2.post(f"http://{hub.place}/pair", timeout=None, json={"code": codes[0]}).status_code == 410
    await leave(client)
    secrets = [secret.partition(".")[2].encode() for secret in codes]
    secrets += [hub.token.encode(), given.encode(), device.encode()]
    for path in [hub.log, *hub.data.rglob("*")]:
        if path.is_file():
            stored = path.read_bytes()
            assert not [secret for secret in secrets if secret in stored], path


@pytest.mark.parametrize(
    ("change", "status"),
    [
        ({"method": "GET"}, 405),
        ({"headers": {"host": "evil.example"}}, 421),
        ({"headers": {"origin": "https://evil.example"}}, 403),
        ({"headers": {"content-type": "text/plain"}}, 415),
        ({"content": b"{"}, 400),
        ({"content": b'{"code": 7}'}, 400),
        ({"content": b" " * 5000}, 413),
    ],
)
def test_a_pairing_that_no_page_of_ours_would_send_is_refused(
    hub: HubProcess, change: dict[str, Any], status: int
) -> None:
    headers = {"content-type": "application/json", **change.get("headers", {})}
    answer = httpx2.request(
        change.get("method", "POST"),
        f"http://{hub.place}/pair",
        content=change.get("content", b'{"code": "a.b"}'),
        headers=headers,
    )
    assert answer.status_code == status


async def test_pairing_shows_an_address_and_a_code_and_withdraws_them_when_it_is_interrupted(
    hub: HubProcess,
) -> None:
    process = await asyncio.create_subprocess_exec(
        *(*DRAGOMAN, "hub", "pair", f"ws://{hub.place}/acp", "--for", "2m"),
        env={**hub.env, "DRAGOMAN_TOKEN": hub.token, "PYTHONIOENCODING": "utf-8"},
        cwd=ROOT,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    assert process.stdout is not None
    shown = (await process.stdout.readuntil(b"Waiting for the device")).decode()
    process.send_signal(signal.SIGINT)
    _, errors = await process.communicate()
    assert process.returncode == 130, errors
    assert "█" in shown
    assert "2 minutes" in shown
    assert "only on this machine" in shown
    code = re.search(rf"http://{re.escape(hub.place)}/#pair=(\S+)", shown)
    assert code is not None
    answer = httpx2.post(f"http://{hub.place}/pair", timeout=None, json={"code": code[1]})
    assert (answer.status_code, answer.json()) == (410, {"reason": "This pairing code was withdrawn."})
