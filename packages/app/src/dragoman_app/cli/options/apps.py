"""The options of `dragoman run`, `dragoman chat` and `dragoman mcp`."""

from __future__ import annotations

import argparse

from dragoman_app.apps.run.exits import table
from dragoman_app.cli.options.gateway import (
    MOST_CLIENTS,
    add_gateway_agent,
    add_gateway_sessions,
    add_listener,
)
from dragoman_app.cli.options.values import (
    HANDSHAKE_SECONDS,
    add_agent,
    add_in,
    add_rules,
    add_silence,
    parse_count,
    seconds,
)
from dragoman_app.cli.parser import Parser


def add_run(parser: Parser) -> None:
    parser.epilog = f"{parser.epilog}{table()}"
    parser.add_argument("words", nargs="*", metavar="PROMPT", help="the prompt; - reads standard input")
    parser.add_argument("--prompt-file", metavar="FILE", help="more of the prompt, as UTF-8 text")
    parser.add_argument("--file", action="append", default=[], metavar="FILE", help="attach a file")
    parser.add_argument("--image", action="append", default=[], metavar="FILE", help="attach a picture")
    parser.add_argument(
        "--steer",
        nargs="?",
        choices=("restart", "queue"),
        const="restart",
        metavar="restart|queue",
        help="send each line of standard input while the turn runs; if the agent can't accept it, restart "
        "the turn with it (restart) or send it after the turn (queue)",
    )
    _add_agent(parser.add_argument_group("the agent"))
    _add_session(parser.add_argument_group("the session"))
    _add_rules(parser.add_argument_group("what it may do"))
    _add_output(parser.add_argument_group("what is shown"))


def _add_agent(group: argparse._ArgumentGroup) -> None:
    add_agent(group)
    add_in(group)
    group.add_argument(
        "--start-timeout",
        type=seconds(),
        default=HANDSHAKE_SECONDS,
        metavar="SECONDS",
        help=f"the most seconds for the agent's start ({HANDSHAKE_SECONDS:g})",
    )
    group.add_argument(
        "--timeout", type=seconds(), metavar="SECONDS", help="the most seconds for the whole run"
    )
    add_silence(group)
    group.add_argument(
        "--end-timeout",
        type=seconds(),
        default=2.0,
        metavar="SECONDS",
        help="the most seconds for the agent to end, before and after SIGTERM (2)",
    )


def _add_session(group: argparse._ArgumentGroup) -> None:
    group.add_argument("--cwd", metavar="DIR", help="the working folder (the current one)")
    group.add_argument("--add-dir", action="append", default=[], metavar="DIR", help="one more folder")
    group.add_argument("--mcp", action="append", default=[], metavar="FILE", help="MCP servers, as JSON")
    which = group.add_mutually_exclusive_group()
    which.add_argument("--session", metavar="ID", help="continue this session; `last` is the latest")
    which.add_argument(
        "--continue",
        action="store_true",
        dest="continue_",
        help="continue the last session of this agent in this folder",
    )
    group.add_argument(
        "--continue-with",
        metavar="AGENT",
        help="the agent that takes over if the first is out of quota, logged out or dead; without --agent, "
        "the agent that continues the session of --session or --continue",
    )
    group.add_argument("--mode", metavar="ID", help="switch the session to this mode")
    group.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        dest="options",
        help="set an option of the session",
    )
    group.add_argument("--no-history", action="store_true", help="record nothing of this run")


def _add_rules(group: argparse._ArgumentGroup) -> None:
    add_rules(group)
    group.add_argument("--answers", metavar="FILE", help="answers to the agent's questions, as JSON or TOML")
    group.add_argument(
        "--changes",
        choices=("keep", "revert", "ask"),
        default="keep",
        help="what to do with changed files at the end (keep)",
    )
    group.add_argument(
        "--strict",
        action="store_true",
        help="end with status 12 if files changed without approval",
    )


def _add_output(group: argparse._ArgumentGroup) -> None:
    group.add_argument("--format", choices=("text", "json", "quiet"), default="text")
    group.add_argument("--no-color", "--no-colour", action="store_true", dest="no_color")
    group.add_argument(
        "--verbose", action="store_true", help="show the agent's standard error and Dragoman's log"
    )


def add_chat(parser: Parser) -> None:
    add_agent(parser)
    add_in(parser)
    parser.add_argument("--cwd", metavar="DIR", help="the working folder (the current one)")
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--resume", metavar="ID", help="continue this session; `last` is the latest")
    which.add_argument(
        "--continue",
        action="store_true",
        dest="continue_",
        help="continue the last session of this agent in this folder",
    )
    hub = parser.add_argument_group("through a hub")
    hub.add_argument("--hub", metavar="URL", help="ws://, wss://, http:// or https://; several with commas")
    hub.add_argument("--token-file", metavar="FILE", help="a file with the token (else DRAGOMAN_TOKEN)")
    add_rules(parser.add_argument_group("what it may do"))
    parser.add_argument("--no-history", action="store_true", help="record nothing")
    look = parser.add_argument_group("how it looks")
    look.add_argument("--board", action="store_true", help="start with the board of all sessions")
    look.add_argument(
        "--theme",
        metavar="NAME",
        default="auto",
        help="auto (follows the terminal's background), dark, light, or a theme's name from the palette "
        "(Ctrl+P)",
    )
    look.add_argument("--no-color", "--no-colour", action="store_true", dest="no_color")


def add_mcp(parser: Parser) -> None:
    parser.splits = True
    parser.add_argument(
        "command", metavar="COMMAND", nargs="*", help="the agent's command, after --, in place of --agent"
    )
    add_gateway_agent(parser.add_argument_group("the agent"))
    where = parser.add_argument_group("where it works")
    add_gateway_sessions(where)
    parser.add_argument(
        "--allow-choice",
        action="append",
        default=[],
        metavar="NAME[=VALUE]",
        help="let the calling model choose this mode or option, for example mode=plan (models are always "
        "allowed)",
    )
    where.add_argument(
        "--root", action="append", default=[], metavar="DIR", help="a folder that sessions may use"
    )
    add_rules(parser.add_argument_group("what it may do"))
    network = parser.add_argument_group("over HTTP")
    network.add_argument("--http", action="store_true", help="listen for clients, at /mcp")
    add_listener(network)
    network.add_argument("--no-token", action="store_true", help="let everybody on this machine connect")
    network.add_argument(
        "--max-connections",
        metavar="N",
        type=parse_count,
        help=f"the most clients at the same time ({MOST_CLIENTS})",
    )
