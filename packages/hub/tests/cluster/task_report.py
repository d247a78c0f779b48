"""`dragoman`, with one thing more: on SIGUSR2 it writes to standard error what each of its tasks waits for.

A storm that finds somebody waiting for ever asks all hubs, so that the logs say where.
"""

from __future__ import annotations

import asyncio
import faulthandler
import signal
import sys
from typing import Any


def tell(*_: Any) -> None:
    tasks = asyncio.all_tasks(asyncio.get_running_loop())
    print(f"{len(tasks)} tasks", file=sys.stderr)
    for task in tasks:
        print(f"task {task.get_name()}: {' > '.join(chain(task.get_coro()))}", file=sys.stderr)
    sys.stderr.flush()


def chain(waiting: Any) -> list[str]:
    """From the task's own coroutine to what it waits for in the end."""
    found: list[str] = []
    while waiting is not None and len(found) < 30:
        frame = getattr(waiting, "cr_frame", None) or getattr(waiting, "ag_frame", None)
        if frame is None:
            found.append(repr(waiting)[:80])
            break
        found.append(f"{frame.f_code.co_qualname}:{frame.f_lineno}")
        waiting = getattr(waiting, "cr_await", None) or getattr(waiting, "ag_await", None)
    return found


if __name__ == "__main__":
    from dragoman_app.cli import main

    faulthandler.enable()
    faulthandler.register(signal.SIGUSR1)  # for a hub that does not come to answer the other one
    signal.signal(signal.SIGUSR2, tell)
    sys.exit(main())
