"""The PATH of the user's login shell, read once per process and within a time limit.

A program that a desktop started has a PATH without what the user's shell adds to it, and finds no agent that
was installed for the user. So the login shell is asked. It runs the user's own files, which may be slow, wait
for somebody, or leave something running: it has no terminal, gets a few seconds, and is ended as a tree. If
it does not answer, our own PATH is used and `note` says why.

Nothing of our PATH is lost. Started from a shell, ours goes first: an activated environment was somebody's
choice. Started without one, the login shell's goes first.
"""

from __future__ import annotations

import asyncio
import os
import secrets
from collections.abc import Mapping
from weakref import WeakKeyDictionary

from msgspec import Struct

from dragoman.transport.contract import Grace
from dragoman.transport.launch import start_tree
from dragoman.transport.owned_tree import Program
from dragoman.transport.program_output import StderrTail
from dragoman.transport.waiters import Waiters

SECONDS = 5.0
"""The most seconds for a login shell. Slow shells take two, and people wait no longer than this."""

KEPT = 256 * 1024
"""The bytes of the shell's output to search: its greeting comes before the answer."""

ENDING = Grace(after_eof=0.0, after_terminate=2.0, leftovers=0.0)
"""How a slow shell is ended: a shell killed at once could leave a lock of its tools behind, and every later
shell of the user would wait for it.
"""


class LoginPath(Struct, frozen=True):
    """A PATH, and the reason if it is not the login shell's."""

    path: str
    note: str | None = None


_cached_path: LoginPath | None = None
_asking: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Lock] = WeakKeyDictionary()


async def login_path(*, seconds: float = SECONDS) -> LoginPath:
    """Return the PATH for starting agents; the shell is asked only the first time."""
    global _cached_path
    lock = _asking.setdefault(asyncio.get_running_loop(), asyncio.Lock())
    async with lock:
        if _cached_path is None:
            _cached_path = await ask_login_shell(os.environ, seconds=seconds)
    return _cached_path


async def ask_login_shell(source: Mapping[str, str], *, seconds: float = SECONDS) -> LoginPath:
    """Ask the login shell for its PATH, without the cache."""
    ours = source.get("PATH", os.defpath)
    shell = source.get("SHELL") or _shell_of_user()
    if os.name == "nt" or not shell:
        return LoginPath(ours)  # PATH is the same for all programs there; or there is nobody to ask
    try:
        async with asyncio.timeout(seconds):
            theirs = await _ask_shell(shell, source)
    except TimeoutError:
        return LoginPath(ours, f"{shell} took longer than {seconds:g} seconds to say its PATH")
    except OSError as error:
        return LoginPath(ours, f"{shell} could not be asked for its PATH: {error.strerror}")
    if not theirs:
        return LoginPath(ours, f"{shell} did not say its PATH")
    return LoginPath(join_paths(ours, theirs) if "SHLVL" in source else join_paths(theirs, ours))


def join_paths(first: str, second: str) -> str:
    """Join two PATHs; each folder appears once."""
    folders = dict.fromkeys([*first.split(os.pathsep), *second.split(os.pathsep)])
    return os.pathsep.join(folder for folder in folders if folder)


async def _ask_shell(shell: str, source: Mapping[str, str]) -> str:
    """What the shell says between two marks; "" if it ends without saying it."""
    mark = secrets.token_hex(8)
    # `printenv` and not `$PATH`: shells disagree about everything but how to run a program.
    command = [shell, "-l", "-i", "-c", f"echo {mark}; printenv PATH; echo {mark}"]
    env = {**source, "TERM": "dumb", "DRAGOMAN_ASKS_FOR_PATH": "1"}
    moment = Waiters()
    nowhere = os.open(os.devnull, os.O_RDWR)
    try:
        read_fd, write_fd = os.pipe()
        try:
            program = Program(command=command, env=env, files=(nowhere, write_fd, nowhere))
            tree = start_tree(program, grace=ENDING, on_exit=moment.wake)
        except BaseException:
            os.close(read_fd)
            raise
        finally:
            os.close(write_fd)
    finally:
        os.close(nowhere)
    # Readers of a stream that is kept in part; that it was made for standard error is only its name.
    output = StderrTail(read_fd, limit=KEPT, show=lambda _: moment.wake(), on_end=moment.wake)
    try:
        while output.text.count(mark) < 2 and not output.has_ended:
            await moment.wait()
        return _between(output.text, mark)
    finally:
        output.close()
        # What the user's files left running must not live longer than the question.
        tree.kill_now()


def _between(text: str, mark: str) -> str:
    parts = text.split(mark)
    return parts[-2].strip() if len(parts) >= 3 else ""


def _shell_of_user() -> str:
    try:
        import pwd
    except ImportError:  # users have no shells of their own there
        return ""
    try:
        return pwd.getpwuid(os.getuid()).pw_shell
    except KeyError:  # a number without a name, as in many containers
        return ""
