"""What a benchmark program measures about itself: wall time, its own CPU time, its own peak memory.

Standard library only, because every Python peer imports it whatever its environment holds. Linux only: memory
is read from /proc. It knows nothing of the protocol or of any SDK.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from itertools import cycle, islice
from pathlib import Path
from typing import Any

_STATUS = Path("/proc/self/status")


def memory_kb(field: str) -> int:
    """A memory figure of this process in KB: ``VmRSS`` for now, ``VmHWM`` for the highest ever."""
    for line in _STATUS.read_text().splitlines():
        if line.startswith(field + ":"):
            return int(line.split()[1])
    raise LookupError(f"{_STATUS} has no {field}")


class Meter:
    """A stopwatch for wall and CPU, and the baseline that a memory peak is counted from."""

    def __init__(self) -> None:
        self._base_kb = memory_kb("VmRSS")
        self.start()

    def start(self) -> None:
        self._wall = time.perf_counter()
        self._cpu = time.process_time()

    def baseline(self) -> None:
        """Count the memory peak from here on."""
        self._base_kb = memory_kb("VmRSS")

    def read(self) -> dict[str, Any]:
        return {
            "wall": time.perf_counter() - self._wall,
            "cpu": time.process_time() - self._cpu,
            "peak_kb": memory_kb("VmHWM") - self._base_kb,
        }


def percentiles(seconds: list[float]) -> dict[str, float]:
    """The median and the 99th percentile, in microseconds."""
    ordered = sorted(seconds)
    return {
        "p50_us": ordered[len(ordered) // 2] * 1e6,
        "p99_us": ordered[min(len(ordered) - 1, len(ordered) * 99 // 100)] * 1e6,
    }


def load_mix() -> list[dict[str, Any]]:
    """The updates of a replay, in the order in which they repeat."""
    path = Path(__file__).resolve().parent.parent / "data" / "mix.json"
    mix: list[dict[str, Any]] = json.loads(path.read_text())
    return mix


def load_texts(size: int) -> list[str]:
    """What agents say in a stream, in the order in which it repeats: words, quotes, code, letters of several
    scripts. Each text has `size` characters.
    """
    path = Path(__file__).resolve().parent.parent / "data" / "texts.json"
    texts: list[str] = json.loads(path.read_text())[str(size)]
    return texts


def texts_to_say(count: int, size: int) -> Iterator[str]:
    return islice(cycle(load_texts(size)), count)
