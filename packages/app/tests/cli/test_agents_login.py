"""`dragoman agents login`, and the hint of `run` that leads there, against real processes."""

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.apps.run.run_process import DRAGOMAN, home, run
from tests.cli.command_forks import run_command
from tests.cli.held import Held
from tests.together import SideBySide

pytestmark = pytest.mark.bound(60)

together = SideBySide()

AGENT = """
import json, sys
if "--login" in sys.argv:
    print("Who are you?", flush=True)
    open(DONE, "w").write("terminal " + input())
    sys.exit()
for line in sys.stdin:
    asked = json.loads(line)
    answer = {"result": {}}
    if asked.get("method") == "initialize":
        answer = {"result": {"protocolVersion": 1, "authMethods": METHODS}}
    elif asked.get("method") == "authenticate":
        open(DONE, "w").write(asked["params"]["methodId"])
    elif asked.get("method") == "session/new":
        answer = {"error": {"code": -32000, "message": "Authentication required: no key"}}
    if "id" in asked:
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], **answer}), flush=True)
"""

KEY = {"id": "key", "name": "API key", "description": "Put it into MAKER_API_KEY"}
BROWSER = {"id": "browser", "name": "Browser"}
TERMINAL = {"id": "tty", "name": "In a terminal", "type": "terminal", "args": ["--login"]}
VARIABLE = {"id": "env", "name": "Variable", "type": "env_var", "vars": [{"name": "OTHER_TOKEN"}]}


def offering(folder: Path, *methods: Mapping[str, object]) -> str:
    """The command line of an agent that wants a login and offers these; `done` tells which was used."""
    program = AGENT.replace("METHODS", json.dumps(methods)).replace("DONE", repr(str(folder / "done")))
    (folder / "agent.py").write_text(program, encoding="utf-8")
    return f"{sys.executable} {folder / 'agent.py'}"


def log_in(folder: Path, agent: str, *words: str) -> subprocess.CompletedProcess[str]:
    return run_command("agents", "login", agent, *words, cwd=folder, env=home(folder))


@together
def test_the_method_that_was_chosen_is_the_one_that_the_agent_is_asked_for(tmp_path: Path) -> None:
    done = log_in(tmp_path, offering(tmp_path, KEY, BROWSER), "browser")
    assert (done.returncode, (tmp_path / "done").read_text()) == (0, "browser")
    assert "reports a successful login" in done.stdout


@together
def test_the_only_method_needs_no_name(tmp_path: Path) -> None:
    done = log_in(tmp_path, offering(tmp_path, BROWSER))
    assert (done.returncode, (tmp_path / "done").read_text()) == (0, "browser")


@pytest.mark.parametrize("words", [(), ("none-such",)])
@together
def test_a_choice_that_is_missing_or_wrong_is_answered_with_the_commands(
    words: tuple[str, ...], tmp_path: Path
) -> None:
    agent = offering(tmp_path, KEY, TERMINAL, VARIABLE)
    done = log_in(tmp_path, agent, *words)
    assert done.returncode == 2
    assert f"dragoman agents login '{agent}' key    API key: Put it into MAKER_API_KEY\n" in done.stderr
    assert f"dragoman agents login '{agent}' tty    In a terminal (in a terminal)\n" in done.stderr
    assert "export MAKER_API_KEY=…, and pass it with --env MAKER_API_KEY\n" in done.stderr
    assert "export OTHER_TOKEN=…" in done.stderr
    assert not (tmp_path / "done").exists()


@together
def test_a_login_by_variable_names_the_variable(tmp_path: Path) -> None:
    done = log_in(tmp_path, offering(tmp_path, KEY, VARIABLE), "env")
    assert done.returncode == 1
    assert "export OTHER_TOKEN=…" in done.stderr


@together
def test_a_login_in_a_terminal_is_refused_where_there_is_none(tmp_path: Path) -> None:
    done = log_in(tmp_path, offering(tmp_path, TERMINAL), "tty")
    assert (done.returncode, "needs a terminal" in done.stderr) == (1, True)


@together
def test_a_login_in_a_terminal_gets_the_terminal(tmp_path: Path) -> None:
    command = [*DRAGOMAN, "agents", "login", offering(tmp_path, TERMINAL), "tty"]
    held = Held(command, tmp_path)
    try:
        held.wait_for(lambda: "Who are you?" in held.shown, "the question")
        held.type("me\n")
        held.wait_for(lambda: held.process.poll() is not None, "the end")
        assert (held.process.returncode, (tmp_path / "done").read_text()) == (0, "terminal me")
    finally:
        held.close()


@together
def test_run_names_commands_that_can_be_typed_and_says_nothing_twice(tmp_path: Path) -> None:
    agent = offering(tmp_path, KEY, TERMINAL)
    done = run("--no-history", "--agent", agent, "hello", folder=tmp_path)
    assert done.status == 8
    assert f"dragoman agents login '{agent}' key    API key" in done.err
    assert "--env MAKER_API_KEY" in done.err
    assert done.err.count("Authentication required: no key") == 1


@together
def test_run_of_the_coder_without_a_model_says_its_paragraph_once(tmp_path: Path) -> None:
    done = run("--no-history", "--agent", "code", "hello", folder=tmp_path)
    assert done.status == 8
    assert done.err.count("no model is configured") == 1
    assert "dragoman agents login code anthropic" in done.err
    assert "export ANTHROPIC_API_KEY=…\n" in done.err
