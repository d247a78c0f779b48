"""How much of the machine others used while we measured: a busy machine makes wall figures worthless."""

from __future__ import annotations

import os
import resource
import time
from pathlib import Path

TICKS = os.sysconf("SC_CLK_TCK")


class Company:
    """Starts to watch when it is made. Linux only: what all processes used is read from /proc."""

    def __init__(self) -> None:
        self._began = time.monotonic()
        self._all = _used_by_all()
        self._ours = _used_by_us()

    def share(self) -> float:
        """What others used since, as a part of all that the cores could give."""
        could = (time.monotonic() - self._began) * (os.cpu_count() or 1)
        others = (_used_by_all() - self._all) - (_used_by_us() - self._ours)
        return max(0.0, others / could)


def _used_by_all() -> float:
    user, nice, system, _idle, _waiting, *rest = map(int, Path("/proc/stat").read_text().split()[1:9])
    return (user + nice + system + sum(rest)) / TICKS


def _used_by_us() -> float:
    """Children count once they ended; the runner waits for all of them, adopted ones included."""
    usages = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)
