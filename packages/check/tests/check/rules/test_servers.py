"""SES: MCP servers."""

from __future__ import annotations

from typing import Any

import pytest

from tests.check.rules.talks import Talk, breaks, keeps, says_nothing, update

STDIO: dict[str, Any] = {"name": "a", "command": "/bin/a", "args": [], "env": []}
HTTP: dict[str, Any] = {"type": "http", "name": "h", "url": "http://localhost/", "headers": []}
BAD = -32602


def given(*servers: Any, can: Any = None) -> Talk:
    return Talk({} if can is None else can).new("s", mcpServers=list(servers))


def refused(*servers: Any, code: int = BAD) -> Talk:
    return Talk({}).call("session/new", {"cwd": "/w", "mcpServers": list(servers)}, code=code)


def test_ses_12_remote_servers_are_for_agents_that_take_them() -> None:
    keeps("SES-12", given(HTTP, can={"mcpCapabilities": {"http": True}}), "client")
    breaks("SES-12", given(HTTP), "client")
    says_nothing("SES-12", given(STDIO), "client")


@pytest.mark.parametrize("requirement", ["SES-14", "SES-21"])
def test_servers_have_the_shape_of_their_transport(requirement: str) -> None:
    keeps(requirement, given(STDIO, HTTP), "client")
    for wrong in (
        {"command": "a"},
        {"type": "stdio"},
        {"args": [5]},
        {"env": {"A": "b"}},
        {"env": [{"name": "A"}]},
        {"name": None},
    ):
        breaks(requirement, given({**STDIO, **wrong}), "client")
    breaks(requirement, given({**HTTP, "headers": {}}), "client")
    breaks(requirement, given("a"), "client")


def test_ses_10_and_11_servers_are_started() -> None:
    begun, idle = ["initialize", "tools/list"], [""]
    keeps("SES-10", given(STDIO).facts(logs=[begun, begun]))
    keeps("SES-11", given(STDIO).facts(logs=[begun, begun]))
    call = update("s", "tool_call", toolCallId="c", title="x")
    breaks("SES-10", given(STDIO).add(call).facts(logs=[idle, idle]))
    says_nothing("SES-10", given(STDIO).facts(logs=[idle, idle]))  # it may have no use for any tool
    says_nothing("SES-11", given(STDIO).facts(logs=[idle, idle]))
    breaks("SES-11", given(STDIO).facts(logs=[begun, idle]))
    says_nothing("SES-10", given(STDIO))


def test_ses_13_http_is_offered() -> None:
    keeps("SES-13", Talk({"mcpCapabilities": {"http": True}}))
    breaks("SES-13", Talk({}))


def test_ses_15_other_transports_are_refused() -> None:
    keeps("SES-15", refused(HTTP))
    breaks("SES-15", given(HTTP))


def test_ses_16_one_broken_server_fails_the_request() -> None:
    keeps("SES-16", refused({"name": "a"}, STDIO))
    breaks("SES-16", given({"name": "a"}, STDIO))
    breaks("SES-16", refused({"name": "a"}, code=-32603))
    says_nothing("SES-16", given(STDIO))


def test_ses_23_a_server_of_an_unknown_type_is_refused() -> None:
    keeps("SES-23", refused({**STDIO, "type": "ws"}))
    breaks("SES-23", given({**STDIO, "type": "ws"}))
