"""Small programs that tests start as real processes."""

from __future__ import annotations

import sys

RELAY = """
import os, sys, threading
outward = os.open(sys.argv[1], os.O_WRONLY)
inward = os.open(sys.argv[2], os.O_RDONLY)
def copy(source, target):
    try:
        while chunk := os.read(source, 65536):
            while chunk:
                chunk = chunk[os.write(target, chunk):]
    except OSError:
        pass
    os.close(target)
back = threading.Thread(target=copy, args=(inward, 1), daemon=True)
back.start()
copy(0, outward)
back.join(0.1)
os._exit(0)
"""
"""Joins standard input and output to two FIFOs, so that a test can sit at the far end of a child process."""


def python(program: str, *arguments: str) -> list[str]:
    """The command that runs `program` in a bare interpreter, which starts in ten milliseconds."""
    return [sys.executable, "-I", "-S", "-c", program, *arguments]
