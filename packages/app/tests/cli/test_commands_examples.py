"""Every example of README and of each `--help` is run as it stands there, and what comes out is looked at."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import select
import shutil
import signal
import struct
import subprocess
import termios
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from dragoman.testing.pace import patience
from dragoman_app.cli.commands import COMMANDS, EXAMPLES
from tests.cli import example_table
from tests.cli.example_stage import Stage, make_stage
from tests.cli.example_table import ELSEWHERE, Shows

README = Path(__file__).parents[4] / "README.md"
HELP = re.compile(r"^examples:\n((?:  .*\n)+)", re.MULTILINE)
BLOCK = re.compile(r"^```(?:sh)?\n(.*?)^```$", re.DOTALL | re.MULTILINE)
CELL = re.compile(r"^\|.*?\| `(dragoman [^`]+)` \|", re.MULTILINE)
NEEDS_BASH = re.compile("completions bash")


def examples_of_help() -> set[str]:
    """Without the remark that stands behind a line, after two blanks."""
    texts = [EXAMPLES, *(command.examples for command in COMMANDS)]
    lines = [line for text in texts for found in HELP.findall(text) for line in found.splitlines()]
    return {re.split(" {2,}", line.strip())[0] for line in lines}


def examples_of_readme() -> set[str]:
    """Those in its blocks and those in the cells of its tables."""
    text = README.read_text("utf-8")
    lines = [line for block in BLOCK.findall(text) for line in block.splitlines()] + CELL.findall(text)
    commands = {re.split(" +#", line)[0].strip() for line in lines}
    return {line for line in commands if re.search(r"(^|\| )dragoman ", line)}


def test_each_example_has_its_expectation() -> None:
    known = example_table.EXAMPLES.keys() | ELSEWHERE.keys()
    examples = examples_of_help() | examples_of_readme()
    assert len(examples) > 150
    assert examples - known == set(), "say what comes out of it in packages/app/tests/cli/example_table.py"
    assert known - examples == set(), "nobody shows it any more"


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Stage:
    return make_stage(tmp_path_factory.mktemp("reader") / "home")


@pytest.fixture(scope="module")
def hub(stage: Stage, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    """The machine of somebody whose hub runs."""
    running = stage.copy(tmp_path_factory.mktemp("hub") / "home")
    process = _start(running, "exec dragoman hub")
    try:
        shown = _read_until(process, re.compile(r"For programs: +(ws://\S+)\n"))
        found = re.search(r"#token=(\S+)\nFor programs: +(ws://\S+)\n", shown)
        assert found is not None
        running.env |= {"DRAGOMAN_TOKEN": found[1], "ADDRESS": found[2]}
        yield running
    finally:
        _stop(process)


ENDING = [line for line, expected in example_table.EXAMPLES.items() if expected.way == "end"]
SERVING = [line for line, expected in example_table.EXAMPLES.items() if expected.way == "serve"]
AT_A_HUB = [line for line, expected in example_table.EXAMPLES.items() if expected.way == "hub"]
SCREENS = [line for line, expected in example_table.EXAMPLES.items() if expected.way == "screen"]


@pytest.mark.parametrize("line", ENDING)
def test_an_example_shows_what_it_promises(line: str, stage: Stage, tmp_path: Path) -> None:
    own = stage.copy(tmp_path / "home")
    check(line, own)


@pytest.mark.parametrize("line", AT_A_HUB)
def test_an_example_for_a_running_hub_shows_what_it_promises(line: str, hub: Stage) -> None:
    if "jq" in line and shutil.which("jq") is None:
        pytest.skip("jq is not installed")
    check(line, hub)


@pytest.mark.parametrize("line", SERVING)
def test_an_example_of_a_server_says_where_it_is(line: str, stage: Stage, tmp_path: Path) -> None:
    own = stage.copy(tmp_path / "home")
    process = _start(own, f"exec {filled_in(line, own)}")
    try:
        expected = re.compile(example_table.EXAMPLES[line].shows)
        assert expected.search(_read_until(process, expected))
    finally:
        assert _stop(process) == 0


@pytest.mark.parametrize("line", SCREENS)
def test_an_example_of_the_terminal_client_draws_it(line: str, stage: Stage, tmp_path: Path) -> None:
    own = stage.copy(tmp_path / "home")
    if example_table.EXAMPLES[line].before:
        assert own.run(example_table.EXAMPLES[line].before).returncode == 0
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 100, 0, 0))
    process = subprocess.Popen(
        ["/bin/sh", "-c", f"exec {filled_in(line, own)}"],
        cwd=own.project,
        env=own.env,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
    )
    os.close(theirs)
    try:
        _read(ours, re.compile(example_table.EXAMPLES[line].shows))
    finally:
        process.send_signal(signal.SIGTERM)
        _drain(ours, process)
        os.close(ours)


def check(line: str, stage: Stage) -> None:
    expected: Shows = example_table.EXAMPLES[line]
    if expected.before:
        assert stage.run(expected.before).returncode == 0
    if expected.given:
        assert talk(line, expected, stage) == expected.status
        return
    done = stage.run(filled_in(line, stage))
    story = f"{line}\nended with {done.returncode}\n{done.stdout}\n{done.stderr}"
    assert done.returncode == expected.status, story
    if expected.file:
        assert re.search(expected.shows, (stage.project / expected.file).read_text("utf-8")), story
    elif expected.shows == "^$":
        assert done.stdout == "", story
    else:
        assert re.search(expected.shows, done.stdout + done.stderr), story


def talk(line: str, expected: Shows, stage: Stage) -> int:
    """Say something to a program, wait for its answer, and hang up; its exit status."""
    process = _start(stage, f"{filled_in(line, stage)} 2>&1", given=expected.given)
    try:
        _read_until(process, re.compile(expected.shows))
        assert process.stdin is not None
        process.stdin.close()
        return process.wait(patience(12))
    finally:
        _stop(process)


def filled_in(line: str, stage: Stage) -> str:
    """What a reader has to fill in: a token, an id, a folder, a port that is free."""
    if "20260102-0304" in line:
        listed = json.loads(stage.run("dragoman sessions --json").stdout)
        newest = listed["sessions"][0]["stream"]
        line = re.sub(r"20260102-0304(05-1a2b3c4d)?", newest, line)
    if NEEDS_BASH.search(line):
        line = f"bash -c '{line}'"
    line = line.replace("…", stage.env.get("DRAGOMAN_TOKEN", ""))
    line = line.replace("ws://127.0.0.1:8765/acp", stage.env.get("ADDRESS", ""))
    return re.sub(r"--listen 127.0.0.1:\d+", "--listen 127.0.0.1:0", line).replace(
        " /backup", f" {stage.home}/backup"
    )


def _start(stage: Stage, line: str, given: str = "") -> subprocess.Popen[bytes]:
    process = subprocess.Popen(
        ["/bin/sh", "-c", line],
        cwd=stage.project,
        env=stage.env,
        stdin=subprocess.PIPE if given else subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    if process.stdin is not None:
        process.stdin.write(given.encode())
        process.stdin.flush()
    return process


def _stop(process: subprocess.Popen[bytes]) -> int:
    process.send_signal(signal.SIGTERM)
    assert process.stdout is not None
    with process.stdout:
        return process.wait(patience(30))


def _read_until(process: subprocess.Popen[bytes], expected: re.Pattern[str]) -> str:
    assert process.stdout is not None
    return _read(process.stdout.fileno(), expected)


def _read(fd: int, expected: re.Pattern[str]) -> str:
    shown, give_up = b"", time.monotonic() + patience(12)
    while not expected.search(text := shown.decode(errors="replace")):
        assert time.monotonic() < give_up, f"it showed no {expected.pattern!r}, but {text!r}"
        if select.select([fd], [], [], 0.1)[0]:
            try:
                data = os.read(fd, 65536)
            except OSError:  # how a terminal ends
                data = b""
            assert data, f"it ended, and showed {text!r}"
            shown += data
    return text


def _drain(fd: int, process: subprocess.Popen[bytes]) -> None:
    """A program that leaves a terminal writes to it, and waits until that is read."""
    give_up = time.monotonic() + patience(30)
    while process.poll() is None and time.monotonic() < give_up:
        if select.select([fd], [], [], 0.1)[0]:
            try:
                os.read(fd, 65536)
            except OSError:
                break
    process.wait(patience(10))
