"""Run as a program: hides what only POSIX systems have, then does what its arguments say.

    python without_posix.py import        imports every module of the package, and names what fails
    python without_posix.py WORDS…        runs the command `dragoman WORDS…`

Modules are hidden for good. Names of `os`, `signal` and `socket` are hidden while modules of the package are
imported; the standard library, which was built for this system, has read them by then.
"""

from __future__ import annotations

import asyncio
import importlib
import os
import pkgutil
import signal
import socket
import sys
import tempfile
import types
from collections.abc import Sequence
from contextlib import suppress
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec

HIDDEN = frozenset(
    {"fcntl", "termios", "pty", "resource", "pwd", "grp", "tty", "readline", "curses", "syslog", "posix"}
)
NAMES: dict[types.ModuleType, tuple[str, ...]] = {
    os: (
        "O_NOFOLLOW",
        "O_CLOEXEC",
        "O_NONBLOCK",
        "O_DIRECTORY",
        "O_NOCTTY",
        "getuid",
        "geteuid",
        "fork",
        "forkpty",
        "getpgid",
        "killpg",
        "openpty",
        "setsid",
        "wait4",
    ),
    signal: ("SIGHUP", "SIGUSR1", "SIGWINCH", "SIGALRM", "SIGKILL", "SIGSTOP", "SIGCONT"),
    socket: ("AF_UNIX",),
}
# Built for this system, these look at what is hidden when they are imported.
NEEDED = (asyncio, tempfile)
PROGRAMS = ("__main__", "probe_server")  # they do their work when they are imported
UNIX_ALONE = ("dragoman_app.tui.terminal",)  # a driver for Unix terminals; elsewhere `tui.app` takes another
OF_OTHERS = (
    "mcp.client.stdio",
    "mcp.server.stdio",
    "textual.app",
    "pydantic_ai",
    "uvicorn",
    "websockets",
    "nats",
)


class SecretFilter(MetaPathFinder):
    """Finds the hidden modules first, and says that they are not there."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: types.ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname.partition(".")[0] in HIDDEN:
            raise ModuleNotFoundError(f"No module named {fullname!r} (hidden)", name=fullname)
        return None


def hide_modules() -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] in HIDDEN - {"posix"}]:
        del sys.modules[name]
    sys.meta_path.insert(0, SecretFilter())


def hide_names() -> None:
    for module, names in NAMES.items():
        for name in names:
            delattr(module, name)


def import_all() -> list[str]:
    """What cannot be imported, with the reason."""
    import dragoman

    failures = []
    for module in pkgutil.walk_packages(dragoman.__path__, "dragoman."):
        if module.name.rpartition(".")[2] in PROGRAMS or module.name in UNIX_ALONE:
            continue
        try:
            importlib.import_module(module.name)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever a module fails with is told
            failures.append(f"{module.name}: {type(error).__name__}: {error}")
    return failures


def main(words: list[str]) -> int:
    if words == ["import"]:
        for name in OF_OTHERS:
            with suppress(ImportError):
                importlib.import_module(name)
    hide_modules()
    if words == ["import"]:
        hide_names()
        failures = import_all()
        print(*failures, sep="\n")
        return bool(failures)
    sys.argv = ["dragoman", *words]
    from dragoman_app.cli import main as run

    return run()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
