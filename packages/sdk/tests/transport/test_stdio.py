"""The armour around standard output, tried from outside: on real processes with real descriptors."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from dragoman.testing.pace import patience
from dragoman.transport.stdio import NOTICE
from tests.forks import forked

Ends = tuple[tuple[int, int], tuple[int, int]]

ECHO = """
import asyncio, ctypes, os, subprocess, sys, warnings
warnings.simplefilter("ignore")  # newer Pythons warn of a fork beside a thread
from dragoman.transport.stdio import claim_stdio

claim = claim_stdio()

class Echo:
    def feed(self, block):
        transport.write(block.upper())
    def on_oversized(self, size): ...
    def on_end(self, reason):
        over.set()

async def main():
    global transport, over
    over = asyncio.Event()
    transport = claim.open()
    transport.start(Echo())
    await over.wait()
    await transport.aclose()

{stray}
asyncio.run(main())
{after}
"""


def echo(
    *, stray: str = "", after: str = "", given: bytes = b"one\ntwo\n", stderr: int = subprocess.PIPE
) -> subprocess.CompletedProcess[bytes]:
    program = ECHO.replace("{stray}", stray).replace("{after}", after)
    return subprocess.run(
        forked([sys.executable, "-c", program]),
        input=given,
        stdout=subprocess.PIPE,
        stderr=stderr,
        timeout=patience(20),
        check=False,
    )


def test_frames_pass_and_nothing_else_is_said() -> None:
    done = echo()
    assert (done.returncode, done.stdout, done.stderr) == (0, b"ONE\nTWO\n", b"")


@pytest.mark.parametrize(
    "stray",
    [
        "print('stray')",
        "sys.stdout.write('stray'); sys.stdout.flush()",
        "sys.__stdout__.write('stray\\n')",
        "sys.stdout.buffer.write(b'stray'); sys.stdout.buffer.flush()",
        "os.write(1, b'stray')",
        "subprocess.run(['echo', 'stray'])",
        "os.system('echo stray')",
        "ctypes.CDLL(None).write(1, b'stray', 5)",
        "libc = ctypes.CDLL(None); libc.puts(b'stray'); libc.fflush(None)",
        "sys.stdout = open(1, 'w', closefd=False); print('stray', flush=True)",
        "os.fork() or (os.write(1, b'stray'), os._exit(0)); os.wait()",
    ],
)
def test_what_anybody_writes_to_stdout_goes_to_stderr_and_not_to_the_peer(stray: str) -> None:
    done = echo(stray=stray)
    assert done.stdout == b"ONE\nTWO\n"
    assert done.stderr.startswith(NOTICE)
    shown, _, logged = done.stderr.removeprefix(NOTICE).partition(b"kept ")
    assert shown.strip() == b"stray"
    assert logged.startswith((b"5 bytes (0 lines)", b"6 bytes (1 lines)"))
    assert done.returncode == 0


def test_what_was_caught_is_counted() -> None:
    count = (
        "import time\n"
        "while claim.caught_lines < 3: time.sleep(0.01)\n"
        "print(claim.caught_bytes, file=sys.stderr)"
    )
    done = echo(stray="print('a\\nb\\nc')", after=count)
    assert b"\n6\n" in done.stderr
    assert done.stderr.endswith(
        b"kept 6 bytes (3 lines) on standard output away from the protocol; 0 of them were not shown\n"
    )


def test_what_is_printed_last_is_shown_too() -> None:
    done = echo(stray="import atexit; atexit.register(print, 'bye')", after="print('last', end='')")
    assert done.stdout == b"ONE\nTWO\n"
    assert b"last" in done.stderr
    assert b"bye" in done.stderr


def test_nothing_can_be_stolen_from_the_peer_by_reading_stdin() -> None:
    stray = "assert sys.stdin.read() == '' and subprocess.run(['cat'], capture_output=True).stdout == b''"
    assert echo(stray=stray).stdout == b"ONE\nTWO\n"


def test_children_do_not_inherit_the_wire() -> None:
    listing = "import os; print(sorted(os.listdir('/proc/self/fd')), file=__import__('sys').stderr)"
    done = echo(stray=f"subprocess.run([sys.executable, '-c', {listing!r}], close_fds=False)")
    assert b"['0', '1', '2', '3']" in done.stderr


def test_a_closed_stderr_is_survived() -> None:
    closed = ECHO.replace("{stray}", "print('x' * 500_000)").replace("{after}", "")
    command = f'exec "{sys.executable}" -c "$PROGRAM" 2>&-'
    done = subprocess.run(
        ["/bin/sh", "-c", command],
        input=b"one\n",
        stdout=subprocess.PIPE,
        env={**os.environ, "PROGRAM": closed},
        timeout=patience(20),
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, b"ONE\n")


def test_a_stderr_whose_reader_is_gone_is_survived() -> None:
    read, write = os.pipe()
    os.close(read)
    try:
        assert echo(stray="print('x' * 500_000)", stderr=write).stdout == b"ONE\nTWO\n"
    finally:
        os.close(write)


def test_a_stderr_that_nobody_reads_does_not_stop_the_agent() -> None:
    read, write = os.pipe()
    try:
        assert echo(stray="print('x' * 500_000)", stderr=write).stdout == b"ONE\nTWO\n"
    finally:
        os.close(read)
        os.close(write)


def test_files_serve_as_stdin_and_stdout(tmp_path: Path) -> None:
    (tmp_path / "in").write_bytes(b"".join(b"%d\n" % n for n in range(100_000)) + b"end")
    program = ECHO.replace("{stray}", "print('stray')").replace("{after}", "")
    with open(tmp_path / "in", "rb") as given, open(tmp_path / "out", "wb") as taken:
        done = subprocess.run(
            [sys.executable, "-c", program],
            stdin=given,
            stdout=taken,
            stderr=subprocess.PIPE,
            timeout=patience(20),
            check=False,
        )
    assert done.returncode == 0
    assert (tmp_path / "out").read_bytes() == (tmp_path / "in").read_bytes().upper()


def test_an_output_that_is_appended_to_keeps_what_it_had(tmp_path: Path) -> None:
    (tmp_path / "out").write_bytes(b"before\n")
    program = ECHO.replace("{stray}", "").replace("{after}", "")
    with open(tmp_path / "out", "ab") as taken:
        subprocess.run(
            [sys.executable, "-c", program], input=b"one\n", stdout=taken, timeout=patience(20), check=True
        )
    assert (tmp_path / "out").read_bytes() == b"before\nONE\n"


def pipes() -> Ends:
    return os.pipe(), os.pipe()


def sockets() -> Ends:
    given, taken = socket.socketpair(), socket.socketpair()
    return (given[0].detach(), given[1].detach()), (taken[0].detach(), taken[1].detach())


@pytest.mark.parametrize("make", [pipes, sockets])
def test_the_blocking_mode_that_others_rely_on_is_left_alone(make: Callable[[], Ends]) -> None:
    given, taken = make()
    program = ECHO.replace("{stray}", "").replace("{after}", "")
    with subprocess.Popen([sys.executable, "-c", program], stdin=given[0], stdout=taken[1]) as agent:
        os.write(given[1], b"one\n")
        assert os.read(taken[0], 100) == b"ONE\n"  # it runs, and has set up everything
        assert os.get_blocking(given[0])
        assert os.get_blocking(taken[1])
        os.close(given[1])
        assert agent.wait() == 0
    for fd in (given[0], *taken):
        os.close(fd)


def test_claiming_twice_is_claiming_once() -> None:
    assert echo(stray="assert claim_stdio() is claim").returncode == 0


def test_an_agent_without_stdin_and_stdout_ends_at_once() -> None:
    program = ECHO.replace("{stray}", "").replace("{after}", "")
    done = subprocess.run(
        ["/bin/sh", "-c", f'exec "{sys.executable}" -c "$PROGRAM" <&- >&-'],
        env={**os.environ, "PROGRAM": program},
        stderr=subprocess.PIPE,
        timeout=patience(20),
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, b"")
