"""Programs that we started, and the duty to end all of what they become.

`OwnedTree` starts a program in a session of its own with a guard beside it, tells when the program exits,
ends what it left running, and reaps it last: while the exited program is not reaped, its number, which is
also the number of its group, cannot be given to anybody else. `owned_trees` lists what is owned now.

This module knows processes and signals, and nothing of frames or pipes. POSIX; `windows` does the same there.
"""

from __future__ import annotations

import asyncio
import os
import secrets
import shlex
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from dragoman.transport import tree
from dragoman.transport.guard import Guard
from dragoman.transport.waiting import Waiters


@dataclass(frozen=True, slots=True, kw_only=True)
class Grace:
    """Seconds that a program gets to end by itself, at each step of being ended."""

    after_eof: float = 2.0
    """From the end of its input to SIGTERM."""

    after_terminate: float = 2.0
    """From SIGTERM to SIGKILL."""

    leftovers: float = 0.3
    """From the program's own exit to the end of what it left running; those had their EOF or their parent's
    word.
    """


DEFAULT_GRACE = Grace()

POLL = 0.01
"""Seconds between two looks at leftovers. They are not our children, so the system does not tell us when
they end.
"""

_owned: dict[int, OwnedTree] = {}


def owned_trees() -> list[OwnedTree]:
    """Every tree that this process owns now, oldest first."""
    return sorted(_owned.values(), key=lambda one: one.started)


class OwnedTree:
    """One started program and everything that came of it."""

    def __init__(
        self,
        command: Sequence[str],
        *,
        cwd: str | os.PathLike[str] | None,
        env: Mapping[str, str] | None,
        files: tuple[int, int, int],
        grace: Grace,
        exited: Callable[[], None],
    ) -> None:
        """Start `command` on the three descriptors in `files`, which stay the caller's. Needs a running
        loop.
        """
        self._loop = asyncio.get_running_loop()
        self._mark = secrets.token_hex(8)
        self._guard = Guard(self._mark)
        try:
            self._program = subprocess.Popen(
                command,
                stdin=files[0],
                stdout=files[1],
                stderr=files[2],
                cwd=cwd,
                env=self._marked(os.environ if env is None else env),
                close_fds=True,
                start_new_session=True,  # the program's number becomes the number of its session and group
            )
        except BaseException:
            self._guard.dismiss()
            raise
        self.command = list(command)
        self.started = time.time()
        self.pid = self._program.pid
        self.returncode: int | None = None
        self.gone = False
        seen = tree.look_up(self.pid)
        self._start = seen.start if seen else 0
        self._guard.watch(self.pid, start=self._start)
        self.grace = grace
        self._exited = exited
        self._killing = False
        self._has_exited = False
        self._waiters = Waiters()
        self._pidfd = self._watch()
        _owned[self.pid] = self

    def __repr__(self) -> str:
        return f"<OwnedTree {self.pid} {shlex.join(self.command)}>"

    @property
    def pgid(self) -> int:
        """The process group; the program leads it."""
        return self.pid

    @property
    def has_exited(self) -> bool:
        """Whether the program itself has ended; what it started may still run (see `gone`)."""
        return self._has_exited

    def processes(self) -> list[tree.Process]:
        """What is alive of the tree now, the program first."""
        return [] if self.gone else tree.members(self.pid, start=self._start, mark=self._mark)

    def terminate(self) -> None:
        """Ask the whole tree to end; stopped processes are continued, or they could not hear it."""
        alive = self.processes()
        tree.send(signal.SIGTERM, alive)
        tree.send(signal.SIGCONT, alive)

    def kill(self) -> None:
        """End the whole tree, without asking."""
        self._killing = True
        tree.send(signal.SIGKILL, self.processes())

    async def wait(self, seconds: float | None = None) -> bool:
        """Wait until nothing is left of the tree; False when that took longer than `seconds`."""
        try:
            async with asyncio.timeout(seconds):
                while not self.gone:
                    await self._waiters.wait()
        except TimeoutError:
            return False
        return True

    async def aclose(self) -> None:
        """End the tree step by step, and wait until it is gone. Cancelled, it kills at once."""
        try:
            if await self.wait(self.grace.after_eof):
                return
            self.terminate()
            if await self.wait(self.grace.after_terminate):
                return
            self.kill()
            await self.wait()
        except asyncio.CancelledError:
            self.kill_now()
            raise

    def kill_now(self) -> None:
        """Kill and reap without giving the loop a turn; for when nobody may be left to take one."""
        if not self.gone:
            self._killing = True
            tree.kill_tree(self.pid, start=self._start, mark=self._mark)
            self._note_exit()
            self._bury()

    def _marked(self, env: Mapping[str, str]) -> dict[str, str]:
        outer = env.get(tree.MARK)
        return {**env, tree.MARK: f"{outer},{self._mark}" if outer else self._mark}

    def _watch(self) -> int:
        if hasattr(os, "pidfd_open"):
            try:
                pidfd = os.pidfd_open(self.pid)
            except OSError:  # an old kernel, or a sandbox that forbids it
                pass
            else:
                self._loop.add_reader(pidfd, self._note_exit)
                return pidfd
        threading.Thread(target=self._wait_in_thread, name=f"wait for {self.pid}", daemon=True).start()
        return -1

    def _wait_in_thread(self) -> None:
        self._program.wait()
        try:
            self._loop.call_soon_threadsafe(self._note_exit)
        except RuntimeError:  # the loop is closed: nobody asks any more
            return

    def _unwatch(self) -> None:
        if self._pidfd >= 0:
            self._loop.remove_reader(self._pidfd)
            os.close(self._pidfd)
            self._pidfd = -1

    def _note_exit(self) -> None:
        if self._has_exited:
            return
        self.returncode = self._peek()
        self._has_exited = True
        self._unwatch()
        deadline = self._loop.time() + self.grace.leftovers
        self._sweep(deadline, asked=False)
        self._exited()

    def _peek(self) -> int | None:
        """How the program ended, without reaping it."""
        if self._program.returncode is not None:
            return self._program.returncode
        try:
            status = os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOWAIT | os.WNOHANG)
        except ChildProcessError:  # somebody else reaped it, and has the answer
            return None
        if status is None:
            return None
        return status.si_status if status.si_code == os.CLD_EXITED else -status.si_status

    def _sweep(self, deadline: float, *, asked: bool) -> None:
        """End what the program left running: ask once, look again and again, and kill when time is up."""
        if self.gone:
            return
        left = self.processes()
        if not left:
            self._bury()
            return
        if self._killing or self._loop.time() > deadline:
            tree.send(signal.SIGKILL, left)
        elif not asked:
            tree.send(signal.SIGTERM, left)
            tree.send(signal.SIGCONT, left)
        self._loop.call_later(POLL, lambda: self._sweep(deadline, asked=True))

    def _bury(self) -> None:
        self.gone = True
        self._unwatch()
        self._program.poll()
        self._guard.dismiss()
        _owned.pop(self.pid, None)
        self._waiters.wake()
