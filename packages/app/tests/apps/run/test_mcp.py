"""MCP servers, in the forms in which editors write them."""

import json
from pathlib import Path
from typing import Any

import pytest

from dragoman.schema import v1
from dragoman_app.apps.console import UsageMistake
from dragoman_app.apps.run.mcp import read_mcp
from tests.apps.run.run_process import run, scripted

STDIO = {"command": "server", "args": ["-x"], "env": {"TOKEN": "s3cret"}}
MADE = v1.McpServerStdio(
    name="one", command="server", args=["-x"], env=[v1.EnvVariable(name="TOKEN", value="s3cret")]
)


def written(folder: Path, value: Any) -> str:
    path = folder / "mcp.json"
    path.write_text(json.dumps(value))
    return str(path)


@pytest.mark.parametrize(
    "value",
    [
        {"mcpServers": {"one": STDIO}},
        {"servers": {"one": {"type": "stdio", **STDIO}}},
        {"context_servers": {"one": {"command": {"path": "server", "args": ["-x"], "env": STDIO["env"]}}}},
        {"one": STDIO},
        [{"name": "one", **STDIO, "env": [{"name": "TOKEN", "value": "s3cret"}]}],
        {"mcpServers": {"one": STDIO, "two": {"disabled": True}, "three": {"enabled": False}}},
    ],
)
def test_a_command_is_read_in_every_form(value: Any, tmp_path: Path) -> None:
    assert read_mcp(written(tmp_path, value)) == [MADE]


@pytest.mark.parametrize("kind", [None, "http", "streamable-http", "sse"])
def test_a_remote_server_is_read(kind: str | None, tmp_path: Path) -> None:
    entry = {"url": "https://example.org/mcp", "headers": {"Authorization": "s3cret"}}
    entry |= {} if kind is None else {"type": kind}
    [server] = read_mcp(written(tmp_path, {"mcpServers": {"far": entry}}))
    assert isinstance(server, v1.McpServerSse if kind == "sse" else v1.McpServerHttp)
    assert server.headers == [v1.HttpHeader(name="Authorization", value="s3cret")]


@pytest.mark.parametrize(
    "value",
    [
        1,
        "text",
        {"mcpServers": []},
        {"mcpServers": {"one": 1}},
        {"mcpServers": {"one": {"command": 1, "env": {"A": "s3cret"}}}},
        {"mcpServers": {"one": {"command": "x", "args": "-x"}}},
        {"mcpServers": {"one": {"command": "x", "env": {"A": 5, "B": "s3cret"}}}},
        {"mcpServers": {"one": {"type": "carrier-pigeon", "command": "x"}}},
        {"mcpServers": {"one": {"type": "http"}}},
        [{"command": "x"}],
    ],
)
def test_what_makes_no_sense_is_told_without_its_secrets(value: Any, tmp_path: Path) -> None:
    with pytest.raises(UsageMistake) as told:
        read_mcp(written(tmp_path, value))
    assert "mcp.json" in str(told.value)
    assert "s3cret" not in str(told.value)


def test_servers_reach_the_agent_and_their_secrets_nobody_else(tmp_path: Path) -> None:
    path = written(tmp_path, {"mcpServers": {"one": STDIO}})
    script = 'agent m\non new {"mcpServers": [{"name": "one", "env": [{"value": "s3cret"}]}]}\n'
    agent = scripted(tmp_path, f"{script}  fail -32603 Got-it\n")
    done = run("--agent", agent, "--mcp", path, "--verbose", "--format", "json", "x", folder=tmp_path)
    assert done.status == 11
    assert "Got-it" in done.events[-1]["message"]
    assert "s3cret" not in done.out + done.err


def test_an_agent_that_cannot_reach_a_server_is_not_asked_to(tmp_path: Path) -> None:
    path = written(tmp_path, {"mcpServers": {"far": {"url": "https://example.org/mcp"}}})
    done = run("--agent", "echo", "--mcp", path, "x", folder=tmp_path)
    assert done.status == 2
    assert "mcpCapabilities.http" in done.err
