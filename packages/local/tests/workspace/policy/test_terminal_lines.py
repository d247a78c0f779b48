import asyncio
import os
import pty
import termios
from collections.abc import Iterator
from pathlib import Path

import pytest

from dragoman_local.workspace.policy.terminal import TerminalLines


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    reading, writing = os.pipe()
    yield reading, writing
    os.close(reading)
    try:
        os.close(writing)
    except OSError:
        pass  # the test closed it


async def test_lines_come_one_by_one_and_then_nothing(pipe: tuple[int, int]) -> None:
    lines = TerminalLines(pipe[0])
    os.write(pipe[1], "one\r\ntwo ü\n\nlast".encode())
    assert [await lines.read() for _ in range(3)] == ["one", "two ü", ""]
    os.close(pipe[1])
    assert await lines.read() == "last"
    assert await lines.read() is None
    assert await lines.read() is None


async def test_a_line_in_pieces_is_one_line(pipe: tuple[int, int]) -> None:
    lines = TerminalLines(pipe[0])
    reading = asyncio.create_task(lines.read())
    for piece in (b"on", b"e t", b"wo\nthree\n"):
        os.write(pipe[1], piece)
        await asyncio.sleep(0)
    assert await reading == "one two"
    assert await lines.read() == "three"


async def test_waiting_can_be_given_up_and_loses_nothing(pipe: tuple[int, int]) -> None:
    lines = TerminalLines(pipe[0])
    os.write(pipe[1], b"half ")
    reading = asyncio.create_task(lines.read())
    with pytest.raises(TimeoutError):  # gives it up in the middle of a line
        await asyncio.wait_for(reading, 0.05)
    os.write(pipe[1], b"whole\n")
    assert await lines.read() == "half whole"


async def test_a_plain_file_can_be_read_too(tmp_path: Path) -> None:
    (tmp_path / "answers").write_text("1\n2\n")
    descriptor = os.open(tmp_path / "answers", os.O_RDONLY)
    try:
        lines = TerminalLines(descriptor)
        assert [await lines.read() for _ in range(3)] == ["1", "2", None]
    finally:
        os.close(descriptor)


async def test_a_secret_is_not_echoed_and_the_terminal_is_given_back() -> None:
    ours, theirs = pty.openpty()
    try:
        lines = TerminalLines(theirs)
        reading = asyncio.create_task(lines.read(secret=True))
        await asyncio.sleep(0)  # it begins to wait
        assert not termios.tcgetattr(theirs)[3] & termios.ECHO
        os.write(ours, b"hunter2\n")
        assert await reading == "hunter2"
        assert termios.tcgetattr(theirs)[3] & termios.ECHO
        os.set_blocking(ours, False)
        try:
            shown = os.read(ours, 1000)
        except BlockingIOError:
            shown = b""
        assert b"hunter2" not in shown
    finally:
        os.close(ours)
        os.close(theirs)


async def test_a_terminal_that_hangs_up_is_the_end() -> None:
    ours, theirs = pty.openpty()
    try:
        reading = asyncio.create_task(TerminalLines(theirs).read())
        await asyncio.sleep(0)
        os.close(ours)
        assert await reading is None
    finally:
        os.close(theirs)
