"""The parts under the blocking face: what leaves, who reads, and that the SDK finds what it needs."""

from __future__ import annotations

import ast
import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

import dragoman.sdk
from dragoman.blocking.agent_link import AgentLink
from dragoman.blocking.client_link import ClientLink
from dragoman.blocking.inlet import Inlet
from dragoman.blocking.outbox import ThreadOutbox
from dragoman.blocking.pending_call import ThreadPendingCall
from dragoman.blocking.signals import WakeGate
from dragoman.errors import LinkClosed
from dragoman.runtime import Link

SDK = Path(dragoman.sdk.__file__).parent

# Modules that run a link by themselves, and never meet a blocking one.
OTHERS = {
    *("proxy", "connect", "conversation", "serve", "official", "leaving", "threads"),
    *("supervision", "pool", "known", "kit"),
}


def attributes(of: set[str]) -> set[str]:
    """Every attribute that the SDK takes of something called by one of these names."""
    found = set()
    for path in SDK.rglob("*.py"):
        if path.relative_to(SDK).with_suffix("").parts[0] in OTHERS:
            continue
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Attribute):
                owner = node.value
                name = owner.attr if isinstance(owner, ast.Attribute) else getattr(owner, "id", "")
                if name in of:
                    found.add(node.attr)
    return found


@pytest.mark.parametrize("kind", [ClientLink, AgentLink])
def test_a_blocking_link_offers_what_the_sdk_uses_of_a_link(
    kind: type[object], pipes: tuple[int, int, int, int]
) -> None:
    read_fd, _, _, write_fd = pipes
    link = AgentLink(read_fd, write_fd, None, name="x")  # type: ignore[arg-type]  # nothing arrives here
    used = attributes({"link", "_link"}) & {name for name in dir(Link) if not name.startswith("_")}
    assert {"call", "open_call", "notify", "settle", "outbox", "lanes", "limits"} <= used
    used.discard("wait_ended")  # of `Session.listen`, which has no blocking face
    assert [name for name in used if not (hasattr(kind, name) or hasattr(link, name))] == []
    link.inlet.close()
    link.outbox.close()


def test_a_waiting_call_offers_what_the_sdk_uses_of_one() -> None:
    used = attributes({"context"}) - {"future"}  # awaited by `ask_for`, which threads have of their own
    assert {"is_answered", "done", "add_done_callback"} <= used
    assert [name for name in used if not hasattr(ThreadPendingCall(None, None, None, None), name)] == []


@pytest.fixture
def pipes() -> Iterator[tuple[int, int, int, int]]:
    """The two ends of one pipe, and the two ends of another."""
    made = (*os.pipe(), *os.pipe())
    yield made
    for fd in made:
        try:
            os.close(fd)
        except OSError:
            pass  # whoever owned it has closed it


def never() -> None:
    """Nothing stops this wait but room."""


def test_frames_of_many_threads_leave_whole(pipes: tuple[int, int, int, int]) -> None:
    read_fd, write_fd, _, _ = pipes
    outbox = ThreadOutbox(os.dup(write_fd), wake=never)
    os.close(write_fd)

    def send(letter: bytes) -> None:
        for number in range(200):
            (outbox.add if number % 3 else outbox.gather)(letter * 997 + b"\n")
            outbox.wait_for_room(0, check=never)

    threads = [threading.Thread(target=send, args=(letter,)) for letter in (b"a", b"b", b"c")]
    for thread in threads:
        thread.start()
    received = b""
    while received.count(b"\n") < 600:
        outbox.flush()
        received += os.read(read_fd, 65536)
    for thread in threads:
        thread.join()
    lines = received.splitlines()
    assert {len(line) for line in lines} == {997}
    assert {len(set(line)) for line in lines} == {1}
    outbox.close()


def test_what_the_system_does_not_take_is_kept_and_pushed_on(pipes: tuple[int, int, int, int]) -> None:
    read_fd, write_fd, _, _ = pipes
    woken: list[int] = []
    outbox = ThreadOutbox(os.dup(write_fd), wake=lambda: woken.append(1))
    outbox.add(b"x" * 1_000_000)
    assert outbox.pending > 0
    assert woken
    outbox.add(b"y" * 10)
    taken = b""
    while outbox.pending:
        taken += os.read(read_fd, 65536)
        outbox.push()
    outbox.close()
    os.close(write_fd)
    while chunk := os.read(read_fd, 65536):
        taken += chunk
    assert taken == b"x" * 1_000_000 + b"y" * 10


def test_a_sender_that_waits_for_room_can_be_stopped(pipes: tuple[int, int, int, int]) -> None:
    _, write_fd, _, _ = pipes
    outbox = ThreadOutbox(os.dup(write_fd), wake=never)
    outbox.add(b"x" * 1_000_000)

    def stop() -> None:
        raise InterruptedError

    with pytest.raises(InterruptedError):
        outbox.wait_for_room(0, check=stop)
    outbox.finish(0.01)  # comes to its end though nobody reads
    outbox.close()


def test_a_peer_that_is_gone_breaks_the_way_out(pipes: tuple[int, int, int, int]) -> None:
    read_fd, write_fd, _, _ = pipes
    outbox = ThreadOutbox(os.dup(write_fd), wake=never)
    os.close(read_fd)
    outbox.add(b"lost\n")
    assert "no longer reads" in outbox.broken
    with pytest.raises(LinkClosed):
        outbox.add(b"never\n")
    outbox.close()


def test_a_reader_can_be_woken(pipes: tuple[int, int, int, int]) -> None:
    read_fd, write_fd, _, _ = pipes
    inlet = Inlet(os.dup(read_fd))
    waker = threading.Timer(0.05, inlet.wake)
    waker.start()
    assert inlet.read(5) == (None, False)
    os.write(write_fd, b"news\n")
    assert inlet.read(5) == (b"news\n", False)
    assert inlet.read(0.01) == (None, False)
    waker.join()
    inlet.close()


def test_a_reader_that_does_not_listen_leaves_what_is_there(pipes: tuple[int, int, int, int]) -> None:
    read_fd, write_fd, _, _ = pipes
    inlet = Inlet(os.dup(read_fd))
    os.write(write_fd, b"news\n")
    assert inlet.read(0.01, listen=False) == (None, False)
    assert inlet.read(5) == (b"news\n", False)
    os.close(write_fd)
    assert inlet.read(0.01, listen=False) == (None, False)
    assert inlet.read(5) == (b"", False)
    inlet.close()


def test_a_gate_lets_one_through_for_each_time_it_was_opened() -> None:
    gate = WakeGate()
    assert not gate.wait(0.01)
    gate.open()
    gate.open()
    assert gate.wait(0)
    assert not gate.wait(0)
