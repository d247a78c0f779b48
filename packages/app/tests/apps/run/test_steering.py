"""`run --steer`: lines of standard input into the running turn of each kind of agent."""

from __future__ import annotations

import fcntl
import json
import subprocess
import sys
import termios
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dragoman.testing.pace import patience
from tests.apps.run.run_process import RUN, home, run

AGENT = Path(__file__).parents[5] / "tests/steerable_agent.py"


def steer(folder: Path, kind: str, prompt: str, lines: bytes, *more: str) -> tuple[list[Any], str]:
    agent = f"{sys.executable} {AGENT} {kind}"
    done = run(
        *("--agent", agent, "--format", "json", "--no-history", prompt, "--steer", *more),
        folder=folder,
        given=lines,
    )
    assert done.status == 0, done.err
    return [(event["text"], event["outcome"]) for event in done.named("steer")], done.text


@pytest.mark.parametrize(
    ("kind", "outcome", "text"),
    [
        ("steering", "delivered", "hold on | turn left"),
        ("inject", "delivered", "hold on | turn left"),
        ("restart", "will_restart", "cancelledhold on\n\nturn left"),
    ],
)
def test_a_line_reaches_the_running_turn(kind: str, outcome: str, text: str, tmp_path: Path) -> None:
    assert steer(tmp_path, kind, "hold on", b"\nturn left\n") == ([("turn left", outcome)], text)


def test_no_line_is_doubled_when_the_turn_is_short(tmp_path: Path) -> None:
    steers, text = steer(tmp_path, "steering", "go", b"one\ntwo\nthree\n")
    assert [line for line, _ in steers] == ["one", "two", "three"][: len(steers)]
    sent = [line for line, outcome in steers if outcome != "failed"]
    assert [text.count(line) for line in sent] == [1] * len(sent)


def test_a_prompt_from_standard_input_cannot_be_steered_from_there(tmp_path: Path) -> None:
    done = run("--agent", "echo", "-", "--steer", folder=tmp_path, given=b"hello\n")
    assert done.status == 2
    assert "--steer reads standard input while the turn runs" in done.err


def test_a_prompt_behind_the_option_is_the_prompt(tmp_path: Path) -> None:
    agent = f"{sys.executable} {AGENT} steering"
    for steer in (["--steer"], ["--steer", "queue"], ["--steer=restart"]):
        done = run(
            *("--agent", agent, "--format", "json", "--no-history", *steer, "go on", "then"),
            folder=tmp_path,
            given=b"",
        )
        assert (done.status, done.text) == (0, "go on then"), done.err


def wait_until(is_so: Callable[[], bool]) -> None:
    until = time.monotonic() + patience(30)
    while not is_so():
        assert time.monotonic() < until, "it does not happen"
        time.sleep(0.001)


class TypedRun:
    """A run whose standard input is written line by line, while a test looks at its events."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        self.process = subprocess.Popen(
            [*RUN, "--format", "json", "--no-history", *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=folder,
            env=home(folder),
        )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self._input, self._output = self.process.stdin, self.process.stdout

    def wait_for(self, name: str) -> None:
        for line in self._output:
            if json.loads(line)["event"] == name:
                return
        raise AssertionError(f"there was no event {name}")

    def type(self, line: bytes) -> None:
        """Returns when the run has read it."""
        self._input.write(line)
        self._input.flush()
        wait_until(lambda: not any(fcntl.ioctl(self._input, termios.FIONREAD, bytes(4))))

    def rest(self) -> list[Any]:
        with self.process:
            self._input.close()
            return [json.loads(line) for line in self._output]


LINGERING = """
import pathlib, sys, json, time
for line in sys.stdin:
    message = json.loads(line)
    result = {"initialize": {"protocolVersion": 1}, "session/new": {"sessionId": "s"}}
    answer = result.get(message.get("method"), {"stopReason": "end_turn"})
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": answer}), flush=True)
pathlib.Path("left").touch()
while not pathlib.Path("go").exists():
    time.sleep(0.001)
"""


def test_a_line_between_the_end_of_the_turn_and_the_end_of_the_run_is_not_lost(tmp_path: Path) -> None:
    (tmp_path / "agent.py").write_text(LINGERING)
    agent = f"{sys.executable} {tmp_path / 'agent.py'}"
    typed = TypedRun(tmp_path, "--agent", agent, "--end-timeout", str(patience(30)), "go", "--steer")
    wait_until((tmp_path / "left").exists)
    typed.type(b"too late\n")
    (tmp_path / "go").touch()
    *_, steer, end = typed.rest()
    assert (steer["event"], steer["text"], steer["outcome"]) == ("steer", "too late", "failed")
    assert (end["event"], end["outcome"]) == ("end", "end_turn")


def test_lines_are_said_to_the_agent_that_goes_on(tmp_path: Path) -> None:
    agent = f"{sys.executable} {AGENT}"
    typed = TypedRun(
        tmp_path,
        *("--agent", f"{agent} failing", "--continue-with", f"{agent} steering", "hold on", "--steer"),
    )
    typed.wait_for("handover")
    typed.wait_for("session")
    typed.type(b"turn left\n")
    events = typed.rest()
    assert [(event["text"], event["outcome"]) for event in events if event["event"] == "steer"] == [
        ("turn left", "delivered")
    ]
    assert "hold on | turn left" in "".join(event["text"] for event in events if event["event"] == "text")
