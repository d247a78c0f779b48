"""`dragoman chat`, the terminal client: from parsed arguments to an exit status.

The screen is `tui`; the other modules here are the backend that it talks to. Mistakes that can be
found without a screen are found first. The log stays silent: it would write over the screen, which shows what
goes wrong.
"""

from __future__ import annotations

import argparse
import logging
import os
import re
import select
import signal
import time
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Final

from dragoman.errors import LocalMistake
from dragoman.sdk.shutdown import ShutdownSignals
from dragoman_app.apps.chat.hub_backend import HubBackend
from dragoman_app.apps.chat.local_backend import LocalBackend
from dragoman_app.apps.console import UsageMistake
from dragoman_app.apps.files import authorization
from dragoman_app.apps.log_lines import log_only_to
from dragoman_app.apps.run.plan import check_policy, rules_of
from dragoman_app.apps.target import Overrides, remote_folder
from dragoman_app.tui.app import ChatApp, theme_names
from dragoman_app.tui.drawing.pictures import prepare_pictures
from dragoman_app.tui.ports import ChatBackend, ChatRequest
from dragoman_local.known import AgentSource, KnownAgent


def run(args: argparse.Namespace) -> int:
    """Run `dragoman chat`; return the exit status."""
    if not (os.isatty(0) and os.isatty(2)):  # where Textual reads and draws
        raise LocalMistake("needs a terminal. Without a terminal, use `dragoman run`")
    backend, request = make_backend(args)
    theme = theme_for(args.theme, os.environ, lambda: ask_terminal(0))
    if theme not in theme_names():
        names = ", ".join(["auto", "dark", "light", *theme_names()])
        raise UsageMistake(f"unknown theme {args.theme!r}", f"choose one of {names}")
    return _show(backend, request, colours=not args.no_color, theme=theme, with_board=args.board)


def make_backend(args: argparse.Namespace) -> tuple[ChatBackend, ChatRequest | None]:
    """Return the backend, and the session to open first. Raises `UsageMistake` or another `LocalMistake`."""
    if args.place and args.hub:
        raise UsageMistake(
            "--in works only for agents that this command starts", "set the agent's place in hub.toml"
        )
    cwd = _cwd(args)
    rules = rules_of(args, args.approve)
    backend: LocalBackend
    if args.hub:
        if rules.sandbox not in ("auto", "off"):
            raise UsageMistake(
                f"can't use the sandbox profile {rules.sandbox} for agents of a hub",
                "set `sandbox` for the agent in hub.toml",
            )
        backend = HubBackend(cwd, rules, url=args.hub, headers=authorization(args.token_file))
    else:
        backend = LocalBackend(
            cwd,
            rules,
            Overrides(args.env, args.dialect, args.place, args.map),
            record=not args.no_history,
        )
    check_policy(rules, [] if args.hub or args.place else [cwd])
    session = "last" if args.continue_ else args.resume
    if session is not None and args.agent is None:
        return backend, backend.find_stored(session, cwd)
    agent = args.agent or ("" if args.hub and session is None and not args.board else None)
    if agent is None:
        return backend, None
    return backend, ChatRequest(agent=agent, cwd=cwd, session=session)


def _cwd(args: argparse.Namespace) -> str:
    """The folder that the session begins in: of this machine, unless a hub or another place has it."""
    if args.place:
        probe = KnownAgent(
            name="", command=(), source=AgentSource.COMMAND, place=args.place, maps=tuple(args.map)
        )
        return remote_folder(args.cwd, probe)
    return str(args.cwd) if args.hub and args.cwd else _folder(args.cwd)


def _show(
    backend: ChatBackend, request: ChatRequest | None, *, colours: bool, theme: str, with_board: bool
) -> int:
    log_only_to(logging.NullHandler())
    if colours and "NO_COLOR" not in os.environ:
        prepare_pictures()
    end = TerminalEnd()
    app = ChatApp(backend, request, colours=colours, theme=theme, with_board=with_board, end_request=end)
    end.abandon = app.give_terminal_back
    with end:
        status = app.run()
    if app.failure is not None:
        traceback.print_exception(app.failure)
        return 1
    return end.status or app.return_code or status or 0


def _folder(path: str | None) -> str:
    place = Path(path or os.getcwd()).expanduser().absolute()
    if not place.is_dir():
        raise UsageMistake(f"{str(path)!r} is not a folder", "check the path")
    return os.path.normpath(place)


