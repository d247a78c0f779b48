"""An agent as an MCP server over Streamable HTTP: the official client judges, and a plain one is rude."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import anyio
import httpx
import mcp_types
import pytest

from dragoman_app.apps.gateway.gateway import Gateway
from dragoman_app.apps.mcp import http_server
from tests.apps.gateway.stage import make_gateway
from tests.apps.mcp.http_stage import OTHER_TOKEN, PAGE, http_stage, message
from tests.apps.mcp.stage import Waiting, check_cancelled_call
from tests.apps.mcp.test_server import accept, person


def has_agent(gateway: Gateway) -> bool:
    return gateway._agent is not None


def prompt(text: str, **more: str) -> dict[str, Any]:
    return {"name": "prompt", "arguments": {"text": text, **more}}


async def test_progress_and_permissions_reach_the_official_client_over_http(folder: Path) -> None:
    callback, questions = person(accept("Allow (allow once)"))
    lines: list[str] = []

    async def on_progress(progress: float, total: float | None, message: str | None) -> None:
        lines.append(message or "")

    async with (
        http_stage(make_gateway(folder), folder) as stage,
        stage.official_client(elicitation_callback=callback) as client,
    ):
        assert len((await client.list_tools()).tools) == 4
        result = await client.call_tool("prompt", {"text": "/ask new.txt"}, progress_callback=on_progress)
    assert "Create new.txt" in questions[0].message
    assert result.structured_content["text"] == "Done."
    assert (folder / "new.txt").exists()
    assert lines[-1] == "Done."


async def test_a_cancelled_call_over_http_cancels_the_turn_and_the_session_goes_on(folder: Path) -> None:
    waiting = Waiting()
    async with (
        http_stage(make_gateway(folder, agent=waiting.agent), folder) as stage,
        stage.official_client() as client,
    ):
        await check_cancelled_call(client, waiting)


async def test_each_client_has_its_own_sessions_and_the_agent_ends_with_the_last_client(folder: Path) -> None:
    waiting = Waiting()
    async with http_stage(make_gateway(folder, agent=waiting.agent), folder) as stage:
        gateway = stage.gateway
        async with stage.official_client() as client:
            session = (await client.call_tool("prompt", {"text": "quick"})).structured_content["session"]
            async with stage.official_client() as other:
                assert (await other.call_tool("cancel", {"session": session})).is_error
                waiting.began.clear()
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(other.call_tool, "prompt", {"text": "wait"})
                    await waiting.began.wait()
                    assert len(gateway._sessions) == 2
                    await other.session.send_ping()
                    tasks.cancel_scope.cancel()
            assert list(gateway._sessions) == [session]
            assert has_agent(gateway)
        assert gateway._sessions == {}
        assert not has_agent(gateway)
        async with stage.official_client() as client:
            again = await client.call_tool("prompt", {"text": "quick"})
            assert again.structured_content["text"] == "quick"


async def test_a_client_that_leaves_with_delete_cancels_its_turn(folder: Path) -> None:
    waiting = Waiting()
    async with (
        http_stage(make_gateway(folder, agent=waiting.agent), folder) as stage,
        stage.plain_client() as client,
    ):
        await client.initialize()
        call = asyncio.create_task(client.post("tools/call", prompt("wait")))
        await waiting.began.wait()
        assert (await client.http.delete("")).status_code == 204
        await waiting.cancelled.wait()
        assert "result" not in (await call).text
        assert (await client.post("ping")).status_code == 404


async def test_a_client_whose_connection_broke_comes_back_for_what_it_missed(folder: Path) -> None:
    waiting = Waiting(together=1)
    async with (
        http_stage(make_gateway(folder, agent=waiting.agent), folder) as stage,
        stage.plain_client() as client,
    ):
        await client.initialize()
        call = client.http.build_request("POST", "", json=message("tools/call", prompt("words")))
        answer = await client.http.send(call, stream=True)
        events = await client.read_events(answer, most=1)
        assert events == [("1-1", "")]
        await answer.aclose()
        async with client.http.stream("GET", "", headers={"last-event-id": "1-1"}) as resumed:
            missed = await client.read_events(resumed)
        assert '"text":"words"' in missed[-1][1]
        after = {"last-event-id": missed[-1][0]}
        assert (await client.http.get("", headers=after)).status_code == 204
        assert (await client.http.get("", headers={"last-event-id": "99-1"})).status_code == 204


@pytest.mark.parametrize("version", ["2025-06-18", "2025-11-25"])
async def test_a_stream_begins_with_an_empty_event_where_the_version_knows_it(
    folder: Path, version: str
) -> None:
    async with http_stage(make_gateway(folder), folder) as stage, stage.plain_client() as client:
        await client.initialize(version=version)
        call = client.http.build_request("POST", "", json=message("tools/call", prompt("x")))
        answer = await client.http.send(call, stream=True)
        events = await client.read_events(answer)
        await answer.aclose()
    assert [bool(data) for _, data in events] == ([False] if version == "2025-11-25" else []) + [True]


async def test_a_client_that_stays_away_is_forgotten_and_its_turn_ends(folder: Path) -> None:
    waiting = Waiting()
    gateway = make_gateway(folder, agent=waiting.agent)
    async with http_stage(gateway, folder) as stage, stage.plain_client() as client:
        await client.initialize()
        call = client.http.build_request("POST", "", json=message("tools/call", prompt("wait")))
        answer = await client.http.send(call, stream=True)
        await waiting.began.wait()
        await answer.aclose()
        (session,) = stage.server._sessions.values()
        session._idle_seconds = 0.01  # from now on: a slow machine shall not lose it before its call
        session._look()
        await waiting.cancelled.wait()
        assert (await client.post("ping")).status_code == 404


async def test_clients_are_bounded_and_one_that_went_away_makes_room(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with (
        http_stage(make_gateway(folder), folder, most_clients=1) as stage,
        stage.plain_client() as client,
        stage.plain_client() as other,
    ):
        await client.initialize()
        assert (await other.initialize()).status_code == 503
        monkeypatch.setattr(http_server, "ABANDON_SECONDS", 0.0)
        assert (await other.initialize()).status_code == 200
        assert (await client.post("ping")).status_code == 404


async def test_who_may_come_over_http_is_checked_before_anything_is_read(folder: Path) -> None:
    async with http_stage(make_gateway(folder), folder) as stage, stage.plain_client() as client:
        for headers, status in (
            ({"authorization": ""}, 401),
            ({"authorization": "Bearer wrong"}, 401),
            ({"host": "rebound.example"}, 421),
            ({"origin": "https://evil.example"}, 403),
        ):
            answer = await client.post("initialize", {}, headers=headers)
            assert answer.status_code == status, headers
        answer = await client.post("initialize", {}, headers={"origin": PAGE})
        assert answer.status_code == 200
        assert answer.headers["access-control-expose-headers"] == "mcp-session-id"
        session = answer.headers["mcp-session-id"]
        async with stage.plain_client(token=OTHER_TOKEN) as other:
            stolen = await other.post("ping", headers={"mcp-session-id": session})
            assert stolen.status_code == 404


async def test_requests_that_make_no_sense_are_refused_with_a_reason(folder: Path) -> None:
    async with http_stage(make_gateway(folder), folder) as stage, stage.plain_client() as client:
        http: httpx.AsyncClient = client.http
        assert (await client.post("tools/list")).status_code == 400
        assert (await client.post("tools/list", headers={"mcp-session-id": "no"})).status_code == 404
        await client.initialize()
        refusals = [
            (
                await client.post("ping", headers={"mcp-protocol-version": "1999-01-01"}),
                400,
                "versions of MCP",
            ),
            (await client.post("ping", headers={"accept": "application/json"}), 406, "must accept"),
            (await http.post("", json=[message("ping")]), 400, "at a time"),
            (await http.post("", content=b"{", headers={"content-type": "application/json"}), 400, "JSON"),
            (await http.post("", content=b"{}"), 415, "application/json"),
            (await http.post("", json={**message("ping"), "id": None}), 400, "id"),
            (await http.put(""), 405, "GET, POST and DELETE"),
            (await http.get(stage.url.removesuffix("/mcp") + "/"), 404, "/mcp"),
        ]
        for answer, status, reason in refusals:
            assert (answer.status_code, reason in answer.json()["error"]["message"]) == (status, True)
        assert (await client.post("ping")).json() == {"jsonrpc": "2.0", "id": 1, "result": {}}
        assert (await http.get("", headers={"accept": "text/html"})).status_code == 406


async def test_a_long_text_is_cut_to_what_official_clients_take_as_one_event(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dragoman_app.apps.mcp.http_server.MOST_TEXT", 21)
    async with (
        http_stage(make_gateway(folder), folder) as stage,
        stage.official_client() as client,
    ):
        result = await client.call_tool("prompt", {"text": "ää" * 20})
    assert isinstance(result, mcp_types.CallToolResult)
    assert result.structured_content["text"] == "You said: äääää"
    assert "only the beginning of the text is shown" in result.structured_content["notes"]
