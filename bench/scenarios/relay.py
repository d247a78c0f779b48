"""A relay between a raw producer, which it starts as its agent, and this process, which reads like a client.

The producer writes for a fixed time, so that a fast relay is measured for as long as a slow one. The clock
runs from the first byte to the end; every frame that was produced must arrive.
"""

from __future__ import annotations

import os
import re
import select
import subprocess
import sys
import time

from harness.processes import Failed, piped, stderr_text
from peers.table import Peer
from scenarios.scenario import Scenario

SECONDS = 60
LEAVE_SECONDS = 10
BLOCK = 1 << 16


def _measure(peer: Peer, *, quick: bool) -> dict[str, float]:
    return {"relay.rate": relayed(peer.programs["relay"], quick=quick)}


def relayed(program: list[str], *, quick: bool, greeting: bytes = b"") -> float:
    """Messages a second through a program that is given the producer as its agent; a `greeting` is said to
    it first, and answered.
    """
    producer = [sys.executable, "-m", "peers.raw.produce", "0.5" if quick else "1.5"]
    producer += ["greets"] if greeting else []
    with piped([*program, *producer]) as (process, err):
        assert process.stdout is not None
        if greeting:
            assert process.stdin is not None
            process.stdin.write(greeting)
            process.stdin.flush()
        frames, taken = _consume(process.stdout.fileno(), time.perf_counter() + SECONDS)
        _wait(process)
        said = stderr_text(err)
    produced = re.search(r"^produced (\d+)$", said, re.MULTILINE)
    if produced is None or int(produced[1]) != frames:
        wanted = produced[1] if produced else "an unknown number"
        raise Failed(f"{frames} frames arrived of {wanted}: {said.strip()[-200:]}")
    return frames / taken


def _consume(fd: int, deadline: float) -> tuple[int, float]:
    frames = 0
    began = 0.0
    while True:
        if not select.select([fd], [], [], max(0.0, deadline - time.perf_counter()))[0]:
            raise Failed(f"the relay did not finish within {SECONDS} s; {frames} frames arrived")
        block = os.read(fd, BLOCK)
        if not block:
            return frames, time.perf_counter() - began
        began = began or time.perf_counter()
        frames += block.count(b"\n")


def _wait(process: subprocess.Popen[bytes]) -> None:
    """Until it has said on stderr all that it has to say."""
    assert process.stdin is not None
    process.stdin.close()
    try:
        process.wait(LEAVE_SECONDS)
    except subprocess.TimeoutExpired:
        raise Failed(f"the relay did not leave within {LEAVE_SECONDS} s of its last frame") from None


RELAY = Scenario("relay", ("relay",), _measure)
