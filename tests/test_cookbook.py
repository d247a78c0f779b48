"""Every recipe of the cookbook is tried as its reader would try it, in a folder with the files of the recipe.

Its Python is saved as `agent.py`, its shell commands are run, and `TRIALS` says what must be printed then.
`claude` and `codex` are scripted agents here. Programs that say themselves what they print are run by
`test_docs.py`, with the wheels alone.
"""

from __future__ import annotations

import json
import os
import re
import select
import shlex
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from dragoman.testing.pace import patience
from tests.forks import DRAGOMAN, interpreter
from tests.ports import KeptPort
from tests.test_docs import PRINTS, blocks
from tests.together import SideBySide

together = SideBySide(2)

PAGE = Path(__file__).parent.parent / "docs" / "cookbook.md"
RECIPES = {
    title.strip(): blocks(title.strip(), body)
    for title, body in re.findall(r"^## ([^\n]+)\n(.*?)(?=^## |\Z)", PAGE.read_text("utf-8"), re.M | re.S)
}

CLAUDE = """
agent claude
  can load
on load
  user "Remember the number seven"
on prompt "Write hello.txt"
  tool "Write hello.txt" kind=edit
    write $cwd/hello.txt "hello\\n"
on prompt "Which number?"
  say "Seven."
on prompt "Fix the tests"
  die 1
on prompt "Run the tests"
  tool "git push" kind=execute
    run git push
      failed
        say "$message"
on prompt
  say "I will."
"""
CODEX = """
agent codex
on prompt
  say "Mended by codex."
"""


class Trial(NamedTuple):
    run: str
    """A line of shell behind the recipe's own. `dragoman` and `python3` are those of this checkout."""
    prints: tuple[str, ...]
    """What is printed, in this order."""
    needs: dict[str, str] = {}  # noqa: RUF012
    """Files that are there before."""
    status: int = 0


ASK = 'dragoman run Go --agent "python3 agent.py" --approve all'
SEEN = f"{ASK} --format json --no-history"
POEM = {"poem.txt": "roses\nviolets\nsugar\n"}
CHANGED = {"app.py": "def total(text):\n    return eval(text)\n"}
REPOSITORY = (
    "git init -q -b main . && git -c user.name=a -c user.email=a@b.example commit -q --allow-empty -m one"
    " && git update-ref refs/remotes/origin/main HEAD && git add app.py"
)

TRIALS = {
    "Send a diff": Trial(SEEN, ('"oldText":"roses\\n"', '"newText":"tulips\\n"', '"status":"completed"')),
    "Send a picture": Trial(SEEN, ('"mimeType":"image/png"',), {"chart.png": "a picture"}),
    "Send a plan": Trial(SEEN, ('"status":"in_progress"', "All is well.", '"status":"completed"}]')),
    "Ask for permission": Trial(
        f"{SEEN}; {SEEN.replace('--approve all', '--approve none')} || true",
        ('"outcome":"allow"', "The cache is gone.", '"outcome":"deny"', "You did not allow it."),
    ),
    "Read a lent file": Trial(ASK, ("roses\nviolets",), POEM),
    "Run a command": Trial(ASK, ("3 poem.txt", "(status 0)"), POEM),
    "A proxy that adds rules": Trial(ASK, ("Never touch main. Go",)),
    "Resume a session": Trial("", ("I will.", "Seven.", "> Remember the number seven", "> Which number?")),
    "Hand over to another agent": Trial("", ("codex continues the work of claude", "Mended by codex.")),
    "Approve by policy": Trial("", ("deny: git push", "policy.toml:5", "was denied"), status=7),
    "Blame a line": Trial("", ("claude, turn 1", "hello", "prompt:", "Write hello.txt")),
    "Record and replay": Trial(
        "grep -c session/prompt session.html", ("You said: Hello", "You said: Hello", "1")
    ),
    "Review in CI": Trial("", ("::", "app.py", "line=2"), CHANGED, status=1),
}
SERVERS = {"Follow a hub session", "A bot on the OpenAI door", "An agent as MCP tools"}


def variables(folder: Path) -> dict[str, str]:
    """For a machine with our commands, `claude` and `codex`, and with nothing of this person's."""
    programs, home = folder / "bin", folder / "home"
    programs.mkdir()
    (home / "dragoman").mkdir(parents=True)
    interpreter(programs).rename(programs / "python3")
    (programs / "dragoman").write_text(f'#!/bin/sh\nexec {shlex.join(DRAGOMAN)} "$@"\n')
    (programs / "dragoman").chmod(0o755)
    configured = ""
    for name, script in (("claude", CLAUDE), ("codex", CODEX)):
        (home / f"{name}.script").write_text(script)
        command = ["dragoman", "agent", "script", str(home / f"{name}.script")]
        configured += f"[agents.{name}]\ncommand = {json.dumps(command)}\n"
    (home / "dragoman" / "config.toml").write_text(configured)
    places = dict.fromkeys(
        ("HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"), str(home)
    )
    return {**os.environ, **places, "PATH": f"{programs}:{os.environ['PATH']}", "NO_COLOR": "1"}


