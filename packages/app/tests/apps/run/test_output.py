"""Much output: all of it in order, in bounded memory, at the pace of whoever reads it."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from dragoman.testing.pace import patience
from tests.apps.run.run_process import RUN, home, scripted

MEBIBYTE = 1024 * 1024
MANY = 3_000

if not sys.platform.startswith("linux"):
    pytest.skip("memory is looked up in /proc", allow_module_level=True)


@contextmanager
def running(folder: Path, *arguments: str) -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(
        [*RUN, "--agent", "echo", *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        cwd=folder,
        env=home(folder),
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def most_memory(pid: int) -> int:
    """Bytes that it ever had, while it lives."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    raise AssertionError("it has ended")


@pytest.mark.parametrize("how", ["text", "json"])
def test_every_update_is_shown_in_order(how: str, tmp_path: Path) -> None:
    with running(tmp_path, "--format", how, f"/stream {MANY}") as process:
        assert process.stdout is not None
        said = process.stdout.read()
        assert process.wait(timeout=patience(30)) == 0
    if how == "json":
        events = [json.loads(line) for line in said.splitlines()]
        said = b"".join(event["text"].encode() for event in events if event["event"] == "text")
    assert [int(word) for word in said.split()] == list(range(MANY))


def test_a_reader_that_waits_makes_the_agent_wait(tmp_path: Path) -> None:
    with running(tmp_path, "/stream 8192 4096") as process:
        assert process.stdout is not None
        fd = process.stdout.fileno()
        received = len(os.read(fd, 1))
        before = most_memory(process.pid)
        _stands_still(process.pid)
        grown = most_memory(process.pid) - before
        assert grown < 24 * MEBIBYTE
        while data := os.read(fd, MEBIBYTE):
            received += len(data)
        assert process.wait(timeout=patience(30)) == 0
        assert received == 32 * MEBIBYTE + 1  # and the end of the last line


def _stands_still(pid: int) -> None:
    """Until it has done nothing for a while: then it has taken all that it takes."""
    used, calm = -1, 0
    while calm < 4:
        now = sum(map(int, Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[11:13]))
        calm = calm + 1 if now == used else 0
        used = now
        time.sleep(0.2)  # what does not happen cannot be waited for


def test_where_both_streams_are_one_a_message_of_ours_begins_a_line(tmp_path: Path) -> None:
    agent = scripted(tmp_path, 'agent x\non prompt\n  say "half a sentence"\n  die\n')
    for options in ([], ["--format", "quiet"]):
        done = subprocess.run(
            [*RUN, "--agent", agent, *options, "hi"],
            cwd=tmp_path,
            env=home(tmp_path),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=patience(50),
            check=False,
        )
        assert done.stdout.splitlines()[0] == "half a sentence"
        assert done.stdout.splitlines()[1].startswith("dragoman run: ")
