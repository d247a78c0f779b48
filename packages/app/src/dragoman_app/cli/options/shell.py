"""The options of `dragoman completions`, `help`, `where` and `config`, of the service, and of `editors`."""

from __future__ import annotations

from dragoman_app.cli.options.values import add_json
from dragoman_app.cli.parser import Parser

KINDS = ("agents", "hub", "policy")
EDITORS = ("zed", "neovim", "emacs", "jetbrains", "vscode")


def add_completions(parser: Parser) -> None:
    parser.add_argument("shell", choices=("bash", "zsh", "fish"), help="which shell")


def add_complete(parser: Parser) -> None:
    parser.splits = True
    parser.add_argument("command", nargs="*", help="the words before the cursor, after --")


def add_where(parser: Parser) -> None:
    parser.add_argument("name", metavar="NAME", nargs="?", help="print only the path of this place")
    add_json(parser)


def add_config_check(parser: Parser) -> None:
    parser.add_argument("kind", choices=KINDS, nargs="?", help="which file (all three)")
    parser.add_argument("--file", metavar="FILE", help="the file, if not the usual one")
    add_json(parser)


def add_config_show(parser: Parser) -> None:
    parser.add_argument("kind", choices=KINDS, help="which file")
    add_json(parser)


def add_config_schema(parser: Parser) -> None:
    parser.add_argument("kind", choices=KINDS, help="which file")


def add_hub_install(parser: Parser) -> None:
    parser.add_argument("--config", metavar="FILE", help="the hub's configuration file, if not the usual one")
    parser.add_argument("--no-start", action="store_true", help="write the file and start nothing")
    add_hub_uninstall(parser)
    add_json(parser)


def add_hub_uninstall(parser: Parser) -> None:
    parser.add_argument("--dry-run", action="store_true", help="show the plan and change nothing")


def add_editors_install(parser: Parser) -> None:
    parser.add_argument(
        "--agent",
        action="append",
        choices=("review", "code", "echo"),
        help="the agents of Dragoman to add (review and code)",
    )
    add_editors_uninstall(parser)


def add_editors_uninstall(parser: Parser) -> None:
    parser.add_argument("editor", choices=EDITORS, help="which editor")
    parser.add_argument("--file", metavar="FILE", help="its settings file, if not the usual one")
    parser.add_argument("--dry-run", action="store_true", help="show the difference, and write nothing")
    parser.add_argument("--yes", action="store_true", help="write without asking")
    add_json(parser)


def add_help(parser: Parser) -> None:
    parser.add_argument("topic", metavar="PAGE", nargs="*", help="a page, or a command")
