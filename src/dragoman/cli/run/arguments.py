"""What may be said to `dragoman run`."""

from __future__ import annotations

import argparse
import math
import signal
from typing import Any

from dragoman.cli.dialect import add_option
from dragoman.cli.run.exits import EXITS, table

EXAMPLES = """examples:
  dragoman run "Explain this folder" --agent claude
  dragoman run --agent "python3 my_agent.py" --approve all "Fix the failing test"
  git diff | dragoman run "Review this:" - --format quiet > review.md
  dragoman run --format json "/plan"         one event a line, described in docs/run.md
  dragoman run --continue "And now the tests"

The prompt is made of the words, of --prompt-file and of standard input, in this order. Standard input is read
when there is nothing else, or when a word is `-`.

exit status:
"""


def add_parser(commands: argparse._SubParsersAction[Any]) -> None:
    run = commands.add_parser(
        "run",
        help="one turn with any agent; the exit status tells how it ended",
        description="Start an agent, give it a task, and always learn how it ended and what it changed.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    run.fill = _fill


def _fill(run: argparse.ArgumentParser) -> None:
    run.epilog = EXAMPLES + table()
    run.add_argument("words", nargs="*", metavar="PROMPT", help="what the agent is told; - is standard input")
    run.add_argument("--prompt-file", metavar="FILE", help="more of the prompt, as UTF-8 text")
    run.add_argument("--file", action="append", default=[], metavar="FILE", help="attach a file")
    run.add_argument("--image", action="append", default=[], metavar="FILE", help="attach a picture")
    _add_agent(run.add_argument_group("the agent"))
    _add_session(run.add_argument_group("the session"))
    _add_rules(run.add_argument_group("what it may do"))
    _add_output(run.add_argument_group("what is shown"))
    run.set_defaults(run=_run)


def _add_agent(group: argparse._ArgumentGroup) -> None:
    from dragoman import Limits

    seconds = Limits().handshake_seconds

    group.add_argument(
        "--agent", metavar="AGENT", help="a name (see `dragoman agents`), a command line, or an address"
    )
    add_option(group, said="as configured, or auto")
    group.add_argument(
        "--env",
        action="append",
        default=[],
        metavar="NAME[=VALUE]",
        help="hand this variable to the agent; others stay here",
    )
    group.add_argument(
        "--start-timeout",
        type=_seconds,
        default=seconds,
        metavar="SECONDS",
        help=f"until it has introduced itself ({seconds:g})",
    )
    group.add_argument("--timeout", type=_seconds, metavar="SECONDS", help="for the whole run")
    group.add_argument(
        "--silence",
        type=_seconds,
        default=900.0,
        metavar="SECONDS",
        help="without any sign of the agent within the turn (900; 0 for no limit)",
    )
    group.add_argument(
        "--end-timeout",
        type=_seconds,
        default=2.0,
        metavar="SECONDS",
        help="for each step of ending it: by itself, and after SIGTERM (2)",
    )


def _add_session(group: argparse._ArgumentGroup) -> None:
    group.add_argument("--cwd", metavar="DIR", help="the working folder (the current one)")
    group.add_argument("--add-dir", action="append", default=[], metavar="DIR", help="one more folder")
    group.add_argument("--mcp", action="append", default=[], metavar="FILE", help="MCP servers, as JSON")
    which = group.add_mutually_exclusive_group()
    which.add_argument("--session", metavar="ID", help="go on with this session")
    which.add_argument(
        "--continue",
        action="store_true",
        dest="continue_",
        help="go on with the last session of this agent in this folder",
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
    group.add_argument(
        "--approve",
        choices=("all", "reads", "none"),
        help="what is allowed without asking (reads, where nobody can be asked)",
    )
    group.add_argument("--policy", metavar="FILE", help="the rules, as TOML (see `dragoman policy`)")
    group.add_argument(
        "--shell-lines",
        action="store_true",
        help="let a shell run what an agent asks for as one line of shell, if it is allowed (else refused)",
    )
    group.add_argument("--answers", metavar="FILE", help="answers to the agent's questions, as JSON or TOML")
    group.add_argument(
        "--changes",
        choices=("keep", "revert", "ask"),
        default="keep",
        help="what becomes of changed files at the end (keep)",
    )


def _add_output(group: argparse._ArgumentGroup) -> None:
    group.add_argument("--format", choices=("text", "json", "quiet"), default="text")
    group.add_argument("--no-color", "--no-colour", action="store_true", dest="no_color")
    group.add_argument("--verbose", action="store_true", help="show the agent's standard error and our log")


def _seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of seconds") from None
    if not math.isfinite(value) or value < 0:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of seconds")
    return value


def _run(chosen: argparse.Namespace) -> int:
    try:
        from dragoman.cli.run.command import run

        return run(chosen)
    except KeyboardInterrupt:  # before anything was started, or after all of it has ended
        return EXITS["cancelled"].status
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # it is decided; Python's own end is not interrupted
