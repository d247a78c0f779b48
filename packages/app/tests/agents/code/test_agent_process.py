"""`dragoman agent code` as editors start it: a process on pipes, driven by our client and by others."""

import asyncio
import json
import os
import signal
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from dragoman import Client, connect
from dragoman.errors import CallFailed, LinkClosed
from dragoman.schema.v1 import EnvVariable, McpServerStdio
from dragoman.testing.models import call, hold, scripted_model, turn
from dragoman.testing.pace import deadline
from tests.agents.code.coder_runs import Person, calls, status
from tests.forks import DRAGOMAN, forked
from tests.interop.programs import CLIENTS, needs_node, tapped, tell
from tests.interop.test_story import judge
from tests.together import SideBySide

pytestmark = [pytest.mark.bound(55), pytest.mark.timeout(120)]
together = SideBySide(2)

CODER = [sys.executable, "-m", "dragoman", "agent", "code"]
MCP_SERVER = forked(
    [sys.executable, str(Path(__file__).parents[4] / "local/tests/kit/official_mcp_server.py")]
)
FORKED = [*DRAGOMAN, *CODER[3:]]


def environment(folder: Path, **more: str) -> dict[str, str]:
    """Ours, without anybody's keys, and with its files in a folder of the test's."""
    kept = {
        name: value for name, value in os.environ.items() if "API_KEY" not in name and "DRAGOMAN" not in name
    }
    return {**kept, "XDG_CONFIG_HOME": str(folder), "XDG_DATA_HOME": str(folder), **more}


@together
async def test_initialize_is_answered_without_the_model_layer(tmp_path: Path) -> None:
    child = await asyncio.create_subprocess_exec(
        *[sys.executable, "-X", "importtime", *CODER[1:]],
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env=environment(tmp_path, DRAGOMAN_MODEL="openai:gpt-5", OPENAI_API_KEY="k"),
    )
    request = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": 1}}
    answer, imported = await child.communicate(json.dumps(request).encode() + b"\n")
    result = json.loads(answer)["result"]
    assert "read" in [tool["name"] for tool in result["_meta"]["dragoman"]["tools"]]
    assert result["agentCapabilities"]["loadSession"] is True
    assert result["agentCapabilities"]["promptCapabilities"] == {
        "image": True,
        "audio": False,
        "embeddedContext": True,
    }
    modules = {line.rpartition(b"|")[2].strip().decode() for line in imported.splitlines()}
    assert "dragoman_app.agents.code.agent" in modules
    assert not {"pydantic", "pydantic_ai", "openai", "anthropic", "mcp", "httpx2"} & modules


@together
async def test_an_agent_that_still_imports_the_model_layer_ends_with_its_input(tmp_path: Path) -> None:
    layer = tmp_path / "pydantic_ai"
    layer.mkdir()
    (layer / "__init__.py").write_text("import time\n\ntime.sleep(600)\n")
    child = await asyncio.create_subprocess_exec(
        *CODER,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        env=environment(
            tmp_path, DRAGOMAN_MODEL="openai:gpt-5", OPENAI_API_KEY="k", PYTHONPATH=str(tmp_path)
        ),
    )
    assert child.stdin is not None
    assert child.stdout is not None
    for request in (
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": 1}},
        {
            "jsonrpc": "2.0",
            "id": 2,
            "method": "session/new",
            "params": {"cwd": str(tmp_path), "mcpServers": []},
        },
    ):
        child.stdin.write(json.dumps(request).encode() + b"\n")
    while json.loads(await child.stdout.readline()).get("id") != 2:
        pass
    child.stdin.close()
    try:
        async with deadline(10):
            assert await child.wait() == 0
    finally:
        if child.returncode is None:
            child.kill()


@together
async def test_without_a_model_the_first_prompt_says_what_to_set(tmp_path: Path) -> None:
    async with connect(FORKED, env=environment(tmp_path)) as agent:
        session = await agent.new_session(cwd=str(tmp_path))
        with pytest.raises(CallFailed, match="Set DRAGOMAN_MODEL") as caught:
            await session.prompt("Hi")
        assert caught.value.code == -32000
        methods = agent.auth_methods
        assert [method.id for method in methods] == ["openai", "anthropic", "server"]
        assert all("environment" in str(method.description) for method in methods)
        with pytest.raises(CallFailed, match="no model is configured"):
            await agent.authenticate("openai")


@together
async def test_a_bad_configuration_is_told_before_anything_starts(tmp_path: Path) -> None:
    (tmp_path / "bad.toml").write_text("modle = 1")
    child = await asyncio.create_subprocess_exec(
        *CODER, "--config", str(tmp_path / "bad.toml"), stderr=asyncio.subprocess.PIPE
    )
    _, told = await child.communicate()
    assert child.returncode == 2
    assert b"unknown field `modle`" in told


