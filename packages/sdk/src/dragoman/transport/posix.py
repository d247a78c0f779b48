"""An owned process tree on POSIX: it has its own session and a guard process, and is swept at the end.
`program_start` starts its program.

The program's exit is noticed through a pidfd, or by a waiting thread where there is none. Then what it left
running is ended, and the program is reaped last: until then its number, which is also the number of its
group, cannot be given to anybody else.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable

from dragoman.transport import tree
from dragoman.transport.contract import Grace
from dragoman.transport.owned_tree import UNKILLABLE, OwnedTree
from dragoman.transport.program_start import StartedProgram

POLL = 0.01
"""The seconds between two checks for remaining processes: the system does not report the end of processes
that are not our children.
"""


class PosixTree(OwnedTree):
    """A tree that is found by session, descent and mark (see `tree`)."""

    def __init__(self, started: StartedProgram, *, grace: Grace, on_exit: Callable[[], None]) -> None:
        super().__init__(started.command, pid=started.process.pid, grace=grace, on_exit=on_exit)
        self._mark, self._start = started.mark, started.start_time
        self._guard, self._program = started.guard, started.process
        self._killing = False
        self._pidfd = self._watch()

    def processes(self) -> list[tree.Process]:
        return [] if self.is_gone else tree.members(self.pid, start=self._start, mark=self._mark)

    def terminate(self) -> None:
        if self.is_halted:
            self.kill()
        else:
            _ask_to_end(self.processes())

    def kill(self) -> None:
        self._killing = True
        tree.send(signal.SIGKILL, self.processes())

    def kill_now(self) -> None:
        if not self.is_gone:
            self._killing = True
            tree.kill_tree(self.pid, start=self._start, mark=self._mark)
            self._note_exit()
            if not self.is_gone:
                self._abandon()

    def _watch(self) -> int:
        if hasattr(os, "pidfd_open"):
            try:
                pidfd = os.pidfd_open(self.pid)
            except OSError:  # an old kernel, or a sandbox that forbids it
                pass
            else:
                self._loop.add_reader(pidfd, self._note_exit)
                return pidfd
        self._wait_in_thread(self._program.wait, self._note_exit)
        return -1

    def _unwatch(self) -> None:
        if self._pidfd >= 0:
            if not self._loop.is_closed():  # an owner may outlive its loop, and end the tree afterwards
                self._loop.remove_reader(self._pidfd)
            os.close(self._pidfd)
            self._pidfd = -1

    def _note_exit(self) -> None:
        if self.has_exited:
            return
        self.returncode = self._peek()
        self.has_exited = True
        self._unwatch()
        self._sweep(self._loop.time() + self.grace.leftovers, is_asked=False)
        self._on_exit()

    def _peek(self) -> int | None:
        """How the program ended, without reaping it."""
        if self._program.returncode is not None or not hasattr(os, "waitid"):
            return self._program.poll()
        try:
            status = os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOWAIT | os.WNOHANG)
        except ChildProcessError:  # somebody else reaped it, and has the answer
            return None
        if status is None:
            return None
        return status.si_status if status.si_code == os.CLD_EXITED else -status.si_status

    def _sweep(self, deadline: float, *, is_asked: bool) -> None:
        """End what the program left running: ask once, look again and again, and kill when time is up."""
        if self.is_gone:
            return
        processes = self.processes()
        if not processes:
            self._bury()
            return
        if self._loop.time() > deadline + UNKILLABLE:
            self._abandon()
            return
        if self._killing or self.is_halted or self._loop.time() > deadline:
            tree.send(signal.SIGKILL, processes)
        elif not is_asked:
            _ask_to_end(processes)
        self._loop.call_later(POLL, lambda: self._sweep(deadline, is_asked=True))

    def _abandon(self) -> None:
        super()._abandon()
        # Should it end after all, it must not stay a zombie.
        threading.Thread(target=self._program.wait, name=f"reap {self.pid}", daemon=True).start()

    def _bury(self) -> None:
        self._unwatch()
        self._program.poll()
        self._guard.dismiss()
        super()._bury()


def _ask_to_end(processes: list[tree.Process]) -> None:
    """Stopped processes are continued, or they could not hear it."""
    tree.send(signal.SIGTERM, processes)
    tree.send(signal.SIGCONT, processes)
