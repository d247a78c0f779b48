"""A network of small machines on this one: a namespace for each, joined by a bridge, cut off one at a time.

    with network(6) as machines:
        machines[0].place, machines[0].cut(), machines[0].heal()

Where that is not permitted, all machines are this one, on loopback, and `can_cut` says so.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from dragoman.testing.pace import patience
from tests.nats_servers import Place


@dataclass(frozen=True)
class Machine:
    """`cable` is our end of its only connection; empty if there is none to cut."""

    place: Place
    cable: str = ""

    def cut(self) -> None:
        _ip("link", "set", self.cable, "down")

    def heal(self) -> None:
        _ip("link", "set", self.cable, "up")


class Network(list[Machine]):
    """All of them. `why_not` is empty if they can be cut off."""

    why_not = ""

    @property
    def can_cut(self) -> bool:
        return not self.why_not


@contextmanager
def network(count: int, *, apart: bool = True) -> Iterator[Network]:
    """With `apart`, each has a namespace of its own if that can be."""
    if not apart:
        yield _on_loopback(count, "nobody wanted machines of their own")
        return
    name = f"dg{os.getpid():x}"
    made = Network()
    try:
        try:
            _build(name, count, made)
        except (OSError, subprocess.CalledProcessError) as error:
            said = getattr(error, "stderr", b"") or str(error).encode()
            _tear_down(name, count)
            made = _on_loopback(count, f"namespaces are not permitted here ({said.decode().strip()})")
        yield made
    finally:
        _tear_down(name, count)


def _on_loopback(count: int, why: str) -> Network:
    made = Network([Machine(Place())] * count)
    made.why_not = f"nothing can be cut off: {why}"
    return made


def _build(name: str, count: int, made: Network) -> None:
    pid = os.getpid()
    subnet = f"10.{96 + pid % 32}.{pid // 32 % 256}"
    _ip("link", "add", name, "type", "bridge")
    _ip("addr", "add", f"{subnet}.1/24", "dev", name)
    _ip("link", "set", name, "up")
    for number in range(count):
        room, host = f"{name}-{number}", f"{subnet}.{10 + number}"
        _ip("netns", "add", room)
        _ip("link", "add", room, "type", "veth", "peer", "name", "eth0", "netns", room)
        _ip("link", "set", room, "master", name, "up")
        for words in (f"addr add {host}/24 dev eth0", "link set eth0 up", "link set lo up"):
            _ip("-n", room, *words.split())
        made.append(Machine(Place(host, ("ip", "netns", "exec", room)), room))


def _tear_down(name: str, count: int) -> None:
    """Whatever there is of it; a namespace takes its cable along."""
    for words in [*(("netns", "del", f"{name}-{number}") for number in range(count)), ("link", "del", name)]:
        try:
            _ip(*words)
        except (OSError, subprocess.CalledProcessError):
            continue  # it was never made


def _ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True, timeout=patience(30))
