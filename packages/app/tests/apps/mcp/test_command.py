"""`dragoman mcp` as an MCP client starts it: a real process, and the official client over stdio."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

import httpx
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

from dragoman.testing.pace import patience
from dragoman_app.cli import main
from tests.forks import DRAGOMAN


@pytest.mark.bound(30)  # two processes are started, one after the other
async def test_the_official_client_talks_to_the_command(tmp_path: Path) -> None:
    parameters = StdioServerParameters(
        command=DRAGOMAN[0],
        args=[*DRAGOMAN[1:], "mcp", "--agent", "echo", "--cwd", str(tmp_path)],
        env={**os.environ, "XDG_STATE_HOME": str(tmp_path / "state")},
    )
    # By default it writes to what was standard error when it was imported.
    async with Client(stdio_client(parameters, errlog=sys.stderr)) as client:
        assert [tool.name for tool in (await client.list_tools()).tools] == [
            "prompt",
            "sessions",
            "cancel",
            "close",
        ]
        result = await client.call_tool("prompt", {"text": "Grüße\nüber zwei Zeilen"})
        assert result.structured_content["text"] == "You said: Grüße\nüber zwei Zeilen"


@pytest.mark.bound(30)  # two processes are started, one after the other
async def test_the_official_client_comes_over_http_without_a_token_if_that_was_allowed(
    tmp_path: Path,
) -> None:
    words = ["--http", "--no-token", "--agent", "echo", "--cwd", str(tmp_path)]
    process = await asyncio.create_subprocess_exec(
        *[*DRAGOMAN, "mcp", *words],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        env={**os.environ, "XDG_STATE_HOME": str(tmp_path / "state")},
    )
    assert process.stdout is not None
    try:
        url = (await process.stdout.readline()).decode().strip()
        assert url.startswith("http://127.0.0.1:")
        async with Client(url) as client:
            result = await client.call_tool("prompt", {"text": "Grüße"})
            assert result.structured_content["text"] == "You said: Grüße"
        async with httpx.AsyncClient(timeout=None, headers={"origin": "https://evil.example"}) as page:
            assert (await page.post(url)).status_code == 403
    finally:
        process.send_signal(signal.SIGTERM)
        assert await process.wait() == 0


def test_bad_lines_are_answered_and_the_end_of_the_input_ends_it(tmp_path: Path) -> None:
    lines = b'nonsense\n{"jsonrpc":"2.0","id":1,"method":"tools/list"}\n'
    lines += b'{"jsonrpc":"2.0","id":2,"method":"ping"}\n'
    done = subprocess.run(
        [*DRAGOMAN, "mcp", "--agent", "echo"],
        input=lines,
        capture_output=True,
        cwd=tmp_path,
        timeout=patience(20),
        check=False,
    )
    assert done.returncode == 0
    answers = {bytes(line) for line in done.stdout.splitlines()}
    assert len(answers) == 3
    assert b'{"jsonrpc":"2.0","id":2,"result":{}}' in answers
    assert [code for code in (b"-32700", b"-32600") if code not in done.stdout] == []


def test_a_mistaken_command_line_says_what_to_do(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dragoman.transport.stdio.claim_stdio", lambda: None)
    assert main(["mcp", "--agent", "no-such-agent"]) == 2
    assert main(["mcp", "--agent", "echo", "--cwd", str(tmp_path / "none")]) == 2
    assert main(["mcp", "--agent", "echo", "--", "other"]) == 2
    assert main(["mcp", "--agent", "echo", "--no-token", "--listen", "127.0.0.1:0"]) == 2
    assert main(["mcp", "--agent", "echo", "--http", "--no-token", "--listen", "0.0.0.0:0"]) == 2
    assert main(["mcp", "--agent", "echo", "--http", "--no-token", "--token-file", "x"]) == 2
    said = capsys.readouterr().err
    assert "no-such-agent" in said
    assert "is not a folder" in said
    assert "both --agent and a command were given" in said
    assert "--listen, --no-token works only with --http" in said
    assert "other machines can reach 0.0.0.0, so a token is needed" in said
    assert "both --no-token and --token-file were given" in said
