"""`dragoman policy`: what agents may do here; which rule decides a request, and why.

This is the command line alone; what it does is in `policy_show`, imported when it runs.
"""

from __future__ import annotations

import argparse
from typing import Any

EXAMPLES = """examples:
  dragoman policy explain --command "git push"         which rule decides this, and why
  dragoman policy explain --tool edit --path src/x.py
  dragoman policy explain --request request.json       the params of session/request_permission
  dragoman policy check policy.toml                    whether a file can be used
  dragoman policy list                                 every rule that holds here, in order
  dragoman policy forget 7                             take back an answer that was given for good

docs/policy.md describes the language.
"""


def add_parser(commands: argparse._SubParsersAction[Any]) -> None:
    policy = commands.add_parser(
        "policy",
        help="explain, check and list what agents may do",
        description="Explain, check and list what agents may do.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    policy.fill = _fill


def _fill(policy: argparse.ArgumentParser) -> None:
    actions = policy.add_subparsers(metavar="ACTION", required=True, prog="dragoman policy")
    _add_explain(actions)
    _add_check(actions)
    _add_list(actions)
    _add_forget(actions)


def _add_explain(actions: argparse._SubParsersAction[Any]) -> None:
    parser = actions.add_parser("explain", help="which rule decides a request, and why")
    parser.add_argument("--command", metavar="LINE", help="a command, as for a shell")
    parser.add_argument("--tool", metavar="NAME", help="a kind of tool, such as edit, or a tool's name")
    parser.add_argument("--kind", metavar="KIND", help="the kind, beside a tool's name")
    parser.add_argument("--path", metavar="PATH", action="append", default=[], help="may be given repeatedly")
    parser.add_argument("--method", choices=("permission", "fs/read", "fs/write", "terminal", "mcp"))
    parser.add_argument("--request", metavar="FILE", help="a permission request as JSON; - for stdin")
    parser.add_argument("--agent", metavar="NAME", default="", help="the agent's name")
    _takes_place(parser)
    _takes_json(parser)
    parser.set_defaults(run=_run_explain)


def _add_check(actions: argparse._SubParsersAction[Any]) -> None:
    parser = actions.add_parser("check", help="whether a file is a policy; its first mistake if not")
    parser.add_argument("file", metavar="FILE")
    _takes_json(parser)
    parser.set_defaults(run=_run_check)


def _add_list(actions: argparse._SubParsersAction[Any]) -> None:
    parser = actions.add_parser("list", help="the rules that hold here, in their order")
    _takes_place(parser)
    _takes_json(parser)
    parser.set_defaults(run=_run_list)


def _add_forget(actions: argparse._SubParsersAction[Any]) -> None:
    parser = actions.add_parser("forget", help="take back an answer that was given for good")
    parser.add_argument("line", metavar="LINE", type=int, help="the line that `list` shows for it")
    parser.set_defaults(run=_run_forget)


def _takes_place(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--cwd", metavar="DIR", default=".", help="the session's folder; this one if not given"
    )
    parser.add_argument("--policy", metavar="FILE", help="a policy that comes before all others")
    parser.add_argument("--approve", choices=("all", "reads", "none"), help="as for dragoman run")


def _takes_json(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="one JSON object instead of text")


def _run_explain(chosen: argparse.Namespace) -> int:
    from dragoman.cli import policy_show

    return policy_show.run_explain(chosen)


def _run_check(chosen: argparse.Namespace) -> int:
    from dragoman.cli import policy_show

    return policy_show.run_check(chosen.file, as_json=chosen.json)


def _run_list(chosen: argparse.Namespace) -> int:
    from dragoman.cli import policy_show

    return policy_show.run_list(chosen)


def _run_forget(chosen: argparse.Namespace) -> int:
    from dragoman.cli import policy_show

    return policy_show.run_forget(chosen.line)
