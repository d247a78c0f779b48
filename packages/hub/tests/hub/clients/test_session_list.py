"""Sessions are listed, named, asked about and archived at the hub, whatever their agent can."""

from __future__ import annotations

from typing import Any

import pytest

from dragoman import Agent, Turn
from dragoman.schema import v1
from dragoman_hub.gate.admission import Grant
from tests.hub.sessions.agents import obedient
from tests.hub.sessions.stage import Stage, Talker, staged


async def listed(client: Talker, **params: Any) -> dict[str, bool]:
    """Which sessions are listed, and whether they are archived."""
    page = await client.call("session/list", params)
    assert all(("archived" in line) == ("archived" in params) for line in page["sessions"])
    return {line["sessionId"]: line.get("archived", False) for line in page["sessions"]}


async def test_the_hub_offers_what_it_can_do_with_every_agent() -> None:
    async with staged({"one": obedient}) as stage:
        client = stage.client()
        answer = await client.call("initialize", {"protocolVersion": 1, "clientCapabilities": {}})
    sessions = answer["agentCapabilities"]["sessionCapabilities"]
    assert {"status", "title", "archive", "list"} <= sessions.keys()


async def test_a_title_is_stored_and_told_to_everybody_and_comes_back_in_lists() -> None:
    async with staged({"one": obedient}) as stage:
        client, other = await stage.client().begin(), await stage.client().begin()
        session = await client.new()
        await other.call("session/resume", {"sessionId": session, "cwd": "/tmp", "mcpServers": []})
        answer = await client.call("session/set_title", {"sessionId": session, "title": "  Tidy \n up  "})
        assert answer == {"title": "Tidy up"}
        update = await other.until(
            lambda message: (
                message.get("method") == "session/update"
                and message["params"]["update"]["sessionUpdate"] == "session_info_update"
            )
        )
        assert update["params"]["update"]["title"] == "Tidy up"
        page = await client.call("session/list", {})
    assert page["sessions"][0]["title"] == "Tidy up"


async def test_an_empty_title_is_refused() -> None:
    async with staged({"one": obedient}) as stage:
        client = await stage.client().begin()
        session = await client.new()
        refusal = await client.refusal("session/set_title", {"sessionId": session, "title": " \n"})
    assert refusal["code"] == -32602


async def test_an_agent_with_titles_of_its_own_gets_the_title() -> None:
    titles: list[str] = []

    def librarian() -> Agent:
        agent = Agent("librarian")

        @agent.prompt
        async def obey(turn: Turn) -> None:
            await turn.say("yes")

        @agent.set_session_title
        async def store(request: v1.SetSessionTitleRequest) -> v1.SetSessionTitleResponse:
            titles.append(request.title)
            return v1.SetSessionTitleResponse(title=request.title)

        return agent

    async with staged({"one": librarian}) as stage:
        client = await stage.client().begin()
        session = await client.new()
        await client.call("session/set_title", {"sessionId": session, "title": "Tidy up"})
    assert titles == ["Tidy up"]


async def test_an_archived_session_is_listed_only_when_it_is_asked_for() -> None:
    async with staged({"one": obedient}) as stage:
        client = await stage.client().begin()
        first, second = await client.new(), await client.new()
        for _ in range(2):  # twice is as good as once
            assert await client.call("session/archive", {"sessionId": first}) == {}
        assert await listed(client) == await listed(client, archived="exclude") == {second: False}
        assert await listed(client, archived="include") == {first: True, second: False}
        assert await listed(client, archived="only", cwd="/tmp") == {first: True}
        hub = await client.call("_dragoman/hub/sessions", {"archived": "only"})
        assert [line["state"] for line in hub["sessions"]] == ["archived"]
        for _ in range(2):
            assert await client.call("session/unarchive", {"sessionId": first}) == {}
        assert await listed(client) == {first: False, second: False}
        assert await client.call("session/status", {"sessionId": first}) == {"status": "saved"}


async def test_archiving_ends_the_turn_that_runs() -> None:
    async with staged({"one": obedient}) as stage:
        client = await stage.client().begin()
        session = await client.new()
        prompt = client.prompt(session, "ask")
        await client.asked()
        await client.call("session/archive", {"sessionId": session})
        ended = await client.answer(prompt)
        assert await client.call("session/status", {"sessionId": session}) == {"status": "saved"}
    assert ended["result"]["stopReason"] == "cancelled"


async def test_a_title_leaves_an_archived_session_where_it_is() -> None:
    async with staged({"one": obedient}) as stage:
        client = await stage.client().begin()
        session = await client.new()
        await client.call("session/archive", {"sessionId": session})
        await client.call("session/set_title", {"sessionId": session, "title": "Old work"})
        assert await listed(client) == {}
        assert await client.call("session/status", {"sessionId": session}) == {"status": "saved"}
        page = await client.call("session/list", {"archived": "only"})
    assert page["sessions"][0]["title"] == "Old work"


