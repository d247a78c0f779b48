"""`dragoman completions SHELL` and `dragoman complete`: the suggestions of a shell when its user presses Tab.

The scripts for shells are short and know no command: they ask `dragoman complete` with the words before the
cursor, so that what they offer is what the installed version takes, with the names of this person's agents
and sessions. The answer is `words` or `files` (paths will do too), then a candidate a line, with a tab before
its explanation. A name that a shell could take for anything but a word is left out.
"""

from __future__ import annotations

import argparse
import asyncio
import re
from collections.abc import Sequence
from importlib.resources import files
from typing import NamedTuple

from dragoman.errors import DragomanError
from dragoman.text.sanitize import sanitize_line
from dragoman_app.apps.console import say
from dragoman_app.cli.parser import Parser, make_parser

SAFE_WORD = re.compile(r"[A-Za-z0-9@%+=:,./_-]+")
PATHS = ("FILE", "PATH", "DIR", "FOLDER", "TRACE", "TRANSCRIPT", "PATHS", "FROM", "TO", "RECORDING")
MOST_SESSIONS = 50
EXPLANATION = 60


class Candidates(NamedTuple):
    """The suggestions at the cursor: words with explanations, and whether a path is possible."""

    words: dict[str, str]
    is_path: bool = False


def run_script(args: argparse.Namespace) -> int:
    """Print the script for a shell."""
    say(files("dragoman_app.cli").joinpath(f"completions/dragoman.{args.shell}").read_text("utf-8"), end="")
    return 0


def run(args: argparse.Namespace) -> int:
    """Print the suggestions for the last word."""
    candidates = complete(args.command or [""])
    say("files" if candidates.is_path else "words")
    for word, explanation in candidates.words.items():
        if SAFE_WORD.fullmatch(word):
            say(f"{word}\t{sanitize_line(explanation)[:EXPLANATION]}")
    return 0


def complete(words: Sequence[str]) -> Candidates:
    """Return the suggestions for the last of these words, which may be empty."""
    *before, current = [word for word in words if word != "="]  # bash takes `--agent=x` for three words
    parser, position = make_parser(), 0
    parser.fill_now()
    option: argparse.Action | None = None
    for word in before:
        if option is not None:
            option = None
        elif word == "--":
            return Candidates({}, is_path=True)  # a command of its own
        elif word.startswith("-"):
            option = _option(parser, word)
        elif word in (commands := _commands(parser)):
            parser, position = commands[word], 0
            parser.fill_now()
        else:
            position += 1
    if option is not None:
        return _with_prefix(current, _values(parser, option))
    if current.startswith("-"):
        return _with_prefix(current, Candidates(_options(parser)))
    return _with_prefix(current, _words(parser, position))


def _with_prefix(current: str, candidates: Candidates) -> Candidates:
    words = {word: why for word, why in candidates.words.items() if word.startswith(current)}
    return Candidates(words, candidates.is_path)


def _commands(parser: Parser) -> dict[str, Parser]:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            return dict(action.choices)
    return {}


def _option(parser: Parser, word: str) -> argparse.Action | None:
    """The option that the next word is a value of."""
    action = parser._option_string_actions.get(word)
    return action if action is not None and action.nargs != 0 else None


def _options(parser: Parser) -> dict[str, str]:
    return {
        name: action.help or ""
        for action in parser._actions
        if action.help != argparse.SUPPRESS
        for name in action.option_strings
        if name.startswith("--")
    }


def _words(parser: Parser, position: int) -> Candidates:
    """Commands below this one, or the values of the argument at this position."""
    arguments = []
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            if position == 0:
                return Candidates({choice.dest: choice.help or "" for choice in action._choices_actions})
        elif not action.option_strings:
            arguments.append(action)
    if not arguments:
        return Candidates({})
    last = arguments[min(position, len(arguments) - 1)]
    if position >= len(arguments) and last.nargs not in ("*", "+", argparse.REMAINDER):
        return Candidates({})
    return _values(parser, last)


def _values(parser: Parser, action: argparse.Action) -> Candidates:
    """The values of an option or an argument, by its choices, or by what it is called."""
    if action.choices:
        return Candidates({str(choice): "" for choice in action.choices})
    metavar = action.metavar if isinstance(action.metavar, str) else ""
    if _means_agent(parser, action):
        return Candidates(_agents())
    if _means_session(parser, action):
        return Candidates(_sessions())
    if action.dest == "dialect" or metavar == "DIALECT":
        from dragoman.dialect.names import CHOICES

        return Candidates(dict.fromkeys(CHOICES, ""))
    return Candidates({}, is_path=metavar.strip("[].") in PATHS)


def _means_agent(parser: Parser, action: argparse.Action) -> bool:
    group, _, command = parser.prog.removeprefix("dragoman ").partition(" ")
    if group == "agents":
        return action.dest in ("name", "agent") and command != "add"
    return (group == "doctor" and not action.option_strings) or (
        action.dest == "agent" and group in ("run", "chat", "connect")
    )


def _means_session(parser: Parser, action: argparse.Action) -> bool:
    is_id = not action.option_strings and str(action.metavar).startswith("ID")
    return (is_id and parser.prog.startswith("dragoman sessions")) or action.dest == "resume"


def _agents() -> dict[str, str]:
    from dragoman_local.known.lookup import BUILT_IN, known_agents

    try:
        return {agent.name: agent.title for agent in (*BUILT_IN, *known_agents())}
    except DragomanError:  # a configuration that cannot be read has been complained about elsewhere
        return {agent.name: agent.title for agent in BUILT_IN}


def _sessions() -> dict[str, str]:
    from dragoman_local.journal.history import history_path

    path = history_path()
    if not path.exists():
        return {}
    try:
        return {"last": "the latest session", **asyncio.run(_latest(str(path)))}
    except (DragomanError, OSError):
        return {}


async def _latest(path: str) -> dict[str, str]:
    from dragoman_local.journal import open_journal

    async with open_journal(path) as journal:
        streams = (await journal.list(limit=MOST_SESSIONS)).streams
        return {info.stream: info.title or "" for info in streams}
