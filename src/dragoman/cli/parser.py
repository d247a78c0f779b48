"""What may be said on the command line."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NoReturn

from dragoman.cli import (
    agent_code,
    agent_review,
    agents,
    agents_list,
    chaos,
    chat,
    check,
    client_tools,
    connect,
    dialect,
    diff,
    doctor,
    hub,
    inbox,
    journal,
    policy,
    replay,
    review,
    serve,
    sessions,
    tap,
    translate,
    view,
)
from dragoman.cli.run import arguments
from dragoman.version import VERSION

EXAMPLES = """examples:
  dragoman run "Explain this folder" --agent claude  one turn with any agent
  dragoman agent echo               an agent on stdin and stdout that says what it was told
  dragoman agent script hello.script  an agent that does what a script says
  dragoman agent --help             all agents

Give an editor the command of an agent, and it is there.
"""

AGENT_EXAMPLES = """examples:
  dragoman agent echo
  dragoman agent script hello.script

An agent speaks the Agent Client Protocol on stdin and stdout, one JSON text a line, until its input ends.
Started by hand it seems to do nothing: it waits for a client.
"""


class Parser(argparse.ArgumentParser):
    """Says what to do next when the command line makes no sense."""

    fill: Callable[[Parser], None] | None = None
    """Adds what a sub-command takes, once it is chosen: all of them together would slow every start."""

    splits = False
    """Whether what stands after `--` is a command of its own, wherever the other arguments are: argparse
    gives an optional list of words nothing once an option stood before it.
    """

    _words: Sequence[str] = ()

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> tuple[Any, list[str]]:
        self._words = [] if args is None else list(args)
        if self.fill is not None:
            fill, self.fill = self.fill, None
            fill(self)
        if self.splits and args is not None and "--" in args:
            at = args.index("--")
            namespace, rest = super().parse_known_args(args[:at], namespace)
            namespace.command = list(args[at + 1 :])
        else:
            namespace, rest = super().parse_known_args(args, namespace)
        if rest:  # here, and not above: this command knows its own options, and has the help for them
            self._refuse(rest)
        return namespace, rest

    def _refuse(self, words: Sequence[str]) -> NoReturn:
        options = [word for word in words if word.startswith("-")]
        if not options:
            self.error(f"too many words: {' '.join(words)}")
        option = options[0].partition("=")[0]
        near = _nearest(option, self._option_string_actions)
        self.error(f"there is no option {option}{near}")

    def _refuse_option_before(self, word: str) -> None:
        """A word that is no command here may be the value of an option that does not exist."""
        words = self._words
        option = words[words.index(word) - 1] if word in words[1:] else ""
        if option.startswith("--") and not any(
            known.startswith(option) for known in self._option_string_actions
        ):
            self._refuse([option])

    def error(self, message: str) -> NoReturn:
        if found := _CHOICE.search(message):
            self._refuse_option_before(found[1])
            message += _nearest(found[1], re.findall(r"[\w-]+", found[2]))
        self.exit(2, f"{self.prog}: {message}\nTry: {self.prog} --help\n")


_CHOICE = re.compile(r"invalid choice: '(.+?)' \(choose from (.+)\)")


def _nearest(word: str, known: Iterable[str]) -> str:
    """What was probably meant, as a question; nothing if nothing is near."""
    import difflib  # at a mistake alone: it would slow every start

    found = difflib.get_close_matches(word, known, n=1, cutoff=0.6)
    return f"; did you mean {found[0]}?" if found else ""


def make_parser() -> argparse.ArgumentParser:
    parser = Parser(
        prog="dragoman",
        description="Agents for editors that speak the Agent Client Protocol.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"dragoman {VERSION}")
    # The prog is named because argparse would format a usage to find it, which costs more than all the rest.
    commands = parser.add_subparsers(metavar="COMMAND", required=True, prog="dragoman")
    arguments.add_parser(commands)
    _add_agent(commands)
    agents_list.add_parser(commands)
    client_tools.add_parser(commands)
    dialect.add_parser(commands)
    chaos.add_parser(commands)
    chat.add_parser(commands)
    check.add_parser(commands)
    connect.add_parser(commands)
    diff.add_parser(commands)
    doctor.add_parser(commands)
    policy.add_parser(commands)
    replay.add_parser(commands)
    review.add_parser(commands)
    serve.add_parser(commands)
    hub.add_parser(commands)
    inbox.add_parser(commands)
    journal.add_parser(commands)
    sessions.add_parser(commands)
    tap.add_parser(commands)
    translate.add_parser(commands)
    view.add_parser(commands)
    return parser


def _add_agent(commands: argparse._SubParsersAction[Parser]) -> None:
    agent = commands.add_parser(
        "agent",
        help="run a ready agent on stdin and stdout",
        description="Run a ready agent on stdin and stdout.",
        epilog=AGENT_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    names = agent.add_subparsers(metavar="NAME", required=True, prog="dragoman agent")
    echo = names.add_parser(
        "echo", help="says what it was told; its slash commands do all that an agent can do"
    )
    echo.set_defaults(run=agents.run_echo)
    agent_review.add_parser(names)
    agent_code.add_parser(names)
    script = names.add_parser("script", help="does what a script says, also what no agent should do")
    script.add_argument("file", metavar="FILE", help="the script; docs/testing.md describes the language")
    script.set_defaults(run=agents.run_script)
