"""The parser of the command line, made from the table of commands.

The options of a command are added when that command is chosen, and what it runs is imported when it runs: a
start pays for one command, not for all of them.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from importlib import import_module
from typing import Any, NoReturn

from dragoman.version import VERSION
from dragoman_app.cli.commands import COMMANDS, EXAMPLES, CommandRow

MOST_CHOICES = 12
"""The most choices in an error; the help lists all."""

_CHOICE = re.compile(r"invalid choice: '(.+?)' \(choose from (.+)\)")


class Parser(argparse.ArgumentParser):
    """Explains what to do next when the command line is invalid."""

    fill: Callable[[Parser], None] | None = None
    """Adds the options of a command after it is chosen: all options together would slow every start."""

    splits = False
    """Whether the words after `--` are a command, even after other arguments: argparse gives an optional list
    of words nothing after an option.
    """

    _words: Sequence[str] = ()

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> tuple[Any, list[str]]:
        self._words = [] if args is None else list(args)
        self.fill_now()
        if args is not None and not args and self._needs_command():
            self.print_help(sys.stderr)
            self.exit(2)
        if self.splits and args is not None and "--" in args:
            at = args.index("--")
            namespace, rest = super().parse_known_args(args[:at], namespace)
            namespace.command = list(args[at + 1 :])
        else:
            namespace, rest = super().parse_known_args(
                args if args is None else self._with_values(args), namespace
            )
        if rest:  # here, and not above: this command knows its own options, and has the help for them
            self._refuse(rest)
        return namespace, rest

    def _with_values(self, words: Sequence[str]) -> list[str]:
        """The words, with the value of each option that may go without one. argparse would take the word
        behind it for its value, though it is none of those that there are.
        """
        result = list(words)
        until = result.index("--") if "--" in result else len(result)
        for at, word in enumerate(result[:until]):
            action = self._option_string_actions.get(word)
            if action is None or action.nargs != argparse.OPTIONAL or action.choices is None:
                continue
            if at + 1 < until and result[at + 1] not in action.choices:
                result[at] = f"{word}={action.const}"
        return result

    def fill_now(self) -> None:
        if self.fill is not None:
            fill, self.fill = self.fill, None
            fill(self)

    def _needs_command(self) -> bool:
        return any(
            isinstance(action, argparse._SubParsersAction) and action.required for action in self._actions
        )

    def format_help(self) -> str:
        """Format the help as argparse does, but with the commands of the first level in groups."""
        commands = [action for action in self._actions if isinstance(action, argparse._SubParsersAction)]
        if self.prog != "dragoman" or not commands:
            return super().format_help()
        formatter = self._get_formatter()
        formatter.add_usage(self.usage, self._actions, self._mutually_exclusive_groups)
        formatter.add_text(self.description)
        actions = {action.dest: action for action in commands[0]._choices_actions}
        for group in dict.fromkeys(command.group for command in COMMANDS if command.group):
            formatter.start_section(group)
            names = [command.name for command in COMMANDS if command.group == group]
            formatter.add_arguments([actions[name] for name in names if name in actions])
            formatter.end_section()
        formatter.start_section("options")
        formatter.add_arguments([action for action in self._actions if action.option_strings])
        formatter.end_section()
        formatter.add_text(self.epilog)
        return formatter.format_help()

    def _refuse(self, words: Sequence[str]) -> NoReturn:
        options = [word for word in words if word.startswith("-")]
        if not options:
            self.error(f"too many words: {' '.join(words)}")
        option = options[0].partition("=")[0]
        near = nearest(option, self._option_string_actions)
        self.error(f"unknown option {option}{near}")

    def _refuse_option_before(self, word: str) -> None:
        """A word that is not a command here may be the value of an option that does not exist."""
        words = self._words
        option = words[words.index(word) - 1] if word in words[1:] else ""
        if option.startswith("--") and not any(
            action.startswith(option) for action in self._option_string_actions
        ):
            self._refuse([option])

    def error(self, message: str) -> NoReturn:
        if match := _CHOICE.search(message):
            self._refuse_option_before(match[1])
            place = message.partition("invalid choice")[0]
            message = self._explain_choice(place, match[1], re.findall(r"[\w-]+", match[2]))
        self.exit(2, f"{self.prog}: {message}\nTry: {self.prog} --help\n")

    def _explain_choice(self, place: str, word: str, choices: Sequence[str]) -> str:
        """What was probably meant, else what there is to choose from, unless that is a long list."""
        for action in self._actions:
            if isinstance(action, argparse._SubParsersAction) and list(action.choices) == list(choices):
                choices = [command.dest for command in action._choices_actions]  # without internal ones
                what = f"unknown command {word!r}"
                break
        else:
            what = f"{place}{word!r} is not allowed here"
        near = nearest(word, choices)
        if near or len(choices) > MOST_CHOICES:
            return f"{what}{near}"
        return f"{what}. Choose from {', '.join(choices)}"


def make_parser(words: Sequence[str] = ()) -> Parser:
    """Return the whole parser. `command` of its result is the row of the chosen command.

    If the first of `words` is a command, only this command is added: a parser for each of the others would
    take as long as everything else that happens before the command runs.
    """
    parser = Parser(
        prog="dragoman",
        description="Agents for editors that speak the Agent Client Protocol.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"dragoman {VERSION}")
    _add_commands(parser, "", metavar="COMMAND", is_required=True, first=words[0] if words else "")
    return parser


def fill_all(parser: argparse.ArgumentParser) -> None:
    """Add every option of every command, for callers that need the whole parser."""
    if isinstance(parser, Parser):
        parser.fill_now()
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for below in action.choices.values():
                fill_all(below)


def load(name: str) -> Callable[..., Any]:
    """Return the function `package.module:function`. This is the only place that imports a
    command's module.
    """
    module, _, function = name.partition(":")
    target: Callable[..., Any] = getattr(import_module(module), function)
    return target


def _add_commands(parser: Parser, parent: str, *, metavar: str, is_required: bool, first: str = "") -> None:
    """Add the rows directly below a command; only the row `first`, if there is one of this name."""
    # The prog is named because argparse would format a usage to find it, which costs more than all the rest.
    below = parser.add_subparsers(metavar=metavar, required=is_required, prog=parser.prog)
    rows = [command for command in COMMANDS if command.parent == parent]
    for command in [row for row in rows if row.name == first] or rows:
        _add_command(below, command)


def _add_command(below: argparse._SubParsersAction[Parser], command: CommandRow) -> None:
    word = command.name.rpartition(" ")[2]
    parser = below.add_parser(
        word,
        help=command.help,
        description=command.description or (command.help and f"{command.help[0].upper()}{command.help[1:]}."),
        epilog=command.examples or None,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    if not command.help:
        below._choices_actions.pop()  # the help does not name it
    parser.set_defaults(action=word)
    if command.run:
        parser.set_defaults(command_row=command)
    parser.fill = lambda parser: _fill(parser, command)


def _fill(parser: Parser, command: CommandRow) -> None:
    if command.options:
        function = command.name.replace(" ", "_").replace("-", "_")
        load(f"dragoman_app.cli.options.{command.options}:add_{function}")(parser)
    if command.metavar:
        _add_commands(parser, command.name, metavar=command.metavar, is_required=not command.run)


def nearest(word: str, choices: Iterable[str]) -> str:
    """Return the nearest name as a question; empty if no name is near."""
    import difflib  # at a mistake alone: it would slow every start

    matches = difflib.get_close_matches(word, choices, n=1, cutoff=0.6)
    return f"; did you mean {matches[0]}?" if matches else ""
