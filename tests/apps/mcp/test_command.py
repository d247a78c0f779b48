"""`dragoman mcp` as an MCP client starts it: a real process, and the official client over stdio."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from mcp import Client, StdioServerParameters

from dragoman.cli import main
from dragoman.testing.pace import patience


@pytest.mark.bound(30)  # two processes are started, one after the other
async def test_the_official_client_talks_to_the_command(tmp_path: Path) -> None:
    parameters = StdioServerParameters(
        command=sys.executable,
        args=["-m", "dragoman", "mcp", "--agent", "echo", "--cwd", str(tmp_path)],
        env={**os.environ, "XDG_STATE_HOME": str(tmp_path / "state")},
    )
    async with Client(parameters) as client:
        assert [tool.name for tool in (await client.list_tools()).tools] == [
            "prompt",
            "sessions",
            "cancel",
            "close",
        ]
        result = await client.call_tool("prompt", {"text": "Grüße\nüber zwei Zeilen"})
        assert result.structured_content["text"] == "You said: Grüße\nüber zwei Zeilen"


def test_bad_lines_are_answered_and_the_end_of_the_input_ends_it(tmp_path: Path) -> None:
    lines = b'nonsense\n{"jsonrpc":"2.0","id":1,"method":"tools/list"}\n'
    lines += b'{"jsonrpc":"2.0","id":2,"method":"ping"}\n'
    done = subprocess.run(
        [sys.executable, "-m", "dragoman", "mcp", "--agent", "echo"],
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
    said = capsys.readouterr().err
    assert "no-such-agent" in said
    assert "is no folder" in said
    assert "both --agent and a command were given" in said
