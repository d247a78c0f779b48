"""Every kind of descriptor takes what it can at once, and none makes a writer wait."""

from __future__ import annotations

import os
import pty
import socket
from pathlib import Path

import pytest

from dragoman.transport.file_outlet import FileOutlet, writable

BLOCK = b"x" * 10_000


def fill(outlet: FileOutlet) -> int:
    """Write until there is no room; hangs, and so fails, if a write waits."""
    taken = 0
    try:
        for _ in range(10_000):
            taken += outlet.put(BLOCK)
    except BlockingIOError:
        return taken
    pytest.fail("it never had enough")


def test_a_pipe_of_our_own_is_written_to_as_it_is() -> None:
    read, write = os.pipe()
    os.set_blocking(write, False)
    outlet = FileOutlet(write)
    assert outlet.fd == write
    assert fill(outlet) > 0
    outlet.close()
    os.close(read)


def test_an_inherited_pipe_is_opened_anew_and_keeps_its_mode() -> None:
    read, write = os.pipe()
    shared = os.dup(write)
    outlet = FileOutlet(write)
    assert fill(outlet) > 0
    assert os.get_blocking(shared)
    assert not os.get_inheritable(outlet.fd)
    outlet.close()
    os.close(shared)
    assert len(os.read(read, 100)) == 100
    os.close(read)


def test_a_pipe_that_cannot_be_opened_anew_is_asked_for_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(FileOutlet, "_reopen", lambda self: False)
    read, write = os.pipe()
    outlet = FileOutlet(write)
    assert fill(outlet) >= 61_440
    assert os.get_blocking(outlet.fd)
    os.close(read)
    with pytest.raises(BrokenPipeError):
        outlet.put(BLOCK)
    outlet.close()


def test_a_socket_is_told_with_each_call_not_to_wait() -> None:
    ours, theirs = socket.socketpair()
    outlet = FileOutlet(ours.detach())
    assert fill(outlet) > 0
    assert os.get_blocking(outlet.fd)
    theirs.close()
    with pytest.raises(OSError, match="Broken pipe"):
        outlet.put(BLOCK)
    outlet.close()


def test_a_terminal_is_asked_for_room_and_stays_the_same_terminal() -> None:
    ours, theirs = pty.openpty()
    for fd, other in ((ours, theirs), (theirs, ours)):
        outlet = FileOutlet(os.dup(fd))
        assert outlet.put(b"hello\n") == 6
        assert b"hello" in os.read(other, 100)
        outlet.close()
    os.close(ours)
    os.close(theirs)


def test_a_file_takes_everything(tmp_path: Path) -> None:
    outlet = FileOutlet(os.open(tmp_path / "out", os.O_WRONLY | os.O_CREAT))
    assert outlet.put(BLOCK) == len(BLOCK)
    outlet.close()
    outlet.close()
    assert (tmp_path / "out").read_bytes() == BLOCK


def test_a_full_disk_is_an_error_and_not_a_wait() -> None:
    outlet = FileOutlet(os.open("/dev/full", os.O_WRONLY))
    with pytest.raises(OSError, match="No space left"):
        outlet.put(BLOCK)
    outlet.close()


def test_writable_waits_no_longer_than_it_is_told() -> None:
    read, write = os.pipe()
    assert writable(write)
    os.set_blocking(write, False)
    fill(FileOutlet(write))
    assert not writable(write, seconds=0.01)
    os.close(read)
    assert writable(write)  # to fail at once
    os.close(write)
