"""Requests for terminals over the wire: what cannot be started, where and with what a command starts."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from dragoman_local.workspace.refusals import FORBIDDEN, INVALID_PARAMS, NOT_FOUND
from dragoman_local.workspace.settings import TerminalSettings
from dragoman_local.workspace.workspace import Workspace
from tests.workspace.command_agent import code, descriptors, running

SLEEP = "sleep 60"
EURO = "\u20ac"


def python(text: str) -> tuple[str, ...]:
    return (sys.executable, "-c", text)


# What cannot be started.


@pytest.mark.parametrize(
    ("command", "params", "expected"),
    [
        ("no-such-program", {}, (NOT_FOUND, "no_program")),
        ("true", {"cwd": "relative"}, (INVALID_PARAMS, "bad_path")),
        ("true", {"cwd": ""}, (INVALID_PARAMS, "bad_path")),
        ("true", {"cwd": "{root}/none"}, (NOT_FOUND, "missing")),
        ("true", {"cwd": "{root}/file"}, (INVALID_PARAMS, "not_a_folder")),
        ("true", {"cwd": "/"}, (FORBIDDEN, "outside")),
        ("{root}/file", {}, (NOT_FOUND, "no_program")),
        ("{root}/script", {}, (-32603, "not_started")),
        ("echo a; id", {}, (FORBIDDEN, "shell_line")),
        ("true", {"env": [{"name": "LD_PRELOAD", "value": "x"}]}, (FORBIDDEN, "bad_env")),
    ],
)
async def test_a_refusal_says_why(
    command: str, params: dict[str, Any], expected: tuple[int, str], tmp_path: Path
) -> None:
    async with running(tmp_path) as agent:
        (tmp_path / "file").write_text("text")
        (tmp_path / "script").write_text("#!/no/such/interpreter\n")
        (tmp_path / "script").chmod(0o755)
        if "cwd" in params:
            params = {"cwd": params["cwd"].replace("{root}", str(tmp_path))}
        assert await agent.run("echo", "the sandbox stands") == "the sandbox stands\n"
        before = descriptors()
        answer = await agent.create(command.replace("{root}", str(tmp_path)), **params)
        assert code(answer) == expected
        assert descriptors() == before
        assert await agent.run("echo", "still here") == "still here\n"


@pytest.mark.parametrize(
    "params",
    [
        {"args": "x"},
        {"env": {"A": "b"}},
        {"cwd": 1},
        {"outputByteLimit": -1},
        {"command": None},
        {"args": [1]},
    ],
)
async def test_a_malformed_request_is_refused(params: dict[str, Any], tmp_path: Path) -> None:
    async with running(tmp_path) as agent:
        answer = await agent.ask("create", **{"command": "true", **params})
        assert answer["error"]["code"] == INVALID_PARAMS


async def test_null_means_absent(tmp_path: Path) -> None:
    async with running(tmp_path) as agent:
        asked = {"args": None, "env": None, "cwd": None, "outputByteLimit": None}
        answer = await agent.ask("create", command="pwd", **asked)
        assert (await agent.wait(answer["result"]["terminalId"]))["exitCode"] == 0


# Where and with what.


async def test_a_command_starts_in_its_folder_and_knows_its_name(tmp_path: Path) -> None:
    async with running(tmp_path) as agent:
        (tmp_path / "sub").mkdir()
        (tmp_path / "link").symlink_to("sub")
        assert await agent.run("sh", "-c", "pwd; /bin/pwd") == f"{tmp_path}\n" * 2
        for name in ("sub", "link"):
            written = await agent.run("sh", "-c", "pwd; /bin/pwd; echo $PWD", cwd=str(tmp_path / name))
            assert written == f"{tmp_path}/sub\n" * 3


async def test_a_command_may_start_anywhere_if_that_was_chosen(tmp_path: Path) -> None:
    async with running(tmp_path, Workspace(terminals=TerminalSettings(confine_cwd=False))) as agent:
        assert await agent.run("pwd", cwd="/") == "/\n"
        assert code(await agent.create("pwd", cwd="/none")) == (NOT_FOUND, "missing")


async def test_secrets_of_ours_do_not_reach_a_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with running(tmp_path) as agent:
        monkeypatch.setenv("SOME_API_KEY", "sesame")
        monkeypatch.setenv("UNKNOWN", "sesame")
        monkeypatch.setenv("LC_TIME", "C")
        written = await agent.run("env", env=[{"name": "MINE", "value": "yes"}])
        assert "sesame" not in written
        assert {"MINE=yes", "TERM=dumb", "LC_TIME=C"} <= set(written.splitlines())


async def test_a_line_is_run_by_a_shell_if_that_was_chosen(tmp_path: Path) -> None:
    async with running(tmp_path, Workspace(terminals=TerminalSettings(shell_lines=True))) as agent:
        answer = await agent.ask("create", command="echo run-step && echo $((1+1))", outputByteLimit=32000)
        terminal = answer["result"]["terminalId"]
        await agent.wait(terminal)
        assert (await agent.output(terminal))["output"] == "run-step\n2\n"
