"""A fast raw producer: writes update frames without an end in sight, and stops after the given seconds.

Arguments: seconds, and `greets` if it is to answer one request first. On stderr it says how many frames it
wrote, so that a relay that loses one is found out.
"""

from __future__ import annotations

import os
import sys
import time

from peers.raw.frames import update_frame

PER_BLOCK = 400  # about 64 KB, one pipe's worth


WELCOME = (
    b'{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1,"agentCapabilities":{},"authMethods":[],'
    b'"agentInfo":{"name":"producer","version":"1"}}}\n'
)


def main(seconds: float, *, greets: bool) -> None:
    if greets:
        sys.stdin.readline()
        os.write(1, WELCOME)
    block = update_frame("x" * 20) * PER_BLOCK
    blocks = 0
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        left = memoryview(block)
        while left:
            left = left[os.write(1, left) :]
        blocks += 1
    sys.stderr.write(f"produced {blocks * PER_BLOCK + greets}\n")


if __name__ == "__main__":
    main(float(sys.argv[1]), greets="greets" in sys.argv[2:])
