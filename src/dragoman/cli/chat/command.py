"""The command itself: from parsed arguments to an exit status.

Mistakes that can be found without a screen are found first. The log stays silent: it would write over the
screen, and what goes wrong is told on it.
"""

from __future__ import annotations

import argparse
import logging
import os
import sys
import traceback
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from dragoman.cli.console import say
from dragoman.cli.run.mistakes import Mistake
from dragoman.errors import LocalMistake
from dragoman.text.sanitize import sanitize

if TYPE_CHECKING:
    from dragoman.cli.chat.house import LocalHouse
    from dragoman.tui.ports import House, Wanted

USAGE = 2


def run(chosen: argparse.Namespace) -> int:
    """`dragoman chat`; returns the exit status."""
    if find_spec("textual") is None:
        return _refuse("needs the extra 'tui': pip install 'dragoman[tui]'")
    if not (os.isatty(0) and os.isatty(2)):  # where Textual reads and draws
        return _refuse("needs a terminal; `dragoman run` does one turn without one")
    try:
        house, wanted = make_house(chosen)
    except Mistake as mistake:
        return _refuse(f"{mistake}\nTo go on: {mistake.next_step}.")
    except LocalMistake as error:
        return _refuse(str(error))
    return _show(house, wanted, colours=not chosen.no_color)


def make_house(chosen: argparse.Namespace) -> tuple[House, Wanted | None]:
    """What is talked to, and what is wanted from the start. Raises `Mistake` or another `LocalMistake`."""
    from dragoman.cli.chat.house import LocalHouse
    from dragoman.cli.chat.remote import HubHouse
    from dragoman.cli.chat.rules import Rules
    from dragoman.tui.ports import Wanted

    cwd = chosen.cwd if chosen.hub and chosen.cwd else _folder(chosen.cwd)
    rules = Rules(
        policy=chosen.policy and os.path.abspath(chosen.policy),
        approve=chosen.approve,
        shell_lines=chosen.shell_lines,
    )
    house: LocalHouse
    if chosen.hub:
        from dragoman.cli.tokens import authorization

        house = HubHouse(cwd, rules, url=chosen.hub, headers=authorization(chosen.token_file))
    else:
        house = LocalHouse(
            cwd, rules, variables=chosen.env, record=not chosen.no_history, dialect=chosen.dialect
        )
    rules.check([] if chosen.hub else [cwd])
    session = "last" if chosen.continue_ else chosen.resume
    if session is not None and chosen.agent is None:
        return house, house.remembered(session, cwd)
    agent = chosen.agent or ("" if chosen.hub and session is None else None)
    if agent is None:
        return house, None
    return house, Wanted(agent=agent, cwd=cwd, session=session)


def _show(house: House, wanted: Wanted | None, *, colours: bool) -> int:
    from dragoman.cli.chat.ending import TerminalEnd
    from dragoman.tui.app import ChatApp

    log = logging.getLogger("dragoman")
    log.propagate = False
    log.addHandler(logging.NullHandler())
    end = TerminalEnd()
    app = ChatApp(house, wanted, colours=colours, end_request=end)
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
        raise Mistake(f"{str(path)!r} is no folder", "check the path")
    return os.path.normpath(place)


def _refuse(why: str) -> int:
    say(f"dragoman chat: {sanitize(why)}", file=sys.stderr)
    return USAGE
