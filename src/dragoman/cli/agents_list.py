"""`dragoman agents`: the agents that are known by name; reads, imports, adds and removes them.

This is the command line alone; what it does is in `agents_show` and `agents_edit`, imported when it runs.
"""

from __future__ import annotations

import argparse
from typing import Any

from dragoman.cli.dialect import add_option

EXAMPLES = """examples:
  dragoman agents                              what is known here
  dragoman agents list --all                   also what is not installed, and how to install it
  dragoman agents show claude                  where its command is, what it gets
  dragoman agents import zed --dry-run         what Zed's settings would bring
  dragoman agents add mine my-agent --acp      a name for a command
  dragoman agents remove mine
  dragoman agents login mine                   its ways to log in; the only one is taken
  dragoman agents login mine METHOD            log in by this one
  dragoman agents logout mine                  it forgets who is logged in, if it can

Names are for `dragoman run --agent NAME` and `dragoman doctor NAME`; docs/known-agents.md describes the file
that they are kept in.
"""


def add_parser(commands: argparse._SubParsersAction[Any]) -> None:
    agents = commands.add_parser(
        "agents",
        help="list, import, add and remove agents that are known by name",
        description="List, import, add and remove agents that are known by name.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    agents.fill = _fill


def _fill(agents: argparse.ArgumentParser) -> None:
    _takes_json(agents)
    agents.set_defaults(run=_run_list, all=False)
    actions = agents.add_subparsers(metavar="ACTION", prog="dragoman agents")
    _add_list(actions)
    _add_show(actions)
    _add_import(actions)
    _add_add(actions)
    _add_remove(actions)
    _add_login(actions)
    _add_logout(actions)


def _add_list(actions: argparse._SubParsersAction[Any]) -> None:
    parser = actions.add_parser("list", help="the agents that can be started here")
    parser.add_argument("--all", action="store_true", help="also well-known ones that are not installed")
    _takes_json(parser)
    parser.set_defaults(run=_run_list)


def _add_show(actions: argparse._SubParsersAction[Any]) -> None:
    parser = actions.add_parser("show", help="one agent: its command, its variables, where it comes from")
    parser.add_argument("agent", metavar="NAME", help="a name, a command in quotes or an address")
    _takes_json(parser)
    parser.set_defaults(run=_run_show)


def _add_import(actions: argparse._SubParsersAction[Any]) -> None:
    parser = actions.add_parser("import", help="take over agents from the configuration of another product")
    parser.add_argument("product", choices=("zed", "jetbrains", "acpx"), metavar="zed|jetbrains|acpx")
    parser.add_argument("file", metavar="FILE", nargs="?", help="its file, if it is not in its usual place")
    parser.add_argument("--dry-run", action="store_true", help="say what would be taken, and write nothing")
    _takes_replace(parser)
    _takes_json(parser)
    parser.set_defaults(run=_run_import)


def _add_add(actions: argparse._SubParsersAction[Any]) -> None:
    parser = actions.add_parser(
        "add",
        help="give a command a name",
        usage="dragoman agents add [options] NAME COMMAND [ARGUMENT ...]",
        description="Give a command a name. Options stand before the name: what follows is the command.",
    )
    parser.add_argument("name", metavar="NAME")
    parser.add_argument("words", metavar="COMMAND", nargs=argparse.REMAINDER)
    parser.add_argument(
        "--env", metavar="NAME=VALUE", action="append", default=[], help="a variable to set for it"
    )
    parser.add_argument(
        "--allow", metavar="NAME", action="append", default=[], help="a variable of ours that it may see"
    )
    parser.add_argument("--title", default="", help="what to show beside the name")
    add_option(parser, default="auto")
    _takes_replace(parser)
    parser.set_defaults(run=_run_add)


def _add_remove(actions: argparse._SubParsersAction[Any]) -> None:
    parser = actions.add_parser("remove", help="take a name out of the configuration file")
    parser.add_argument("name", metavar="NAME")
    parser.set_defaults(run=_run_remove)


def _add_login(actions: argparse._SubParsersAction[Any]) -> None:
    parser = actions.add_parser(
        "login",
        help="log in to an agent",
        description="Log in to an agent by one of the ways that it offers; without METHOD they are shown.",
    )
    parser.add_argument("agent", metavar="NAME", help="a name, a command in quotes or an address")
    parser.add_argument("method", metavar="METHOD", nargs="?", help="the id of a login method")
    parser.add_argument(
        "--env", action="append", default=[], metavar="NAME[=VALUE]", help="hand this variable to the agent"
    )
    parser.set_defaults(run=_run_login)


def _add_logout(actions: argparse._SubParsersAction[Any]) -> None:
    parser = actions.add_parser("logout", help="let an agent forget who is logged in")
    parser.add_argument("agent", metavar="NAME", help="a name, a command in quotes or an address")
    parser.set_defaults(run=_run_logout)


def _takes_json(parser: argparse.ArgumentParser) -> None:
    # Not set when it is not given: a sub-command's default would undo what was said before it.
    parser.add_argument(
        "--json", action="store_true", default=argparse.SUPPRESS, help="one JSON object instead of a table"
    )


def _takes_replace(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--replace", action="store_true", help="also when the name is in our file already")


def _run_list(chosen: argparse.Namespace) -> int:
    from dragoman.cli import agents_show

    return agents_show.run_list(include_missing=chosen.all, as_json=_wants_json(chosen))


def _run_show(chosen: argparse.Namespace) -> int:
    from dragoman.cli import agents_show

    return agents_show.run_show(chosen.agent, as_json=_wants_json(chosen))


def _run_import(chosen: argparse.Namespace) -> int:
    from dragoman.cli import agents_edit

    return agents_edit.run_import(
        chosen.product,
        file=chosen.file,
        dry_run=chosen.dry_run,
        replace=chosen.replace,
        as_json=_wants_json(chosen),
    )


def _run_add(chosen: argparse.Namespace) -> int:
    from dragoman.cli import agents_edit

    return agents_edit.run_add(
        chosen.name,
        words=chosen.words,
        env=chosen.env,
        allow=chosen.allow,
        title=chosen.title,
        dialect=chosen.dialect,
        replace=chosen.replace,
    )


def _run_remove(chosen: argparse.Namespace) -> int:
    from dragoman.cli import agents_edit

    return agents_edit.run_remove(chosen.name)


def _run_login(chosen: argparse.Namespace) -> int:
    from dragoman.cli import agents_login

    return agents_login.run_login(chosen.agent, chosen.method, variables=chosen.env)


def _run_logout(chosen: argparse.Namespace) -> int:
    from dragoman.cli import agents_logout

    return agents_logout.run_logout(chosen.agent)


def _wants_json(chosen: argparse.Namespace) -> bool:
    return getattr(chosen, "json", False)
