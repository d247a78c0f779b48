"""Subagents of an agent without a hub, in all shapes: all are heard, and all that they ask is answered."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dragoman import Client, connect
from dragoman.schema import v1
from dragoman_local.journal.contract import StoredEntry
from dragoman_local.journal.conversation import moments
from tests.subagents.family import CHAIN, FAMILY, SHAPES, arguments


@pytest.mark.parametrize("shape", SHAPES)
async def test_a_client_without_a_hub_hears_and_answers_all(shape: str, tmp_path: Path) -> None:
    client = Client("test", subagents=True)
    requests: list[str] = []

    @client.request_permission
    async def allow(request: v1.RequestPermissionRequest) -> v1.RequestPermissionResponse:
        requests.append(request.session_id)
        return v1.RequestPermissionResponse(outcome=v1.SelectedPermissionOutcome(option_id="allow"))

    async with connect(arguments(shape), client=client) as agent:
        session = await agent.new_session(cwd=str(tmp_path))
        notes = [note async for note in session.prompt("Go").notifications()]
        tree = agent.subagents
        assert len(requests) == len(tree) == len(FAMILY)
        assert {note.session_id for note in notes} == {session.id, *requests}
        assert [tree.requester(session_id) for session_id in requests] == list(CHAIN.values())
        assert {subagent.standing for subagent in tree} == {"done"}
        assert {tree.root_of(session_id) for session_id in requests} == {session.id}


@pytest.mark.parametrize("shape", [shape for shape in SHAPES if shape != "v2"])
async def test_a_reader_of_the_session_alone_gets_no_words_of_subagents(shape: str, tmp_path: Path) -> None:
    async with connect(arguments(shape)) as agent:
        session = await agent.new_session(cwd=str(tmp_path))
        result = await session.prompt("Go")
        assert result.text == "I ask for help. answers: cancelled cancelled cancelled"


async def test_sessions_that_nobody_announced_get_nothing(tmp_path: Path) -> None:
    """Whoever could speak for a session of its own invention could ask in anybody's name."""
    client = Client("test", subagents=True)
    requests: list[str] = []

    @client.request_permission
    async def allow(request: v1.RequestPermissionRequest) -> v1.RequestPermissionResponse:
        requests.append(request.session_id)
        return v1.RequestPermissionResponse(outcome=v1.SelectedPermissionOutcome(option_id="allow"))

    async with connect(arguments("plain"), client=client) as agent:
        session = await agent.new_session(cwd=str(tmp_path))
        result = await session.prompt("Go")
        assert result.text == "I ask for help. answers: error error error"
        assert (requests, len(agent.subagents)) == ([], 0)


def test_a_recording_says_which_subagent_spoke_and_for_whom() -> None:
    announce = {"sessionUpdate": "subagent_update", "sessionId": "kid", "title": "reviewer"}
    deeper = {"sessionUpdate": "subagent_spawned", "subagentSessionId": "grandkid", "name": "linter"}
    speech = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "Hm."}}
    updates = [("main", announce), ("main", speech), ("kid", deeper), ("kid", speech), ("grandkid", speech)]
    frames = [
        {"method": "session/update", "params": {"sessionId": session, "update": update}}
        for session, update in updates
    ]
    entries = [
        StoredEntry(number, "to_client", json.dumps(frame).encode(), 1.0)
        for number, frame in enumerate(frames, 1)
    ]
    assert [(moment.requester, moment.text) for moment in moments(entries)] == [
        ("", "Hm."),
        ("reviewer, for main session", "Hm."),
        ("linter, for reviewer, for main session", "Hm."),
    ]
