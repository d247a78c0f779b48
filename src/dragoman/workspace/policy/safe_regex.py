"""Whether a text matches a pattern that a stranger wrote, in bounded time.

A pattern can be made so that checking it never ends, and nothing in this process could stop that. So it is
checked in a process of its own, which ends after its time whatever it does, even if we are gone. A pattern
that cannot be checked (too slow, or written for another engine) gives None: the agent checks again anyway.
"""

from __future__ import annotations

import subprocess
import sys
from typing import Final

SECONDS: Final = 3.0

_CHECK: Final = """
import re, signal, sys
if hasattr(signal, "alarm"):
    signal.alarm(10)
pattern, _, text = sys.stdin.buffer.read().decode("utf-8", "surrogatepass").partition("\\0")
try:
    found = re.search(pattern, text)
except (re.error, RecursionError, OverflowError):
    sys.exit(3)
sys.exit(0 if found else 1)
"""


def matches(pattern: str, text: str, *, seconds: float = SECONDS) -> bool | None:
    """Whether the pattern is found in the text (as JSON Schema says: anywhere), or None if nobody knows."""
    if "\0" in pattern:
        return None
    input_bytes = f"{pattern}\0{text}".encode("utf-8", "surrogatepass")
    try:
        process = subprocess.run(
            [sys.executable, "-I", "-S", "-c", _CHECK],
            input=input_bytes,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=seconds,
            check=False,
        )
    except (subprocess.TimeoutExpired, OSError):
        return None
    return {0: True, 1: False}.get(process.returncode)
