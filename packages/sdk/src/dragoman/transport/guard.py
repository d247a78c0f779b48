"""A guard process for a process tree: when its owner ends, even by a crash, the guard ends the tree.

Nothing can be done in a process that was killed, so somebody else must watch. The guard is a shell that
waits on a pipe whose other end only the owner holds: no polling, under a megabyte, about a millisecond to
start. When the pipe closes it becomes a Python that runs `tree.py`. It lives in a session of its own, so
that a signal meant for the owner's group does not take it along.

The system's own means do less. `PR_SET_PDEATHSIG` needs code to run between fork and exec, fires when the
*thread* that forked ends, and reaches the child but none of its children. `PR_SET_CHILD_SUBREAPER` would make
every orphan of the whole application ours to reap.

A dismissed guard is killed, never asked: it holds nothing, and the tree is gone by then. On Windows the
system itself does this work (see `windows`).
"""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import suppress

from dragoman.transport import tree

SCRIPT = """
read -r root start
read -r _
[ -x "$1" ] && "$1" -I -S "$2" "${root:-0}" "${start:-0}" "$3" </dev/null && exit
[ "${root:-0}" -gt 1 ] && kill -s KILL -- "-$root"
"""
"""The guard's program. It waits for the tree's root, which starts after the guard, and then for the end of
the owner. If Python is gone by then (an upgrade, a removed environment), the process group at least is ended.
"""

_pipes: set[int] = set()


def _let_go_in_copies() -> None:
    """A copy of the owner, made by `fork`, holds the pipes too: a guard would wait for the end of both."""
    while _pipes:
        os.close(_pipes.pop())


os.register_at_fork(after_in_child=_let_go_in_copies)


def _interpreter() -> str:
    """The Python to run `tree.py` with; a frozen application is not Python, and would start itself again."""
    return "" if getattr(sys, "frozen", False) else sys.executable or ""


class TreeGuard:
    """Watches one tree. It starts before the tree, so that the tree is always guarded."""

    __slots__ = ("_pipe", "_shell")

    def __init__(self, mark: str) -> None:
        self._shell: subprocess.Popen[bytes] | None = None
        read_end, self._pipe = os.pipe()
        _pipes.add(self._pipe)
        words = ["/bin/sh", "-c", SCRIPT, "dragoman-guard", _interpreter(), tree.__file__, mark]
        try:
            self._shell = subprocess.Popen(
                words,
                stdin=read_end,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                cwd="/",  # or it would keep a file system from being unmounted
                env={},
                start_new_session=True,
            )
        except OSError as error:  # a system without a shell, or without room for one more process
            import logging  # here, because it takes longer to load than the guard to start

            logging.getLogger(__name__).warning("no guard for a process tree, should we be killed: %s", error)
        finally:
            os.close(read_end)

    def watch(self, root: int, *, start: int) -> None:
        """Tell the guard the root process of the tree."""
        with suppress(OSError):  # somebody killed the guard; the tree has lost its net, nothing more
            os.write(self._pipe, f"{root} {start}\n".encode())

    def dismiss(self) -> None:
        """End the guard, because its tree is gone."""
        if self._shell is not None:
            self._shell.kill()  # before its pipe closes, or it would go to work
            self._shell.wait()
        if self._pipe in _pipes:
            _pipes.remove(self._pipe)
            os.close(self._pipe)
        self._pipe = -1
