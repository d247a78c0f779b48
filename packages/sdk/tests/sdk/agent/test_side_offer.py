"""An agent advertises what it has a handler for, and nothing else."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dragoman import Agent, Client, connect
from dragoman.schema.v1 import AuthMethod, AuthMethodAgent, AuthMethodTerminal
from tests.runtime.raw import request
from tests.sdk.ends import raw_client


async def offered(agent: Agent, capabilities: Any = None) -> Any:
    async with raw_client(agent) as client:
        params = {"protocolVersion": 1, "clientCapabilities": capabilities or {}}
        client.send(request(0, "initialize", params))
        return (await client.answer_to(0))["result"]


def at(tree: Any, path: str) -> Any:
    for name in path.split("."):
        tree = tree.get(name) if isinstance(tree, dict) else None
    return tree


HOOKED = [
    ("load_session", "loadSession"),
    ("list_sessions", "sessionCapabilities.list"),
    ("delete_session", "sessionCapabilities.delete"),
    ("fork_session", "sessionCapabilities.fork"),
    ("archive_session", "sessionCapabilities.archive"),
    ("session_status", "sessionCapabilities.status"),
    ("set_session_title", "sessionCapabilities.title"),
    ("resume_session", "sessionCapabilities.resume"),
    ("logout", "auth.logout"),
    ("auth_status", "auth.status"),
    ("list_providers", "providers"),
]
DECLARED = [
    ("image", "promptCapabilities.image"),
    ("audio", "promptCapabilities.audio"),
    ("embedded_context", "promptCapabilities.embeddedContext"),
    ("mcp_http", "mcpCapabilities.http"),
    ("mcp_sse", "mcpCapabilities.sse"),
    ("additional_directories", "sessionCapabilities.additionalDirectories"),
]


@pytest.mark.parametrize(("hook", "path"), HOOKED)
async def test_a_handler_is_what_advertises_its_capability(hook: str, path: str) -> None:
    agent = Agent("x")
    without = (await offered(agent))["agentCapabilities"]
    assert at(without, path) in (None, False)
    getattr(agent, hook)(lambda _: None)
    capabilities = (await offered(agent))["agentCapabilities"]
    assert at(capabilities, path) not in (None, False)
    others = [other for _, other in (*HOOKED, *DECLARED) if other != path]
    assert [other for other in others if at(capabilities, other) not in (None, False)] == []


@pytest.mark.parametrize(("option", "path"), DECLARED)
async def test_what_is_declared_is_advertised(option: str, path: str) -> None:
    assert at((await offered(Agent("x")))["agentCapabilities"], path) in (None, False)
    declared: dict[str, Any] = {option: True}
    assert at((await offered(Agent("x", **declared)))["agentCapabilities"], path) not in (None, False)


async def test_closing_is_always_offered() -> None:
    assert at((await offered(Agent("x")))["agentCapabilities"], "sessionCapabilities.close") == {}


async def test_the_agent_says_who_it_is() -> None:
    answer = await offered(Agent("x", version="1.2", title="The X"))
    assert answer["agentInfo"] == {"name": "x", "version": "1.2", "title": "The X"}
    assert "title" not in (await offered(Agent("x")))["agentInfo"]


async def test_a_login_that_needs_a_terminal_is_shown_only_to_a_client_that_has_one() -> None:
    methods: list[AuthMethod] = [
        AuthMethodAgent(id="web", name="In the browser"),
        AuthMethodTerminal(id="shell", name="In a terminal"),
    ]
    agent = Agent("x", auth_methods=methods)
    assert [method["id"] for method in (await offered(agent))["authMethods"]] == ["web"]
    with_terminal = await offered(agent, {"auth": {"terminal": True}})
    assert [method["id"] for method in with_terminal["authMethods"]] == ["web", "shell"]


async def test_an_agent_tells_clients_of_ours_that_its_answers_come_last() -> None:
    async with connect(Agent("echo"), client=Client("known")) as agent:
        assert agent.answers_last
    told = json.dumps([await offered(Agent("echo")), await offered(Agent("echo"), {"_meta": {"x": 1}})])
    assert "dragoman" not in told
