"""A program that prints something else than the protocol: the person sees what, harmless and bounded."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from dragoman.testing.pace import patience
from tests.apps.run.run_process import Done, run
from tests.together import SideBySide

pytestmark = pytest.mark.bound(60)

together = SideBySide()


def run_program(folder: Path, program: str, *options: str) -> Done:
    (folder / "program.py").write_text(program, encoding="utf-8")
    agent = f"{sys.executable} {folder / 'program.py'}"
    return run("--no-history", "--agent", agent, *options, "hello", folder=folder)


@together
def test_a_program_that_prints_garbage_and_ends_is_quoted(tmp_path: Path) -> None:
    done = run_program(tmp_path, "print('usage: program [-h]'); print('\\x1b[31mred')")
    assert done.status == 9
    assert "not ACP: usage: program [-h]\n" in done.err
    assert "not ACP: ␛[31mred\n" in done.err
    assert "ended with exit status 0; it printed text that is not ACP" in done.err
    assert "option that turns ACP on" in done.err


@together
def test_a_program_that_prints_garbage_and_stays_is_quoted(tmp_path: Path) -> None:
    program = "import sys; print('Welcome!', flush=True); sys.stdin.read()"
    done = run_program(tmp_path, program, "--start-timeout", f"{patience(2)}")
    assert done.status == 124
    assert "not ACP: Welcome!\n" in done.err


@together
def test_advice_is_about_what_the_program_prints(tmp_path: Path) -> None:
    framed = "import sys; print('Content-Length: 2\\r\\n\\r\\n{}', flush=True); sys.stdin.read()"
    done = run_program(tmp_path, framed, "--start-timeout", f"{patience(2)}")
    assert (done.status, "ACP has one message a line" in done.err) == (124, True)
    retired = run_program(tmp_path, "print('old-cli is no longer maintained. Install new-cli.')")
    assert (retired.status, "install the program that its own message names" in retired.err) == (9, True)
    assert "turns ACP on" not in done.err + retired.err


@together
def test_stray_output_is_bounded(tmp_path: Path) -> None:
    done = run_program(tmp_path, "for n in range(1000): print('x' * 5000)")
    assert done.err.count("not ACP: xxx") == 20
    assert "text that is not ACP, more often than is shown" in done.err
    assert len(done.err) < 10_000


@together
def test_stray_output_is_a_note_among_json_events(tmp_path: Path) -> None:
    done = run_program(tmp_path, "print('Welcome!')", "--format", "json")
    notes = [event["message"] for event in done.named("note")]
    assert "the agent printed text that is not ACP: Welcome!" in notes


UNREADABLE = """
import json, sys
def say(**message): print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)
for line in sys.stdin:
    ask = json.loads(line)
    if ask["method"] == "session/prompt":
        update = {"sessionUpdate": "agent_message_chunk", "content": [{"type": "text", "text": "Hi"}]}
        say(method="session/update", params={"sessionId": "s", "update": update})
    say(id=ask["id"], result={"protocolVersion": 1, "sessionId": "s", "stopReason": "end_turn"})
"""


@together
def test_an_update_that_cannot_be_read_is_told_of(tmp_path: Path) -> None:
    done = run_program(tmp_path, UNREADABLE)
    assert "cannot be read and is left out: session/update: $.update.content: expected object" in done.err
