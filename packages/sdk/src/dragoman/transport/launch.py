"""Starts programs as owned process trees, and explains in plain words why a program could not start.

The system answers with one number for many causes: a missing program, a missing interpreter of a script and
a missing working directory are all the same to it. `why_not` looks again, and
tells them apart.
"""

from __future__ import annotations

import errno
import os
import shutil
import sys
from collections.abc import Callable

from dragoman.transport.contract import Grace
from dragoman.transport.owned_tree import OwnedTree, Program

if sys.platform == "win32":
    from dragoman.transport.windows import WindowsTree
else:
    from dragoman.transport.posix import PosixTree
    from dragoman.transport.program_start import StartedProgram


def start_tree(program: Program, *, grace: Grace, on_exit: Callable[[], None]) -> OwnedTree:
    """Start a program; `on_exit` is called once when it ends. Needs a running loop; raises the system's
    errors.
    """
    if sys.platform == "win32":
        return WindowsTree(program, grace=grace, on_exit=on_exit)
    started = StartedProgram(program.command, cwd=program.cwd, env=program.env, files=program.files)
    return PosixTree(started, grace=grace, on_exit=on_exit)


def why_not(program: Program, error: Exception) -> str:
    """Explain why a program could not start, and how to fix it."""
    return f"cannot start {program.command[0]!r}: {_reason(program, error)}"


def _reason(program: Program, error: Exception) -> str:
    if program.cwd is not None and not os.path.isdir(program.cwd):
        return f"its working directory {os.fspath(program.cwd)!r} is not there, or no directory"
    if isinstance(error, FileNotFoundError):
        return _what_is_missing(program)
    if isinstance(error, PermissionError):
        return "it is not executable; try chmod +x, or name its interpreter"
    if isinstance(error, OSError) and error.errno == errno.ENOEXEC:
        return "it is not a program; a script needs a first line like #!/bin/sh"
    return str(error)


def _what_is_missing(program: Program) -> str:
    name = program.command[0]
    if os.path.dirname(name):
        # A relative path counts from the program's working directory, not from ours.
        is_there = os.path.exists(os.path.join(program.cwd or "", name))
        missing = "there is no such file; check the path"
    else:
        env = os.environ if program.env is None else program.env
        is_there = shutil.which(name, path=env.get("PATH", os.defpath)) is not None
        missing = "no such program on PATH; install it, or give its full path"
    return "the interpreter named in its first line is missing; install that" if is_there else missing
