"""`run --steer`: lines of standard input into the running turn of each kind of agent."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from tests.apps.run.run_process import run

AGENT = Path(__file__).parents[2] / "steerable_agent.py"


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
