"""A standard error that nobody reads, or that is gone, costs its writers a moment and no more."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator

import pytest

from dragoman.testing.pace import patience
from dragoman.transport.patient import PATIENCE, PatientFile

CLAIM = """
import logging, sys, warnings
{before}
from dragoman.transport.patient import claim_stderr
claim_stderr(2)
{after}
print("done")
"""


def claimed(
    *, before: str = "", after: str, stderr: int = subprocess.PIPE, unbuffered: str = ""
) -> subprocess.CompletedProcess[bytes]:
    program = CLAIM.replace("{before}", before).replace("{after}", after)
    return subprocess.run(
        [sys.executable, "-c", program],
        stdout=subprocess.PIPE,
        stderr=stderr,
        env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
        timeout=patience(20),
        check=False,
    )


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    ends = os.pipe()
    yield ends
    for end in ends:
        os.close(end)


def test_what_has_room_arrives(pipe: tuple[int, int]) -> None:
    file = PatientFile(pipe[1])
    assert file.write(b"a" * 10_000) == 10_000
    assert os.read(pipe[0], 20_000) == b"a" * 10_000
    assert file.dropped_bytes == 0


def test_what_finds_no_room_is_dropped_and_counted(pipe: tuple[int, int]) -> None:
    file = PatientFile(pipe[1])
    assert file.write(b"a" * 1_000_000) == 1_000_000
    taken = len(os.read(pipe[0], 1_000_000))
    assert file.dropped_bytes == 1_000_000 - taken


def test_who_did_not_read_once_is_not_waited_for_again_until_there_is_room(pipe: tuple[int, int]) -> None:
    file = PatientFile(pipe[1])
    file.write(b"a" * 1_000_000)
    writer = threading.Thread(target=lambda: [file.write(b"b") for _ in range(1000)])
    writer.start()
    writer.join(timeout=1000 * PATIENCE / 10)
    assert not writer.is_alive()
    os.read(pipe[0], 1_000_000)
    file.write(b"c")
    assert os.read(pipe[0], 10) == b"c"


def test_a_reader_that_is_gone_is_no_error(pipe: tuple[int, int]) -> None:
    read, write = os.pipe()
    os.close(read)
    file = PatientFile(write)
    file.write(b"abc")
    os.close(write)
    assert file.dropped_bytes == 3


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", "print('é', file=sys.stderr)"),
        ("", "sys.stderr.write('é'); sys.stderr.flush()"),
        ("", "sys.stderr.buffer.write('é'.encode())"),
        ("", "logging.error('é')"),
        ("logging.basicConfig()", "logging.error('é')"),
        (
            "logging.getLogger('a.b').addHandler(logging.StreamHandler())",
            "logging.getLogger('a.b').error('é')",
        ),
        ("", "warnings.warn('é')"),
        ("", "import subprocess; subprocess.run(['echo', 'é'], stdout=sys.stderr)"),
    ],
)
def test_everything_that_python_writes_still_arrives(before: str, after: str) -> None:
    done = claimed(before=before, after=after)
    assert "é".encode() in done.stderr
    assert done.stdout == b"done\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", "print('x' * 500_000, file=sys.stderr)"),
        ("", "[logging.error('x' * 5000) for _ in range(100)]"),
        ("logging.basicConfig()", "[logging.error('x' * 5000) for _ in range(100)]"),
    ],
)
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_pipe_that_nobody_reads_stops_nobody(
    before: str, after: str, unbuffered: str, pipe: tuple[int, int]
) -> None:
    done = claimed(before=before, after=after, stderr=pipe[1], unbuffered=unbuffered)
    assert done.stdout == b"done\n"


def test_what_somebody_else_put_there_is_left_alone() -> None:
    after = "print(type(sys.stderr).__name__)"
    done = claimed(before="import io; sys.stderr = io.StringIO()", after=after)
    assert done.stdout == b"StringIO\ndone\n"


def test_an_exception_that_ends_the_program_is_shown() -> None:
    done = claimed(after="raise ValueError('the last words')")
    assert b"ValueError: the last words" in done.stderr
    assert done.returncode == 1