@pytest.mark.parametrize(
    "client",
    [
        pytest.param("ours", marks=pytest.mark.slow),  # drives it in the other tests here
        pytest.param("official-python", marks=pytest.mark.slow),
        pytest.param("typescript", marks=needs_node),
    ],
)
@together
async def test_every_client_can_drive_it(client: str, tmp_path: Path) -> None:
    journal = tmp_path / "journal"
    script = [turn("Let me look. ", call("read", path="/story/in.txt")), turn("You said: hello again")]
    async with scripted_model(script) as model:
        settings = ["--model", "small", "--base-url", model.openai_url, "--sessions", str(tmp_path / "s.db")]
        command = tapped(journal, [*FORKED, *settings])
        report = await asyncio.to_thread(tell, CLIENTS[client], "hello", [], command)
    assert report["initialize"] == {"version": 1, "agent": "dragoman-code"}
    assert report["hello"]["text"] == "Let me look. You said: hello again"
    assert report["hello"]["stop"] == "end_turn"
    assert list(report["hello"]["tools"].values()) == ["completed"]
    assert report["no such session"]["error"] == -32002
    (result,) = model.requests[1].results.values()
    assert result.text.splitlines()[0] == "     1\tline one", "the client's file, not one on disk"
    judge(journal, "to_client")


async def test_a_session_survives_the_death_of_its_process(tmp_path: Path) -> None:
    script = [turn("Hello."), turn("Half", hold()), turn("Whole.")]
    async with scripted_model(script) as model:
        env = environment(tmp_path, DRAGOMAN_MODEL="small", DRAGOMAN_BASE_URL=model.openai_url)
        async with connect(FORKED, env=env) as agent:
            session = await agent.new_session(cwd=str(tmp_path))
            await session.prompt("One")
            running = asyncio.ensure_future(session.prompt("Two"))
            await model.wait_for_hold()
            for child in _children(b"agent\0code"):
                os.kill(child, signal.SIGKILL)
            with pytest.raises(LinkClosed):
                await running
        async with connect(FORKED, env=env) as agent:
            again = await agent.load_session(session.id, cwd=str(tmp_path))
            assert (await again.prompt("Three")).text == "Whole."
    assert [message.text for message in model.requests[2].messages] == ["One", "Hello.", "Two", "Three"]


def _children(command: bytes) -> list[int]:
    """Our children that run this."""
    listed = [path.read_text().split() for path in Path("/proc/self/task").glob("*/children")]
    pids = [int(pid) for pids in listed for pid in pids]
    return [pid for pid in pids if command in Path(f"/proc/{pid}/cmdline").read_bytes()]


@together
async def test_tools_of_an_mcp_server_stand_beside_its_own(tmp_path: Path) -> None:
    script = [
        turn(call("numbers__add", left=2, right=3), call("numbers__fail")),
        turn("Five."),
    ]
    person = Person()
    server = McpServerStdio(
        name="numbers",
        command=MCP_SERVER[0],
        args=[*MCP_SERVER[1:], "stdio", "numbers"],
        env=[EnvVariable(name="TOKEN", value="sk-mcp")],
    )
    async with scripted_model(script) as model:
        env = environment(tmp_path, DRAGOMAN_MODEL="small", DRAGOMAN_BASE_URL=model.openai_url)
        async with connect(FORKED, env=env, client=person.client()) as agent:
            session = await agent.new_session(cwd=str(tmp_path), mcp_servers=[server])
            running = session.prompt("Add")
            updates = [update async for update in running]
    offered = model.requests[0].tools
    assert offered["numbers__add"].description == "Adds two numbers."
    assert set(offered["numbers__add"].parameters["properties"]) == {"left", "right"}
    texts = [result.text for result in model.requests[1].results.values()]
    assert "5" in texts[0]
    assert "it did not work" in texts[1] or "fail" in texts[1].lower()
    assert [question.tool_call.title for question in person.asked] == ["numbers: add", "numbers: fail"]
    happened = calls(updates)
    assert status(happened["numbers: add"]) == "completed"
    assert status(happened["numbers: fail"]) == "failed"


@together
async def test_a_key_is_neither_shown_nor_stored(tmp_path: Path) -> None:
    (tmp_path / "key").write_text("sk-very-secret\n")
    seen: list[Mapping[str, Any]] = []
    client = Client("editor")
    async with scripted_model([turn("Hello.")], key="another") as model:
        command = [
            *FORKED,
            "--model",
            "small",
            "--base-url",
            model.openai_url,
            "--key-file",
            str(tmp_path / "key"),
        ]
        async with connect(command, env=environment(tmp_path), client=client) as agent:
            session = await agent.new_session(cwd=str(tmp_path))
            with pytest.raises(CallFailed, match="refuses the key") as caught:
                await session.prompt("Hi")
            seen.append({"message": caught.value.message, "data": caught.value.data})
    assert caught.value.code == -32000
    assert model.requests[0].key == "sk-very-secret"
    assert "sk-very-secret" not in str(seen)
    stored = b"".join(path.read_bytes() for path in tmp_path.rglob("*.db*") if path.is_file())
    assert stored
    assert b"sk-very-secret" not in stored
