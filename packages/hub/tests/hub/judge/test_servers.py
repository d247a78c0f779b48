"""MCP servers that clients name: decided by rules, or by people, before an agent hears of them."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from dragoman_hub.engine.options import HubOptions
from dragoman_hub.gate.admission import Grant
from dragoman_hub.judge.servers import _params
from dragoman_local.workspace.policy.act import ActContext
from dragoman_local.workspace.policy.act_reader import act_of_server
from tests.hub.sessions.stage import Stage, staged
from tests.hub.test_hub_effects import logged, nobodys_own_policy, project, user

__all__ = ["nobodys_own_policy", "project"]  # fixtures

MCP_RULES = (
    'default = "deny"\n[[rule]]\ndecision = "deny"\nmethod = "mcp"\ntool = "bad"\n'
    '[[rule]]\ndecision = "ask"\nmethod = "mcp"\ncommand = "npx"\n'
)


def named_server(name: str, command: str = "server") -> dict[str, Any]:
    return {"name": name, "command": command, "args": [], "env": [{"name": "KEY", "value": "hush"}]}


@asynccontextmanager
async def judged_servers(tmp_path: Path, **options: Any) -> AsyncIterator[tuple[Stage, Path]]:
    policy, audit = tmp_path / "policy.toml", tmp_path / "audit.jsonl"
    policy.write_text(MCP_RULES)
    async with staged({"user": user}, policy=str(policy), audit=str(audit), **options) as stage:
        yield stage, audit


async def test_a_rule_about_mcp_servers_decides_which_of_them_a_client_may_name(
    project: Path, tmp_path: Path
) -> None:
    async with judged_servers(tmp_path) as (stage, audit):
        client = await stage.client().begin()
        params = {"cwd": str(project), "mcpServers": [named_server("bad")]}
        error = await client.refusal("session/new", params)
        assert (error["code"], error["data"]) == (-32003, {"reason": "policy"})
        await client.call("session/new", {"cwd": str(project), "mcpServers": [named_server("good")]})
    lines = [(line["method"], line["tool"], line["outcome"], line["by"]) for line in logged(audit)]
    assert lines == [("mcp", "bad", "deny", "policy"), ("mcp", "good", "allow", "policy")]


async def test_a_server_that_one_agent_may_use_is_judged_anew_for_the_next(
    project: Path, tmp_path: Path
) -> None:
    rules = MCP_RULES + '[[rule]]\ndecision = "deny"\nmethod = "mcp"\nagent = "next"\n'
    (tmp_path / "policy.toml").write_text(rules)
    async with staged({"user": user, "next": user}, policy=str(tmp_path / "policy.toml")) as stage:
        client = await stage.client().begin()
        made = await client.call("session/new", {"cwd": str(project), "mcpServers": [named_server("good")]})
        params = {"sessionId": made["sessionId"], "agent": "next"}
        error = await client.refusal("_dragoman/hub/handover", params)
        assert (error["code"], error["data"]) == (-32003, {"reason": "policy"})
        assert len((await client.call("session/list"))["sessions"]) == 1


@pytest.mark.parametrize("says", ["allow", "reject"])
async def test_people_are_asked_about_an_mcp_server_before_there_is_a_session(
    project: Path, tmp_path: Path, says: str
) -> None:
    async with judged_servers(tmp_path) as (stage, audit):
        editor = await stage.client().begin()
        person = await stage.client(Grant("ann")).begin()
        await person.call("_dragoman/hub/watch")
        params = {"cwd": str(project), "mcpServers": [named_server("other", "npx")]}
        number = editor.ask("session/new", params)
        asked = (await person.until(lambda one: one.get("method") == "_dragoman/hub/asked"))["params"]
        act = asked["request"]
        call = act["params"]["toolCall"]
        assert call["title"] == "Let user use the MCP server 'other': `npx`"
        assert "hush" not in json.dumps(act)
        answer = {"outcome": {"outcome": "selected", "optionId": says}}
        named = {"sessionId": act["sessionId"], "request": act["request"], "result": answer}
        assert (await person.call("_dragoman/hub/answer", named))["settled"]
        made = await editor.answer(number)
        listed = (await person.call("session/list"))["sessions"]
        if says == "allow":
            assert [one["sessionId"] for one in listed] == [made["result"]["sessionId"]]
        else:
            assert listed == []
            assert made["error"]["code"] == -32003
            assert "'other' is not permitted: a person said so" in made["error"]["message"]
    question, line = logged(audit)
    assert (question["outcome"], question["by"]) == ("ask", "policy")
    assert (line["outcome"], line["by"], line["person"]) == (
        "allow" if says == "allow" else "deny",
        "person",
        "ann",
    )


async def test_people_are_asked_about_an_mcp_server_in_the_session_that_it_is_for(
    project: Path, tmp_path: Path
) -> None:
    async with judged_servers(tmp_path) as (stage, audit):
        client = await stage.client().begin()
        session = await client.new(str(project))
        params = {"sessionId": session, "cwd": str(project), "mcpServers": [named_server("other", "npx")]}
        for says in ("reject", "allow"):
            before = len(client.heard)
            number = client.ask("session/load", params)
            client.allow(await client.asked(after=before), says)
            assert ("result" in await client.answer(number)) is (says == "allow")
    assert [line["outcome"] for line in logged(audit)] == ["ask", "deny", "ask", "allow"]


async def test_a_question_about_an_mcp_server_ends_with_its_time_or_its_client(
    project: Path, tmp_path: Path
) -> None:
    params = {"cwd": str(project), "mcpServers": [named_server("other", "npx")]}
    async with judged_servers(tmp_path, expire=0.05) as (stage, audit):
        client = await stage.client().begin()
        assert (await client.refusal("session/new", params))["code"] == -32003
        stage.hub.options = HubOptions(default_agent="user")
        person = await stage.client(Grant("ann")).begin()
        await person.call("_dragoman/hub/watch")
        client.ask("session/new", params)
        await person.until(lambda one: one.get("method") == "_dragoman/hub/asked")
        await client.transport.aclose()
        await person.until(lambda one: one.get("method") == "_dragoman/hub/settled")
        assert (await person.call("_dragoman/hub/inbox"))["requests"] == []
        while (await person.call("session/list"))["sessions"]:
            pass  # it is deleted when its end is stored
    assert [(line["outcome"], line["by"]) for line in logged(audit)] == [
        ("ask", "policy"),
        ("deny", "deadline"),
        ("ask", "policy"),
        ("deny", "cancel"),
    ]


async def test_after_a_crash_nothing_is_left_of_a_question_about_a_session_that_was_never_made(
    project: Path, tmp_path: Path
) -> None:
    async with judged_servers(tmp_path) as (stage, _):
        person = await stage.client(Grant("ann")).begin()
        await person.call("_dragoman/hub/watch")
        editor = await stage.client().begin()
        editor.ask("session/new", {"cwd": str(project), "mcpServers": [named_server("other", "npx")]})
        await person.until(lambda one: one.get("method") == "_dragoman/hub/asked")
        await stage.crash()
        await stage.start()
        back = await stage.client().begin()
        assert (await back.call("_dragoman/hub/inbox"))["requests"] == []
        assert (await back.call("session/list"))["sessions"] == []


@pytest.mark.parametrize(
    ("server", "shown"),
    [
        (named_server("m", "npx"), {"command": "npx", "variables": ["KEY"]}),
        ({**named_server("m", "npx"), "args": ["a b"], "env": []}, {"command": "npx 'a b'"}),
        (
            {"type": "http", "name": "m", "url": "https://m.example/x", "headers": []},
            {"url": "https://m.example/x"},
        ),
    ],
)
def test_people_see_what_would_be_started_or_reached_and_no_values(
    server: dict[str, Any], shown: dict[str, Any]
) -> None:
    act = act_of_server(server, ActContext(agent="one", roots=("/p",)))
    said = json.loads(_params(act, "s"))
    call = said.pop("toolCall")
    target = shown.get("command") or shown["url"]
    assert call.pop("kind") == act.kind
    assert call == {
        "toolCallId": "hub-mcp-m",
        "title": f"Let one use the MCP server 'm': `{target}`",
        "status": "pending",
        "rawInput": shown,
    }
    assert said.pop("sessionId") == "s"
    assert [option["kind"] for option in said.pop("options")] == ["allow_once", "reject_once"]
    assert said == {}
