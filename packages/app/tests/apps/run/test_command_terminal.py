"""In a terminal: colours for people, Ctrl-C that cancels and then ends, and nothing left behind."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from dragoman.testing.pace import patience
from tests.apps.run.run_process import RUN, home, scripted

if sys.platform == "win32":
    pytest.skip("terminals as POSIX has them", allow_module_level=True)

from tests.apps.run.teletype import CTRL_C, in_terminal
from tests.transport.programs import alive


def test_markdown_is_styled_and_thoughts_are_dimmed(tmp_path: Path) -> None:
    agent = scripted(tmp_path, 'agent pretty\non prompt\n  think "hm"\n  say "a **bold** word"\n')
    with in_terminal("--agent", agent, "Hello", folder=tmp_path) as person:
        assert person.wait() == 0
    assert "\x1b[2mhm\x1b[0m" in person.shown
    assert "\x1b[1mbold" in person.shown
    assert "done" in person.shown


@pytest.mark.parametrize("how", ["option", "variable", "dumb"])
def test_no_colour_for_whoever_wants_none(how: str, tmp_path: Path) -> None:
    more = {"option": {}, "variable": {"NO_COLOR": "1"}, "dumb": {"TERM": "dumb"}}[how]
    arguments = ["--no-color"] if how == "option" else []
    env = home(tmp_path) | more
    with in_terminal("--agent", "echo", *arguments, "a **bold** word", folder=tmp_path, env=env) as person:
        assert person.wait() == 0
    assert "You said: a **bold** word" in person.shown
    assert "\x1b" not in person.shown


def test_tool_calls_come_with_status_and_diff_and_the_plan_with_marks(tmp_path: Path) -> None:
    diff = json.dumps({"type": "diff", "path": "/a.txt", "oldText": "one\n", "newText": "two\n"})
    done = '"sessionUpdate": "tool_call_update", "toolCallId": "t", "status": "completed"'
    update = f'{{{done}, "content": [{diff}]}}'
    script = f'agent busy\non prompt\n  plan Look\n  tool "Change it" id=t kind=edit\n    update {update}\n'
    with in_terminal("--agent", scripted(tmp_path, script), "--no-color", "x", folder=tmp_path) as person:
        assert person.wait() == 0
    assert "☐ Look" in person.shown
    assert "✓ Change it (edit)" in person.shown
    assert "-one\n+two" in person.shown


def test_ctrl_c_cancels_the_turn_and_waits(tmp_path: Path) -> None:
    agent = scripted(tmp_path, "agent slow\non prompt\n  say working\n  until cancelled\n  say stopped\n")
    with in_terminal("--agent", agent, "Hello", folder=tmp_path) as person:
        person.read_until("working")
        person.type(CTRL_C)
        person.read_until("Ctrl-C again")
        assert person.wait() == 130
    assert "stopped" in person.shown  # what it said meanwhile was waited for


def test_ctrl_c_twice_ends_an_agent_that_does_not_listen(tmp_path: Path) -> None:
    agent = scripted(tmp_path, "agent deaf\non prompt\n  say working\n  linger\n  deaf\n  wait 60\n")
    with in_terminal("--agent", agent, "Hello", folder=tmp_path) as person:
        person.read_until("working")
        person.type(CTRL_C)
        person.read_until("Ctrl-C again")
        person.type(CTRL_C)
        assert person.wait(seconds=15) == 130
    assert "ending the agent" in person.shown


def test_ctrl_c_before_the_turn_ends_everything(tmp_path: Path) -> None:
    agent = scripted(tmp_path, "agent mute\non initialize\n  complain ready\n  unanswered\n")
    with in_terminal("--agent", agent, "--verbose", "Hello", folder=tmp_path) as person:
        person.read_until("ready")
        person.type(CTRL_C)
        assert person.wait(seconds=15) == 130


LOCKED = """
import json, os, pathlib, sys
key = pathlib.Path("key")
if "--login" in sys.argv:
    assert os.isatty(0)
    key.write_text(os.environ["WHERE"])
    sys.exit(0)
open("starts", "a").write("x")
for line in sys.stdin:
    asked = json.loads(line)
    answer = {"result": {}}
    if asked["method"] == "initialize":
        login = {"type": "terminal", "id": "tty", "name": "In a terminal"}
        login |= {"args": ["--login"], "env": {"WHERE": "here"}}
        answer = {"result": {"protocolVersion": 1, "agentCapabilities": {}, "authMethods": [login]}}
    elif asked["method"] == "session/new":
        refused = {"error": {"code": -32000, "message": "Log in first"}}
        answer = {"result": {"sessionId": "s"}} if HAS_KEY == "here" else refused
    elif asked["method"] == "session/prompt":
        answer = {"result": {"stopReason": "end_turn"}}
    print(json.dumps({"jsonrpc": "2.0", "id": asked.get("id"), **answer}), flush=True)
"""


@pytest.mark.parametrize("helps", [True, False])
def test_after_a_login_in_the_terminal_the_agent_is_started_again_once(helps: bool, tmp_path: Path) -> None:
    # It looks for its key when it starts, as agents do.
    has_key = "key.exists() and key.read_text()" if helps else "None"
    program = LOCKED.replace('open("starts"', f'HAS_KEY = {has_key}\nopen("starts"')
    (tmp_path / "locked.py").write_text(program)
    agent = f"{sys.executable} locked.py"
    with in_terminal("--agent", agent, "--no-color", "Hello", folder=tmp_path) as person:
        assert person.wait() == (0 if helps else 8)
    assert "started again" in person.shown
    assert (tmp_path / "starts").read_text() == "xx"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_the_run_and_the_agent_within_seconds(number: int, tmp_path: Path) -> None:
    with subprocess.Popen(
        [*RUN, "--agent", "echo", "/child 1000"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        cwd=tmp_path,
        env=home(tmp_path),
    ) as process:
        assert process.stdout is not None
        said = os.read(process.stdout.fileno(), 100).decode()
        child = int(said.split()[1].rstrip("."))
        process.send_signal(number)
        assert process.wait(timeout=patience(10)) == 143
        _gone(child)


def _gone(pid: int) -> None:
    give_up = time.monotonic() + patience(5)
    while alive(pid):
        assert time.monotonic() < give_up, f"process {pid} was left behind"
        time.sleep(0.01)
