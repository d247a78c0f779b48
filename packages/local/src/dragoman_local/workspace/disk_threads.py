"""Threads for work that may wait for a disk, a few for each folder.

A disk can hang: a share whose server is gone, a card that was pulled out. Then each call takes its thread
with it, whoever gives up waiting, and asyncio's own threads are few: six on two processors. So no folder
holds more than `HELD` of them, and the next callers wait for these. It does not know what is done in them.
"""

from __future__ import annotations

import asyncio
import contextvars
import functools
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final, TypeVar
from weakref import WeakKeyDictionary, WeakValueDictionary

HELD: Final = 4
"""The most threads of one folder. More do not make a disk faster."""

THREADS: Final = 256
"""The most threads of a program with many sessions. Only if 64 folders hang must other work wait for them."""

Result = TypeVar("Result")

_gates: WeakKeyDictionary[asyncio.AbstractEventLoop, WeakValueDictionary[str, asyncio.Semaphore]] = (
    WeakKeyDictionary()
)


def allow_many_threads() -> None:
    """Give the running event loop `THREADS`; each is created when it is first needed."""
    asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(THREADS, "dragoman"))


async def in_disk_thread(
    folder: str, work: Callable[..., Result], /, *arguments: Any, **options: Any
) -> Result:
    """Like `asyncio.to_thread`, for work below this folder. It counts until its end, even
    without a waiter.
    """
    gates = _gates.setdefault(asyncio.get_running_loop(), WeakValueDictionary())
    gate = gates.get(folder)
    if gate is None:
        gate = gates[folder] = asyncio.Semaphore(HELD)
    await gate.acquire()
    call = functools.partial(contextvars.copy_context().run, work, *arguments, **options)
    doing = asyncio.get_running_loop().run_in_executor(None, call)

    def on_end(done: asyncio.Future[Result]) -> None:
        gate.release()
        if not done.cancelled():
            done.exception()  # if nobody waits any more, nobody wants to know

    doing.add_done_callback(on_end)
    return await asyncio.shield(doing)
