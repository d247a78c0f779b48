"""Subagents through a real hub, in all shapes: one hub for all, and an agent process for each shape."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from dragoman import Client, connect
from dragoman.schema import v1
from tests.hub.outside.process import HubProcess, running_hub
from tests.subagents.family import CHAIN, FAMILY, SHAPES, arguments


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HubProcess]:
    agents = "".join(f"[agents.{shape}]\ncommand = {json.dumps(arguments(shape))}\n" for shape in SHAPES)
    with running_hub(tmp_path_factory.mktemp("hub"), config=agents) as hub:
        yield hub


@pytest.mark.parametrize("shape", SHAPES)
async def test_three_levels_ask_through_the_hub_and_are_answered(
    shape: str, hub: HubProcess, tmp_path: Path
) -> None:
    client = Client("test", subagents=True)
    requesters: list[str] = []

    @client.request_permission
    async def allow(request: v1.RequestPermissionRequest) -> v1.RequestPermissionResponse:
        requesters.append(agent.subagents.requester(request.session_id))
        return v1.RequestPermissionResponse(outcome=v1.SelectedPermissionOutcome(option_id="allow"))

    async with connect(f"ws://{hub.place}/acp?agent={shape}", client=client, headers=hub.headers) as agent:
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
