"""Each scope alone is enough for what it is made for."""

from __future__ import annotations

import pytest

from dragoman.hub.gate.admission import Grant, Scope
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
