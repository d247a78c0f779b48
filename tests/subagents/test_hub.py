"""Subagents through a real hub, in all shapes: one hub for all, and an agent process for each shape."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from dragoman import Client, connect
from dragoman.hub.gate.grants_store import TokenStore
from dragoman.schema import v1
from dragoman.testing.pace import patience
from tests.subagents.family import CHAIN, FAMILY, SHAPES, arguments


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str]]:
    """Its address and a token."""
    folder = tmp_path_factory.mktemp("hub")
    agents = "".join(f"[agents.{shape}]\ncommand = {json.dumps(arguments(shape))}\n" for shape in SHAPES)
    (folder / "hub.toml").write_text(
        f'journal = "{folder}/hub.db"\nknown_agents = false\ndefault_agent = "v1"\n{agents}'
    )
    token = TokenStore(folder / "tokens.json").add("owner")
    homes = {f"XDG_{name}_HOME": str(folder / name.lower()) for name in ("DATA", "CONFIG", "STATE", "CACHE")}
    command = [sys.executable, "-m", "dragoman", "hub", "--config", str(folder / "hub.toml"), "--json"]
    with open(folder / "log", "wb") as log:
        process = subprocess.Popen(
            [*command, "--listen", "127.0.0.1:0"],
            stdout=subprocess.PIPE,
            stderr=log,
            env={**os.environ, **homes},
            text=True,
        )
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line, (folder / "log").read_text()
        address = json.loads(line)["page"].partition("#")[0].rstrip("/")
        yield f"{address.replace('http', 'ws', 1)}/acp", token
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(patience(30))
        finally:
            process.kill()
        if process.stdout is not None:
            process.stdout.close()


@pytest.mark.parametrize("shape", SHAPES)
async def test_three_levels_ask_through_the_hub_and_are_answered(
    shape: str, hub: tuple[str, str], tmp_path: Path
) -> None:
    url, token = hub
    client = Client("test", subagents=True)
    requesters: list[str] = []

    @client.request_permission
    async def allow(request: v1.RequestPermissionRequest) -> v1.RequestPermissionResponse:
        requesters.append(agent.subagents.requester(request.session_id))
        return v1.RequestPermissionResponse(outcome=v1.SelectedPermissionOutcome(option_id="allow"))

    headers = {"Authorization": f"Bearer {token}"}
    async with connect(f"{url}?agent={shape}", client=client, headers=headers) as agent:
        session = await agent.new_session(cwd=str(tmp_path))
        result = await session.prompt("Go")
        assert result.text == "I ask for help. answers: allow allow allow"
        listed = (await agent.call("_dragoman/hub/sessions", {"cwd": str(tmp_path)}))["sessions"]
        children = {line["sessionId"]: line for line in listed if line.get("parent")}
        assert len(children) == len(requesters) == len(FAMILY)
        assert sorted(requesters) == sorted(CHAIN.values())
        assert sorted(line["requester"] for line in children.values()) == sorted(CHAIN.values())
        assert {line["work"]["state"] for line in children.values()} == {"idle"}
        found = (await agent.call("_dragoman/hub/search", {"text": "formatter heard"}))["found"]
        assert {hit["sessionId"] for hit in found} & set(children)
