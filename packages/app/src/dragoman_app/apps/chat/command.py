"""`dragoman chat`, the terminal client: from parsed arguments to an exit status.

The screen is `tui`; the other modules here are the backend that it talks to. Mistakes that can be
found without a screen are found first. The log stays silent: it would write over the screen, which shows what
goes wrong.
"""

from __future__ import annotations

import argparse
import logging
import os
import traceback
from pathlib import Path

from dragoman.errors import LocalMistake
from dragoman_app.apps.chat.hub_backend import HubBackend
from dragoman_app.apps.chat.local_backend import LocalBackend
from dragoman_app.apps.chat.terminal_colours import ask_terminal, theme_for
from dragoman_app.apps.chat.terminal_end import TerminalEnd
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
    """`dragoman chat`; returns the exit status."""
    if not (os.isatty(0) and os.isatty(2)):  # where Textual reads and draws
        raise LocalMistake("needs a terminal. Without a terminal, use `dragoman run`")
    backend, request = make_backend(args)
    theme = theme_for(args.theme, os.environ, lambda: ask_terminal(0))
    if theme not in theme_names():
        names = ", ".join(["auto", "dark", "light", *theme_names()])
        raise UsageMistake(f"unknown theme {args.theme!r}", f"choose one of {names}")
    return _show(backend, request, colours=not args.no_color, theme=theme, with_board=args.board)


def make_backend(args: argparse.Namespace) -> tuple[ChatBackend, ChatRequest | None]:
    """The backend, and the session to open first. Raises `UsageMistake` or another `LocalMistake`."""
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