# How the terminal client is ended from outside: by a signal, or by the end of its terminal.
#
# The orderly way closes the conversation and gives the terminal back. It is bounded: a terminal that does
# not read, or an agent that does not let go, cannot hold it up. What we own ends with us either way (see
# `transport.guard`).

WITHIN = 6.0
"""The most seconds for the end: an agent that ignores everything is killed after four."""

HANGUP = getattr(signal, "SIGHUP", signal.SIGTERM)

ENDING = tuple({signal.SIGTERM, signal.SIGINT, HANGUP, getattr(signal, "SIGQUIT", signal.SIGTERM)})


class TerminalEnd(ShutdownSignals):
    """Implements `EndRequest` for the terminal client."""

    def __init__(self) -> None:
        super().__init__(within=WITHIN, signals=ENDING)

    @property
    def status(self) -> int:
        """The exit status that shells give to a program ended by a signal; 0 without a signal."""
        return 0 if self.number is None else 128 + self.number

    def hang_up(self) -> None:
        self.ask(HANGUP)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        super().__exit__(kind, error, trace)
        if self.number == HANGUP:
            # What is still in Python's buffers cannot be written, and would make the exit status 120.
            nowhere = os.open(os.devnull, os.O_WRONLY)
            for fd in (1, 2):
                os.dup2(nowhere, fd)
            os.close(nowhere)


# Which colours suit the terminal: whether its background is light, asked before the screen is drawn.
#
# `COLORFGBG` says it where it is set. Else a terminal that calls itself able (`COLORTERM`) is asked (OSC
# 11), with a question behind it that every terminal answers (DA1), so that nobody waits for one that does
# not know the first.

QUESTION: Final = b"\x1b]11;?\x1b\\\x1b[c"
SECONDS: Final = 0.15
"""The most seconds for both answers; a slower remote terminal gets the dark theme."""

LONGEST: Final = 4096
"""The most bytes of an answer."""

_BACKGROUND = re.compile(rb"\x1b\]11;rgba?:([0-9a-fA-F]{1,4})/([0-9a-fA-F]{1,4})/([0-9a-fA-F]{1,4})")
_ATTRIBUTES = re.compile(rb"\x1b\[\?[\d;]*c")


def theme_for(name: str, environ: Mapping[str, str], ask: Callable[[], bytes]) -> str:
    """Return the theme for `auto`, `dark`, `light` or its own name. `ask` asks the terminal."""
    if name == "auto":
        name = "light" if _is_light(environ, ask) else "dark"
    return {"dark": "dragoman", "light": "dragoman-light"}.get(name, name)


def _is_light(environ: Mapping[str, str], ask: Callable[[], bytes]) -> bool:
    if "NO_COLOR" in environ:
        return False
    background = environ.get("COLORFGBG", "").rpartition(";")[2]
    if background.isdecimal():
        return int(background) == 7 or int(background) > 8
    return "COLORTERM" in environ and is_light_answer(ask())


def is_light_answer(answer: bytes) -> bool:
    """Whether a terminal's answer names a light colour."""
    match = _BACKGROUND.search(answer)
    if match is None:
        return False
    red, green, blue = (int(part, 16) / (16 ** len(part) - 1) for part in match.groups())
    return bool(0.2126 * red + 0.7152 * green + 0.0722 * blue > 0.5)


def ask_terminal(fd: int) -> bytes:
    """Ask the terminal for its background; None if it does not answer in time, or if the user is already
    typing, whose keys must not be lost.
    """
    try:
        import termios
        import tty
    except ImportError:  # not Unix
        return b""
    try:
        before = termios.tcgetattr(fd)
        if select.select([fd], [], [], 0)[0]:
            return b""
        tty.setcbreak(fd, termios.TCSANOW)
        try:
            os.write(fd, QUESTION)
            return _read_answer(fd)
        finally:
            termios.tcsetattr(fd, termios.TCSANOW, before)
    except (OSError, termios.error):
        return b""


def _read_answer(fd: int) -> bytes:
    answer, until = b"", time.monotonic() + SECONDS
    while not _ATTRIBUTES.search(answer) and len(answer) < LONGEST:
        if not select.select([fd], [], [], max(0.0, until - time.monotonic()))[0]:
            break
        if not (chunk := os.read(fd, 1024)):
            break
        answer += chunk
    return answer
