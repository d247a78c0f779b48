"""Completion of shells, `where`, `config`, and the schemas of our files."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import jsonschema
import pytest

from dragoman.testing.pace import patience
from dragoman_app.cli import main
from dragoman_app.cli.complete import complete
from dragoman_app.cli.config import SCHEMAS, write_schema
from dragoman_app.cli.hub_client import find_hub

ROOT = Path(__file__).parents[4]
SCRIPTS = ROOT / "packages/app/src/dragoman_app/cli/completions"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for kind in ("CONFIG", "DATA", "STATE", "CACHE"):
        monkeypatch.setenv(f"XDG_{kind}_HOME", str(tmp_path / kind.lower()))
    (tmp_path / "config/dragoman").mkdir(parents=True)
    return tmp_path


def write(home: Path, name: str, text: str) -> Path:
    path = home / "config/dragoman" / name
    path.write_text(text)
    return path


def test_commands_options_and_choices_are_completed() -> None:
    assert "token" in complete(["hub", "to"]).words
    assert "--start-timeout" in complete(["run", "--start"]).words
    assert set(complete(["completions", ""]).words) == {"bash", "zsh", "fish"}
    assert "policy" in complete(["config", "check", "p"]).words
    assert "client-tools" not in complete([""]).words


def test_agents_are_completed_by_their_names(home: Path) -> None:
    write(home, "config.toml", '[agents.mine]\ncommand = ["x"]\n')
    assert "mine" in complete(["run", "--agent", "mi"]).words
    assert "mine" in complete(["run", "--agent", "=", "mi"]).words
    assert "mine" in complete(["agents", "show", ""]).words
    assert "mine" not in complete(["agents", "add", ""]).words


def test_paths_are_left_to_the_shell_and_so_is_the_command_of_an_agent() -> None:
    assert complete(["view", ""]).is_path
    assert complete(["tap", "--", "my"]) == ({}, True)
    assert not complete(["hub", ""]).is_path


def test_names_that_a_shell_could_run_are_not_offered(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "dragoman_app.cli.complete._agents", lambda: {"$(reboot)": "", "good": "a\ttab\x1b[2J"}
    )
    assert main(["complete", "--", "run", "--agent", ""]) == 0
    shown = capsys.readouterr().out
    assert "reboot" not in shown
    assert shown.startswith("words\ngood\t")
    assert "\x1b" not in shown


TRY = {
    "bash": 'COMP_WORDS=(dragoman hub tok); COMP_CWORD=2; _dragoman; echo "${COMPREPLY[@]}"',
    "fish": 'complete --do-complete "dragoman hub tok"',
    "zsh": "whence -w _dragoman",
}


@pytest.mark.parametrize("shell", sorted(TRY))
def test_the_script_of_a_shell_works_in_that_shell(
    shell: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    program = shutil.which(shell)
    if program is None:
        pytest.skip(f"there is no {shell} here")
    assert main(["completions", shell]) == 0
    script = tmp_path / f"script.{shell}"
    prepare = "autoload -Uz compinit && compinit -u -D\n" if shell == "zsh" else ""
    script.write_text(f"{prepare}{capsys.readouterr().out}\n{TRY[shell]}\n")
    (tmp_path / "dragoman").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m dragoman "$@"\n')
    (tmp_path / "dragoman").chmod(0o755)
    outcome = subprocess.run(
        [program, str(script)],
        env={**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}", "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
        timeout=patience(30),
    )
    assert ("function" if shell == "zsh" else "token") in outcome.stdout, outcome.stderr


def test_where_names_every_place(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(home, "hub.toml", 'journal = "/elsewhere/hub.db"\n')
    assert main(["where", "--json"]) == 0
    places = {place["name"]: place for place in json.loads(capsys.readouterr().out)["places"]}
    assert places["hub"] == {
        **places["hub"],
        "path": str(path),
        "exists": True,
        "bytes": path.stat().st_size,
    }
    assert places["journal"]["path"] == "/elsewhere/hub.db"
    assert places["tokens"]["path"] == "/elsewhere/tokens.json"
    assert main(["where", "policy"]) == 0
    assert capsys.readouterr().out == f"{home}/config/dragoman/policy.toml\n"
    assert main(["where", "nowhere"]) == 2


def test_where_address_is_the_file_in_which_clients_look_for_the_hub(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["where", "address"]) == 0
    path = Path(capsys.readouterr().out.rstrip("\n"))
    assert path.is_relative_to(home)
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps({"url": "http://127.0.0.1:8765", "pid": os.getpid()}))
    path.chmod(0o600)
    assert find_hub(path) == "ws://127.0.0.1:8765/acp"
    assert main(["where", "--json"]) == 0
    places = {place["name"]: place for place in json.loads(capsys.readouterr().out)["places"]}
    assert places["address"]["exists"]


def test_where_works_with_a_configuration_that_cannot_be_used(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(home, "hub.toml", "nonsense")
    assert main(["where", "journal"]) == 0
    assert capsys.readouterr().out == f"{home}/data/dragoman/hub.db\n"


GOOD = {
    "agents": '"$schema" = "agents.schema.json"\ndefault_agent = "a"\n[agents.a]\ncommand = ["x"]\n',
    "hub": '"$schema" = "hub.schema.json"\nlisten = "127.0.0.1:1"\n[limits]\nmessage = "2 MiB"\n'
    'prompt_rate = "3/min"\n[agents.a]\ncommand = ["x"]\nenv = { KEY = "hidden-value" }\n',
    "policy": '"$schema" = "policy.schema.json"\nversion = 1\ndefault = "ask"\n[[rule]]\ndecision = "deny"\n'
    'path = "**/.env"\nkind = ["edit"]\n',
}
BAD = {
    "agents": "[agents.a]\ncommnd = 1\n",
    "hub": "[limits]\nmessage = false\n",
    "policy": '[[rule]]\ndecision = "perhaps"\n',
}
FILES = {"agents": "config.toml", "hub": "hub.toml", "policy": "policy.toml"}


@pytest.mark.parametrize("kind", sorted(SCHEMAS))
def test_schema_and_reader_agree_and_the_published_schema_is_fresh(
    kind: str, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    published = (ROOT / f"docs/schemas/{kind}.schema.json").read_bytes()
    assert published == write_schema(kind), f"dragoman config schema {kind} > docs/schemas/{kind}.schema.json"
    schema = json.loads(published)
    jsonschema.Draft202012Validator.check_schema(schema)
    for text, is_good in ((GOOD[kind], True), (BAD[kind], False), ("", True)):
        write(home, FILES[kind], text)
        assert jsonschema.Draft202012Validator(schema).is_valid(tomllib.loads(text)) is is_good
        assert (main(["config", "check", kind]) == 0) is is_good
    capsys.readouterr()


def test_what_holds_is_shown_without_secrets(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for kind in FILES:
        write(home, FILES[kind], GOOD[kind])
        assert main(["config", "show", kind]) == 0
        assert main(["config", "show", kind, "--json"]) == 0
    shown = capsys.readouterr().out
    assert "hidden-value" not in shown
    assert "listen = 127.0.0.1:1    # set here" in shown
