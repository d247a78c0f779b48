"""Clients of other makers at a real hub: the official SDKs over WebSocket and Streamable HTTP, acpx through
`dragoman connect`. Each tells the same story: a turn with a permission, a load, a list.
"""

from __future__ import annotations

import asyncio
import json
import os
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import acp
import httpx2
import pytest
from acp.http import create_http_stream
from acp.ws import create_websocket_stream

from tests.forks import DRAGOMAN
from tests.hub.outside.process import HubProcess, running_hub
from tests.interop.programs import TS, needs_node

pytestmark = [pytest.mark.bound(60), pytest.mark.timeout(120)]

ACPX = shutil.which("acpx") or shutil.which(TS.parent / "acpx" / "node_modules" / ".bin" / "acpx")


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HubProcess]:
    with running_hub(tmp_path_factory.mktemp("hub")) as one:
        yield one


class Person:
    """Allows everything, and keeps what it hears."""

    def __init__(self) -> None:
        self.heard: list[str] = []
        self.asked: list[str] = []
        self.news = asyncio.Event()

    async def request_permission(self, options: Any, session_id: str, tool_call: Any, **_: Any) -> Any:
        self.asked.append(options[0].kind)
        return {"outcome": {"outcome": "selected", "optionId": options[0].option_id}}

    async def session_update(self, session_id: str, update: Any, **_: Any) -> None:
        if "chunk" in update.session_update:
            self.heard.append(f"{update.session_update}: {update.content.text}")
            self.news.set()


async def stream_to(hub: HubProcess, scheme: str) -> Any:
    if scheme == "ws":
        return await create_websocket_stream(f"ws://{hub.place}/acp", headers=hub.headers)
    return create_http_stream(f"http://{hub.place}/acp", headers=hub.headers)


@pytest.mark.parametrize("scheme", ["ws", "http"])
async def test_the_official_python_client(hub: HubProcess, scheme: str) -> None:
    made = hub.work / f"python-{scheme}"
    made.mkdir()
    setup: dict[str, Any] = {"cwd": str(made), "mcp_servers": []}
    first, second = Person(), Person()
    stream = await stream_to(hub, scheme)
    connection = acp.connect_to_agent(cast(Any, first), stream)
    try:
        await connection.initialize(protocol_version=1)
        session = (await connection.new_session(**setup)).session_id
        words = acp.text_block(f"/ask {made}/made")
        ended = await connection.prompt(session_id=session, prompt=[words])
    finally:
        await connection.close()
        await stream.close()
    assert ended.stop_reason == "end_turn"
    assert (made / "made").exists()
    assert first.asked == ["allow_once"]
    stream = await stream_to(hub, scheme)
    connection = acp.connect_to_agent(cast(Any, second), stream)
    try:
        await connection.initialize(protocol_version=1)
        await connection.load_session(session_id=session, **setup)
        while len(second.heard) <= len(first.heard):  # over another stream than the answer
            second.news.clear()
            await second.news.wait()
        listed = await connection.list_sessions(cwd=str(made))
    finally:
        await connection.close()
        await stream.close()
    assert second.heard == [f"user_message_chunk: /ask {made}/made", *first.heard]
    assert [one.session_id for one in listed.sessions] == [session]


@needs_node
@pytest.mark.in_turn("scheme")
@pytest.mark.parametrize("scheme", ["ws", "http"])
async def test_the_official_typescript_client(hub: HubProcess, scheme: str) -> None:
    folder = hub.work / f"typescript-{scheme}"
    folder.mkdir()
    url = f"{scheme}://{hub.place}/acp"
    if scheme == "ws":  # as in a browser, whose WebSockets carry no headers
        answer = httpx2.post(f"http://{hub.place}/ticket", timeout=None, headers=hub.headers)
        url += f"?ticket={answer.json()['ticket']}"
    words = ["node", "--experimental-websocket", "--no-warnings", str(TS / "hub_client.mjs")]
    one = await asyncio.create_subprocess_exec(
        *words, url, hub.token, str(folder), stdout=asyncio.subprocess.PIPE
    )
    told, _ = await one.communicate()
    report: dict[str, Any] = json.loads(told)
    said = report.pop("said")
    assert report == {
        "version": 1,
        "stopReason": "end_turn",
        "loaded": [f"user_message_chunk: /ask {folder}/made", *said],
        "asked": ["allow_once"],
        "listed": True,
        "lost": -32002,
    }
    assert (folder / "made").exists()


@pytest.mark.skipif(ACPX is None, reason="needs acpx: npm install -g acpx")
@pytest.mark.slow  # acpx is tried on our agents themselves, and `connect` in packages/app/tests/cli
async def test_acpx_through_connect(hub: HubProcess, tmp_path: Path) -> None:
    assert ACPX is not None
    folder = hub.work / "acpx"
    folder.mkdir()
    token = tmp_path / "token"
    token.write_text(hub.token)
    agent = f"{shlex.join(DRAGOMAN)} connect --token-file {token} ws://{hub.place}/acp"
    child = await asyncio.create_subprocess_exec(
        *[ACPX, "--agent", agent, "--cwd", str(folder), "--approve-all", "exec", f"/ask {folder}/made"],
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        env={**os.environ, "HOME": str(tmp_path)},
    )
    told, _ = await child.communicate()
    assert child.returncode == 0, told.decode()
    assert "end_turn" in told.decode()
    assert (folder / "made").exists()