def code(title: str, language: str) -> str:
    return "\n".join(block.text for block in RECIPES[title] if block.language == language)


def expect(output: str, *wanted: str) -> None:
    at = 0
    for text in wanted:
        found = output.find(text, at)
        assert found >= 0, f"{text!r} is not in\n{output[at:]}"
        at = found + len(text)


@pytest.mark.parametrize("title", TRIALS)
@together
def test_a_recipe_does_what_its_title_says(title: str, tmp_path: Path) -> None:
    trial = TRIALS[title]
    ours = variables(tmp_path)
    work = tmp_path / "work"
    work.mkdir()
    saved = {"agent.py": code(title, "python"), "policy.toml": code(title, "toml")}
    for name, text in {**saved, **trial.needs}.items():
        if text:
            (work / name).write_text(text)
    shell = code(title, "sh")
    if title == "Review in CI":
        shell = f"{REPOSITORY}\n{shell}"
    done = subprocess.run(
        ["sh", "-e", "-c", f"{shell}\n{trial.run}"],
        cwd=work,
        env=ours,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=patience(50),
    )
    assert done.returncode == trial.status, done.stdout
    expect(done.stdout, *trial.prints)


@contextmanager
def running(command: str, folder: Path, ours: dict[str, str], until: str) -> Iterator[str]:
    """What a program prints up to a text; it goes on until the block is left."""
    with subprocess.Popen(
        ["sh", "-c", f"exec {command}"],
        cwd=folder,
        env={**ours, "PYTHONUNBUFFERED": "1"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    ) as process:
        assert process.stdout is not None
        said, end = b"", time.monotonic() + patience(30)
        try:
            while until.encode() not in said:
                left = max(0.0, end - time.monotonic())
                assert select.select([process.stdout], [], [], left)[0], said
                block = os.read(process.stdout.fileno(), 65536)
                assert block, said
                said += block
            yield said.decode()
        finally:
            process.terminate()
            process.communicate(timeout=patience(30))


def test_a_script_follows_a_session_of_a_hub(tmp_path: Path) -> None:
    ours, kept_port = variables(tmp_path), KeptPort()
    port = str(kept_port.number)
    (tmp_path / "follow.py").write_text(code("Follow a hub session", "python").replace("8765", port))

    def shell(command: str) -> None:
        subprocess.run(["sh", "-e", "-c", command], cwd=tmp_path, env=ours, check=True, capture_output=True)

    shell("dragoman hub token add script > token")
    connect = f'"dragoman connect --token-file token ws://127.0.0.1:{port}/acp?agent=echo"'
    with running(f"dragoman hub --listen 127.0.0.1:{port}", tmp_path, ours, "The page"):
        shell(f"dragoman run --no-history Hello --agent {connect}")
        with running("python3 follow.py", tmp_path, ours, "TextContent(text='You") as said:
            expect(said, "UserMessageChunk", "AgentMessageChunk")


def test_any_agent_answers_a_client_of_openai(tmp_path: Path) -> None:
    ours, kept_port = variables(tmp_path), KeptPort()
    port = str(kept_port.number)
    server = code("A bot on the OpenAI door", "sh").strip().replace("8766", port)
    with running(server, tmp_path, ours, "token") as said:
        token = re.findall(r"[\w-]{24,}", said)[-1]
        bot = code("A bot on the OpenAI door", "python").replace("8766", port)
        (tmp_path / "bot.py").write_text(bot.replace("THE-TOKEN-THAT-WAS-PRINTED", token))
        with running("python3 bot.py", tmp_path, ours, "You said: Hello"):
            pass


def test_an_mcp_client_finds_the_tools(tmp_path: Path) -> None:
    (server,) = json.loads(code("An agent as MCP tools", "json"))["mcpServers"].values()
    opening = {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "a", "version": "1"},
    }
    said: list[dict[str, Any]] = [
        {"id": 1, "method": "initialize", "params": opening},
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/list"},
        {"id": 3, "method": "tools/call", "params": {"name": "prompt", "arguments": {"text": "Hello"}}},
    ]
    command = shlex.join([server["command"], *server["args"]])
    with subprocess.Popen(
        ["sh", "-c", command],
        cwd=tmp_path,
        env=variables(tmp_path),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for message in said:
            print(json.dumps({"jsonrpc": "2.0", **message}), file=process.stdin, flush=True)
        answers: dict[int, Any] = {}
        for line in process.stdout:
            answers |= {found["id"]: found for found in [json.loads(line)] if "id" in found}
            if 3 in answers:
                break
        process.communicate(timeout=patience(30))
    tools = {tool["name"] for tool in answers[2]["result"]["tools"]}
    assert tools == {"prompt", "sessions", "cancel", "close"}
    assert "You said: Hello" in json.dumps(answers[3])


def test_every_recipe_is_tried() -> None:
    said = {title for title, found in RECIPES.items() if any(PRINTS.search(block.text) for block in found)}
    tests = {title for title, found in RECIPES.items() if any("def test_" in block.text for block in found)}
    assert said | tests | TRIALS.keys() | SERVERS == set(RECIPES)
    assert not said & TRIALS.keys()
