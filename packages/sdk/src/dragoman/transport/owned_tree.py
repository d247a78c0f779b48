"""Process trees of programs that we started and must end completely.

`OwnedTree` is one started program and its descendants: it tells when the program exits, is ended step by
step, and is gone when nothing is left of it. `owned_trees` lists what is owned now. How a system finds and
ends a tree is in `posix` and `windows`; `launch` starts one.

This module knows processes and seconds, and nothing of frames or pipes.
"""

from __future__ import annotations

import asyncio
import logging
import os
import shlex
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct

from dragoman.transport.contract import Grace
from dragoman.transport.tree import Process
from dragoman.transport.waiters import Waiters

UNKILLABLE = 3.0
"""The seconds after which processes that survive a kill are given up, so that closing always ends."""

logger = logging.getLogger(__name__)


class Program(Struct, frozen=True, kw_only=True):
    """A program to start: a command with three descriptors, which still belong to the caller."""

    command: Sequence[str]
    cwd: str | os.PathLike[str] | None = None
    env: Mapping[str, str] | None = None
    """The whole environment; None passes on our own."""

    files: tuple[int, int, int]


_owned_trees: dict[int, OwnedTree] = {}


def owned_trees() -> list[OwnedTree]:
    """Every tree that this process owns now, oldest first."""
    return sorted(_owned_trees.values(), key=lambda tree: tree.started_at)


class OwnedTree(ABC):
    """One started program and all its descendants."""

    def __init__(
        self, command: Sequence[str], *, pid: int, grace: Grace, on_exit: Callable[[], None]
    ) -> None:
        self.pid = pid
        self.command = list(command)
        self.started_at = time.time()
        self.grace = grace
        self.returncode: int | None = None
        """How the program ended, negative for a signal; None while it runs, and when nobody could tell."""
        self.has_exited = False
        """Whether the program itself has ended; what it started may still run."""
        self.is_gone = False
        """Whether nothing is left of the tree."""
        self.is_halted = False
        """Whether its owner holds it still. It is killed then where it would be asked to end: it may not run
        to hear that.
        """
        self._loop = asyncio.get_running_loop()
        self._on_exit = on_exit
        self._waiters = Waiters()
        _owned_trees[pid] = self

    def _wait_in_thread(self, wait: Callable[[], object], note_exit: Callable[[], None]) -> None:
        """Notice the end of the program where the loop cannot."""

        def run() -> None:
            wait()
            try:
                self._loop.call_soon_threadsafe(note_exit)
            except RuntimeError:  # the loop is closed: nobody asks any more
                return

        threading.Thread(target=run, name=f"wait for {self.pid}", daemon=True).start()

    def __repr__(self) -> str:
        return f"<OwnedTree {self.pid} {shlex.join(self.command)}>"

    @property
    def pgid(self) -> int:
        """The process group; the program leads it."""
        return self.pid

    @abstractmethod
    def processes(self) -> list[Process]:
        """The living processes of the tree, oldest first."""

    @abstractmethod
    def terminate(self) -> None:
        """Ask the whole tree to end."""

    @abstractmethod
    def kill(self) -> None:
        """End the whole tree, without asking."""

    @abstractmethod
    def kill_now(self) -> None:
        """Kill and reap without the loop, when the loop may not run again."""

    async def wait(self, seconds: float | None = None) -> bool:
        """Wait until the whole tree is gone; False if that takes longer than `seconds`."""
        try:
            async with asyncio.timeout(seconds):
                while not self.is_gone:
                    await self._waiters.wait()
        except TimeoutError:
            return False
        return True

    async def aclose(self) -> None:
        """End the tree step by step, and wait until it is gone. A cancellation kills it at once.

        Its first step is to wait: whoever owns the program's input has closed it.
        """
        try:
            if await self.wait(self.grace.after_eof):
                return
            self.terminate()
            if await self.wait(self.grace.after_terminate):
                return
            self.kill()
            if not await self.wait(UNKILLABLE):
                self._abandon()
        except asyncio.CancelledError:
            self.kill_now()
            raise

    def _abandon(self) -> None:
        """What we may not kill (it took another user's identity) or cannot (it hangs in the system) is let
        go.
        """
        pids = [process.pid for process in self.processes()]
        logger.warning("could not end process %d; still running: %s", self.pid, pids)
        self._bury()

    def _bury(self) -> None:
        self.is_gone = True
        _owned_trees.pop(self.pid, None)
        self._waiters.wake()
