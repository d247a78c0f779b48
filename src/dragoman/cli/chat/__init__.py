"""`dragoman chat`: the terminal client.

This is the command line alone; what it does is in `command`, imported when it runs.
"""

from __future__ import annotations

import argparse
from typing import Any

from dragoman.cli.dialect import add_option

EXAMPLES = """examples:
  dragoman chat                                choose an agent and a folder
  dragoman chat --agent review                 talk to one at once, here
  dragoman chat --agent "my-agent --acp" --cwd ~/project
  dragoman chat --agent claude --continue      go on with the last session of this folder
  dragoman chat --resume 20260102-0304         go on with this one (see `dragoman sessions`)
  DRAGOMAN_TOKEN=… dragoman chat --hub ws://127.0.0.1:8765/acp

F1 shows the keys. docs/chat.md describes everything. Needs the extra 'tui': pip install 'dragoman[tui]'.

exit status:
    0  you left
    1  something of ours failed; standard error says what
    2  the command line makes no sense, or this is no terminal
  129  the terminal is gone (SIGHUP); 130, 131 and 143 are SIGINT, SIGQUIT and SIGTERM
"""


def add_parser(commands: argparse._SubParsersAction[Any]) -> None:
    chat = commands.add_parser(
        "chat",
        help="talk to any agent in the terminal",
        description="Talk to any agent in the terminal: sessions, permissions, changes, history.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    chat.fill = _fill


def _fill(chat: argparse.ArgumentParser) -> None:
    chat.add_argument(
        "--agent", metavar="AGENT", help="a name (see `dragoman agents`), a command line, or an address"
    )
    add_option(chat, said="as configured, or auto")
    chat.add_argument("--cwd", metavar="DIR", help="the working folder (the current one)")
    which = chat.add_mutually_exclusive_group()
    which.add_argument("--resume", metavar="ID", help="go on with this session; `last` is the latest")
    which.add_argument(
        "--continue",
        action="store_true",
        dest="continue_",
        help="go on with the last session of this agent in this folder",
    )
    hub = chat.add_argument_group("through a hub")
    hub.add_argument("--hub", metavar="URL", help="ws://, wss://, http:// or https://; several with commas")
    hub.add_argument("--token-file", metavar="FILE", help="a file that holds the token (else DRAGOMAN_TOKEN)")
    rules = chat.add_argument_group("what the agent gets, and may do")
    rules.add_argument(
        "--env", action="append", default=[], metavar="NAME[=VALUE]", help="hand this variable to the agent"
    )
    rules.add_argument("--policy", metavar="FILE", help="the rules, as TOML (see `dragoman policy`)")
    rules.add_argument("--approve", choices=("all", "reads", "none"), help="what is allowed without asking")
    rules.add_argument(
        "--shell-lines", action="store_true", help="let a shell run lines of shell, once allowed"
    )
    chat.add_argument("--no-history", action="store_true", help="record nothing")
    chat.add_argument("--no-color", "--no-colour", action="store_true", dest="no_color")
    chat.set_defaults(run=_run)


def _run(chosen: argparse.Namespace) -> int:
    from dragoman.cli.chat.command import run

    return run(chosen)
