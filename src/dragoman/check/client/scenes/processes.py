"""Whether a process of this machine has ended."""

from __future__ import annotations

import asyncio
import os

TRIES = 100
BETWEEN = 0.05


async def is_gone(pid: int) -> bool | None:
    """Waits a few seconds for it; None if it cannot be known."""
    if pid <= 0 or os.name == "nt":  # there, asking would end it
        return None
    for _ in range(TRIES):
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        except PermissionError:
            return None
        await asyncio.sleep(BETWEEN)
    return False
