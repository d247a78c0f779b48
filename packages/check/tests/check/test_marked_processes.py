"""A process is known by a word on its command line until it has ended, whether or not somebody reaped it."""

import subprocess
import sys
from uuid import uuid4

import pytest

from dragoman.testing.pace import patience
from dragoman_check.marked_processes import find, run

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="there is no /proc")


def test_a_process_is_seen_until_it_has_ended() -> None:
    mark = uuid4().hex
    assert find(mark) == []
    words = [sys.executable, "-I", "-S", "-c", "print('begun', flush=True); input()", mark]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        assert process.stdout.readline() == b"begun\n"
        processes = find(mark)
        assert [int(one.name) for one in processes] == [process.pid]
        assert run(processes, mark)
        process.stdin.write(b"\n")
        process.stdin.close()
        assert process.stdout.read() == b""
        process.wait(patience(5))
        assert not run(processes, mark)
