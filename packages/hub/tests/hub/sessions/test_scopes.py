"""Each scope alone is enough for what it is made for."""

from __future__ import annotations

from pathlib import Path

import pytest

from dragoman_hub.gate.admission import Grant, Scope
from tests.hub.sessions.agents import obedient
from tests.hub.sessions.stage import staged


async def test_a_token_that_may_only_prompt_makes_a_session_and_hears_it() -> None:
    async with staged({"one": obedient}) as stage:
        client = await stage.client(Grant("ci", scopes=frozenset({"prompt"}))).begin()
        session = await client.new()
        assert (await client.answer(client.prompt(session, "say 2")))["result"]["stopReason"] == "end_turn"
        assert client.texts() == ["0 ", "1 "]
        assert "scope" in (await client.refusal("_dragoman/hub/status"))["data"]


@pytest.mark.parametrize(
    ("scope", "method"), [("approve", "_dragoman/hub/inbox"), ("admin", "_dragoman/hub/status")]
)
async def test_a_scope_alone_is_enough_for_its_method(scope: Scope, method: str) -> None:
    async with staged({"one": obedient}) as stage:
        client = await stage.client(Grant("one", scopes=frozenset({scope}))).begin()
        assert await client.call(method)
        made = await client.refusal("session/new", {"cwd": "/tmp", "mcpServers": []})
        assert made["data"] == {"scope": "prompt"}


async def test_a_search_of_a_narrow_token_is_not_filled_with_hits_of_others(tmp_path: Path) -> None:
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    ours.mkdir()
    theirs.mkdir()
    async with staged({"one": obedient}) as stage:
        owner = await stage.client().begin()
        for folder in (ours, *([theirs] * 30)):
            session = await owner.new(str(folder))
            await owner.answer(owner.prompt(session, "needle"))
        narrow = await stage.client(Grant("narrow", roots=(str(ours),))).begin()
        found = (await narrow.call("_dragoman/hub/search", {"text": "needle", "limit": 2}))["found"]
        assert found
        assert all("needle" in hit["excerpt"] for hit in found)


async def test_an_answer_to_a_request_that_is_no_number_is_refused() -> None:
    async with staged({"one": obedient}) as stage:
        client = await stage.client().begin()
        session = await client.new()
        for name in ("²", "one", "-1"):
            params = {"sessionId": session, "request": name, "result": {}}
            assert (await client.refusal("_dragoman/hub/answer", params))["code"] == -32602, name
