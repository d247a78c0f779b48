"""`dragoman agents`, as a person and as a script see it."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from dragoman_app.cli import main

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="programs are found by their mode")


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user who has nothing yet, with one well-known agent on PATH."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "opencode").write_text("#!/bin/sh\n")
    (tmp_path / "bin" / "opencode").chmod(0o755)
    return tmp_path


def config_of(home: Path) -> Path:
    return home / "config" / "dragoman" / "config.toml"


def shown(capsys: pytest.CaptureFixture[str], *arguments: str, status: int = 0) -> str:
    assert main(["agents", *arguments]) == status
    out, err = capsys.readouterr()
    assert bool(err) == (status != 0)
    return out if status == 0 else err


def shown_json(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    return json.loads(shown(capsys, *arguments))


@pytest.mark.parametrize("arguments", [[], ["list"]])
def test_the_list_is_a_table_with_what_to_do_about_the_rest(
    arguments: list[str], home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = shown(capsys, *arguments).splitlines()
    assert lines[0].split() == ["NAME", "FROM", "COMMAND"]
    assert lines[1].startswith("code      built-in  dragoman agent code")
    assert lines[2].startswith("echo      built-in  dragoman agent echo")
    assert lines[3].startswith("opencode  path      opencode acp")
    assert lines[4].startswith("review    built-in  dragoman agent review")
    assert lines[6].startswith("Not installed: claude, codex, gemini")
    assert lines[-1] == f"Configuration: {config_of(home)} (not there yet)"


def test_all_says_how_to_install_the_rest(capsys: pytest.CaptureFixture[str]) -> None:
    told = shown(capsys, "list", "--all")
    assert "npm install -g @agentclientprotocol/claude-agent-acp" in told


@pytest.mark.parametrize("arguments", [["--json"], ["list", "--json"], ["--json", "list"]])
def test_the_list_as_json(arguments: list[str], home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    listing = shown_json(capsys, *arguments)
    assert (listing["schema"], listing["config"], listing["default"]) == (1, str(config_of(home)), None)
    opencode = next(agent for agent in listing["agents"] if agent["name"] == "opencode")
    assert opencode["command"] == ["opencode", "acp"]
    assert opencode["program"] == str(home / "bin" / "opencode")
    assert "claude" in [entry["name"] for entry in listing["missing"]]


def test_an_agent_is_added_shown_and_removed(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    added = shown(
        *(capsys, "add", "--env", "K=s3cret-value", "--allow", "HOME", "--title", "Mine!", "mine"),
        *("my agent", "--json", "--flag"),
    )
    assert added == f"Added mine: 'my agent' --json --flag\nConfiguration: {config_of(home)}\n"
    told = shown(capsys, "show", "mine")
    assert [line.split(maxsplit=1) for line in told.splitlines()] == [
        ["name", "mine"],
        ["title", "Mine!"],
        ["from", "config"],
        ["command", "'my agent' --json --flag"],
        ["program", "not found on PATH"],
        ["sets", "K"],
        ["may", "see  HOME (set)"],
    ]
    assert shown(capsys, "remove", "mine") == f"Removed mine from {config_of(home)}\n"
    assert "no agent or program named 'mine'" in shown(capsys, "show", "mine", status=2)


def test_a_name_that_is_taken_is_replaced_only_on_demand(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shown(capsys, "add", "mine", "one")
    assert "--replace" in shown(capsys, "add", "mine", "two", status=2)
    shown(capsys, "add", "--replace", "mine", "--", "two")
    assert shown_json(capsys, "show", "mine", "--json")["command"] == ["two"]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["add", "mine"], "the command is missing"),
        (["add", "mine", "--env", "K=v", "my-agent"], "Put options before the name"),
        (["add", "two words", "x"], "not a name for an agent"),
        (["add", "--env", "sk-value", "mine", "x"], "--env needs NAME=VALUE"),
        (["add", "--allow", "sk-value", "mine", "x"], "--allow needs the name of a variable"),
        (["remove", "nobody"], "has no agent 'nobody'"),
        (["remove", "echo"], "is built in"),
        (["show", "ehco"], "did you mean echo?"),
        (["import", "zed"], "no configuration of Zed found; looked for "),
        (["import", "zed", "none.json"], "cannot read none.json: no such file"),
    ],
)
def test_a_mistake_says_what_to_do_and_no_secret(
    arguments: list[str], told: str, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    message = shown(capsys, *arguments, status=2)
    assert told in message
    assert "sk-value" not in message
    assert not config_of(home).exists()


def test_a_mistake_in_the_file_is_told_with_its_line(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config_of(home).parent.mkdir(parents=True)
    config_of(home).write_text("[agents.a]\ncommand = 3\n")
    for arguments in (["list"], ["show", "a"], ["add", "b", "x"], ["remove", "a"]):
        assert f"{config_of(home)}:2: command must be" in shown(capsys, *arguments, status=2)


ZED = """
{ // mine
  "agent_servers": {
    "Night Owl": { "command": "owl", "args": ["--key", "%s"], "env": { "OWL_KEY": "hoo-hoo-hoo" } },
    "echo": { "command": "other" },
    "half": { "type": "registry" },
  }
}
"""


def a_zed(home: Path) -> Path:
    settings = home / "config" / "zed" / "settings.json"
    settings.parent.mkdir(parents=True)
    settings.write_text(ZED % ("sk-" + "a1B2" * 6))
    return settings


def test_an_import_says_what_was_taken_and_what_not(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    settings = a_zed(home)
    told = shown(capsys, "import", "zed")
    assert told.splitlines() == [
        f"From {settings}:",
        "  took night-owl: owl --key [redacted] (sets OWL_KEY)",
        "  skipped half: Zed installs this agent itself; to use it here, install it on PATH",
        "  skipped echo: a built-in agent has this name",
        f"Configuration: {config_of(home)}",
    ]
    assert "hoo-hoo-hoo" in config_of(home).read_text()
    assert "hoo" not in shown(capsys, "show", "night-owl") + shown(capsys, "--json")
    assert "it is already in your file" in shown(capsys, "import", "zed")


def test_a_dry_run_writes_nothing(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    a_zed(home)
    told = shown(capsys, "import", "zed", "--dry-run")
    assert "would take night-owl" in told
    assert told.endswith("Nothing was written.\n")
    assert not config_of(home).exists()


def test_an_import_as_json(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    settings = a_zed(home)
    report = shown_json(capsys, "import", "zed", str(settings), "--json")
    assert (report["file"], report["written"]) == (str(settings), str(config_of(home)))
    assert [agent["name"] for agent in report["taken"]] == ["night-owl"]
    assert [entry["name"] for entry in report["skipped"]] == ["half", "echo"]
    assert "hoo-hoo" not in json.dumps(report)


def test_the_other_products_are_found_in_their_places(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (home / ".jetbrains").mkdir()
    (home / ".jetbrains" / "acp.json").write_text('{"agent_servers": {"Idea": {"command": "idea"}}}')
    (home / ".acpx").mkdir()
    (home / ".acpx" / "config.json").write_text('{"agents": {"far": {"command": "far away"}}}')
    assert "took idea: idea" in shown(capsys, "import", "jetbrains")
    assert "took far: far away" in shown(capsys, "import", "acpx")
    (home / ".acpxrc.json").write_text('{"agents": {"near": {"argv": ["near"]}}}')
    assert "near" not in shown(capsys, "import", "acpx"), "a file of this folder may be a stranger's"
    assert "took near: near" in shown(capsys, "import", "acpx", ".acpxrc.json")


def test_keys_in_a_file_that_others_may_read_are_worth_a_word(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config_of(home).parent.mkdir(parents=True)
    config_of(home).touch(mode=0o644)
    assert main(["agents", "add", "--env", "K=v", "mine", "x"]) == 0
    assert f"chmod 600 {config_of(home)}" in capsys.readouterr().err


def test_a_default_that_was_removed_is_mentioned(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shown(capsys, "add", "mine", "x")
    config = config_of(home)
    config.write_text('default_agent = "mine"\n' + config.read_text())
    assert "Default: mine" in shown(capsys)
    assert main(["agents", "remove", "mine"]) == 0
    assert "still named as default_agent" in capsys.readouterr().err


def test_what_a_terminal_would_obey_is_shown_instead(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config_of(home).parent.mkdir(parents=True)
    config_of(home).write_text('[agents.mine]\ntitle = "\\u001b[2J"\ncommand = ["x\\u001b]0;t\\u0007"]\n')
    assert "\x1b" not in shown(capsys) + shown(capsys, "show", "mine")


def test_nobody_reading_on_is_no_failure_to_speak_of(home: Path) -> None:
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "wb") as closed:
        done = subprocess.run(
            [sys.executable, "-m", "dragoman", "agents", "list", "--all"],
            stdout=closed,
            stderr=subprocess.PIPE,
            env={**os.environ},
        )
    assert (done.returncode, done.stderr) == (141, b"")


def test_agents_that_were_tried_behind_a_wall_are_proposed_for_one(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for program in ("codex-acp", "traecli"):
        (home / "bin" / program).write_text("#!/bin/sh\n")
        (home / "bin" / program).chmod(0o755)
    (line,) = [line for line in shown(capsys).splitlines() if line.startswith("Tested in the sandbox: ")]
    assert "codex" in line
    assert "trae" not in line
    assert "--sandbox workspace" in line
    assert "works in a sandbox: `dragoman run --sandbox workspace`" in shown(capsys, "show", "codex")
    listing = {agent["name"]: agent["sandbox"] for agent in shown_json(capsys, "--json")["agents"]}
    assert (listing["codex"], listing["trae"], listing["echo"]) == ("workspace", None, None)