async def test_whoever_loads_an_archived_session_and_works_in_it_brings_it_back() -> None:
    async with staged({"one": obedient}) as stage:
        client = await stage.client().begin()
        session = await client.new()
        await client.call("session/archive", {"sessionId": session})
        await client.call("session/load", {"sessionId": session, "cwd": "/tmp", "mcpServers": []})
        await client.answer(client.prompt(session, "say 1"))
        assert await listed(client) == {session: False}
        assert await client.call("session/status", {"sessionId": session}) == {"status": "open"}


async def test_a_filter_that_nobody_knows_is_refused() -> None:
    async with staged({"one": obedient}) as stage:
        client = await stage.client().begin()
        for method in ("session/list", "_dragoman/hub/sessions"):
            assert (await client.refusal(method, {"archived": "all"}))["code"] == -32602


@pytest.mark.parametrize(
    "method", ["session/status", "session/archive", "session/unarchive", "session/set_title"]
)
async def test_a_session_that_is_not_there_or_not_theirs_is_not_found(method: str) -> None:
    async with staged({"one": obedient}) as stage:
        owner = await stage.client().begin()
        session = await owner.new()
        confined = await stage.client(_confined()).begin()
        assert (await owner.refusal(method, {"sessionId": "nobody", "title": "x"}))["code"] == -32002
        assert (await confined.refusal(method, {"sessionId": session, "title": "x"}))["code"] in (
            -32002,
            -32003,
        )


def _confined() -> Grant:
    return Grant("elsewhere", frozenset({"prompt", "observe"}), roots=("/nowhere",))


def _provider(calls: list[str]) -> Agent:
    agent = Agent("provider")

    @agent.prompt
    async def obey(turn: Turn) -> None:
        await turn.say("yes")

    @agent.auth_status
    async def status(request: v1.AuthStatusRequest) -> v1.AuthStatusResponse:
        return v1.AuthStatusResponse(state="authenticated")

    @agent.list_providers
    async def providers(request: v1.ListProvidersRequest) -> v1.ListProvidersResponse:
        return v1.ListProvidersResponse(providers=[])

    @agent.set_provider
    async def set_provider(request: v1.SetProviderRequest) -> v1.SetProviderResponse:
        calls.append(request.base_url)
        return v1.SetProviderResponse()

    @agent.disable_provider
    async def disable(request: v1.DisableProviderRequest) -> v1.DisableProviderResponse:
        calls.append("disabled")
        return v1.DisableProviderResponse()

    return agent


async def test_questions_about_logins_and_providers_reach_the_agent() -> None:
    calls: list[str] = []
    async with staged({"one": lambda: _provider(calls)}) as stage:
        client = await stage.client().begin()
        assert (await client.call("auth/status", {}))["state"] == "authenticated"
        assert await client.call("providers/list", {}) == {"providers": []}
        address = {"providerId": "main", "apiType": "openai", "baseUrl": "http://127.0.0.1:1"}
        await client.call("providers/set", address)
        await client.call("providers/disable", {"providerId": "main"})
        assert calls == ["http://127.0.0.1:1", "disabled"]
        await _only_admins(stage, address)
    assert len(calls) == 2


async def _only_admins(stage: Stage, address: dict[str, str]) -> None:
    user = await stage.client(Grant("user", frozenset({"prompt", "observe", "approve"}))).begin()
    assert (await user.refusal("providers/set", address))["code"] == -32003
    assert (await user.refusal("providers/disable", {"providerId": "main"}))["code"] == -32003


async def test_servers_that_live_in_the_client_are_not_offered(monkeypatch: pytest.MonkeyPatch) -> None:
    async def introduction(agent: str, *, start: bool) -> dict[str, Any]:
        return {"agentCapabilities": {"mcpCapabilities": {"http": True, "acp": True}}}

    async with staged({"one": obedient}) as stage:
        monkeypatch.setattr(stage.hub, "introduction", introduction)
        answer = await stage.client().call("initialize", {"protocolVersion": 1, "clientCapabilities": {}})
    assert answer["agentCapabilities"]["mcpCapabilities"] == {"http": True}


async def test_nobody_who_watches_is_shown_a_secret_in_a_title() -> None:
    key = "glpat-" + "a1B2" * 5
    async with staged({"one": obedient}) as stage:
        client = await stage.client().begin()
        session = await client.new()
        await client.call("session/set_title", {"sessionId": session, "title": f"Deploy with {key}"})
        turn = client.prompt(session, "ask")
        question = await client.asked()
        names = ("inbox", "status")
        answers = [str(await client.call(f"_dragoman/hub/{name}")) for name in names]
        client.allow(question)
        await client.answer(turn)
    assert [key in answer for answer in answers] == [False] * 2
    assert ["Deploy with [redacted]" in answer for answer in answers] == [True] * 2
