"""Whoever calls an agent as a tool or as a model does not loosen what the person in front has said."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from dragoman.testing.pace import patience
from tests.forks import forked
from tests.hostile.doors.model_tricks import MCP_TRICKS, OPENAI_TRICKS, ModelTrick
from tests.hostile.doors.program import Program, environment, started
from tests.hostile.doors.stage import placed, puppet
from tests.hostile.doors.tricks import must_not, parameters

MODEL = "python"
"""What an agent is called whose command is an interpreter."""


class Assistants:
    """An MCP server for each setting, started when it is needed first, and the folder above theirs."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "key").write_text("key\n")
        self.env = environment(folder)


@pytest.fixture(scope="module")
def assistants(tmp_path_factory: pytest.TempPathFactory) -> Assistants:
    return Assistants(tmp_path_factory.mktemp("assistants"))


def server(assistants: Assistants, approve: str) -> Iterator[tuple[Program, Path]]:
    cwd = assistants.folder / approve
    cwd.mkdir()
    (cwd / "out").symlink_to("..")
    words = ["mcp", "--approve", approve, "--cwd", str(cwd), "--", *puppet("v1")]
    with started(words, env=assistants.env, cwd=cwd) as program:
        capabilities: dict[str, object] = {}
        client = {"name": "model", "version": "1"}
        introduction = {"protocolVersion": "2025-06-18", "capabilities": capabilities, "clientInfo": client}
        assert "result" in program.call("initialize", introduction)
        program.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        yield program, cwd


@pytest.fixture(scope="module")
def none(assistants: Assistants) -> Iterator[tuple[Program, Path]]:
    yield from server(assistants, "none")


@pytest.fixture(scope="module")
def reads(assistants: Assistants) -> Iterator[tuple[Program, Path]]:
    yield from server(assistants, "reads")


@pytest.fixture(scope="module")
def every(assistants: Assistants) -> Iterator[tuple[Program, Path]]:
    yield from server(assistants, "all")


def prompt(program: Program, cwd: Path, trick: ModelTrick) -> dict[str, object]:
    steps = placed([*trick.steps, {"do": "$CWD/honest"}], cwd)
    arguments = json.loads(json.dumps(dict(trick.arguments)).replace("$CWD", str(cwd)))
    return program.call(
        "tools/call", {"name": "prompt", "arguments": {"text": json.dumps(steps), **arguments}}
    )


@pytest.mark.parametrize("trick", parameters(MCP_TRICKS))
def test_no_model_loosens_what_was_said(trick: ModelTrick, request: pytest.FixtureRequest) -> None:
    program, cwd = request.getfixturevalue(trick.approve)
    for name in ("loose", "done", "honest"):
        (cwd / name).unlink(missing_ok=True)
    answer = prompt(program, cwd, trick)
    assert answer, (cwd / "stderr").read_text()
    must_not((cwd / trick.trace).exists() or (cwd.parent / "loose").exists(), answer)
    if not trick.arguments:
        assert (cwd / "honest").exists()


def test_a_call_without_such_words_works(reads: tuple[Program, Path]) -> None:
    program, cwd = reads
    answer = prompt(program, cwd, MCP_TRICKS[-3])
    assert (cwd / "honest").exists(), answer


def test_what_is_permitted_has_a_line_in_the_audit_log(
    every: tuple[Program, Path], assistants: Assistants
) -> None:
    program, cwd = every
    for name in ("a write that nobody permits", "a command that nobody permits"):
        (cwd / "done").unlink(missing_ok=True)
        prompt(program, cwd, next(trick for trick in MCP_TRICKS if trick.name.endswith(name)))
        assert (cwd / "done").exists()
    log = assistants.folder / "state" / "dragoman" / "audit.jsonl"
    decisions = [json.loads(line) for line in log.read_text().splitlines()]
    allowed = {one["method"] for one in decisions if one["outcome"] == "allow"}
    assert {"fs/write", "terminal"} <= allowed


@contextmanager
def openai_server(folder: Path, cwd: Path, agent: list[str]) -> Iterator[tuple[str, str]]:
    """Its address and token. Nobody is asked, and nothing is approved that no rule allows."""
    token = folder / "token"
    token.write_text("a-token-that-is-long-enough-for-anybody-0123456789")
    token.chmod(0o600)
    words = ["serve", "--openai", "--approve", "none", "--cwd", str(cwd), "--token-file", str(token)]
    command = forked([sys.executable, "-m", "dragoman", *words, "--", *agent])
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, env=environment(folder), cwd=folder
    ) as server:
        assert server.stdout is not None
        address = ""
        while not address:
            line = server.stdout.readline()
            assert line
            address = next((word for word in line.split() if word.startswith("http://")), "")
        yield address, token.read_text()
        os.kill(server.pid, signal.SIGTERM)
        server.stdout.read()
        server.wait(patience(20))


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str, Path]]:
    folder = tmp_path_factory.mktemp("gateway")
    cwd = folder / "cwd"
    cwd.mkdir()
    with openai_server(folder, cwd, puppet("v1")) as (address, token):
        yield address, token, cwd


def complete(address: str, token: str, body: dict[str, object]) -> tuple[int, str]:
    url = address.rstrip("/").removesuffix("/v1") + "/v1/chat/completions"
    headers = {"authorization": f"Bearer {token}", "content-type": "application/json"}
    asked = urllib.request.Request(url, json.dumps(body).encode(), headers)
    try:
        with urllib.request.urlopen(asked, timeout=patience(20)) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


@pytest.mark.parametrize("trick", parameters(OPENAI_TRICKS))
def test_no_member_of_a_request_loosens_what_was_said(
    gateway: tuple[str, str, Path], trick: ModelTrick
) -> None:
    address, token, cwd = gateway
    (cwd / "loose").unlink(missing_ok=True)
    steps = json.dumps([{"do": f"{cwd}/honest"}])
    plain: dict[str, object] = {"model": MODEL, "messages": [{"role": "user", "content": steps}]}
    tried = complete(address, token, {**plain, **trick.arguments})
    must_not((cwd / "loose").exists(), tried)
    status, text = complete(
        address, token, {**plain, "messages": [{"role": "user", "content": f"{trick.name} {steps}"}]}
    )
    assert status == 200, text
    assert (cwd / "honest").exists()
