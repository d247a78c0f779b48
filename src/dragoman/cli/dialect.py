"""`dragoman dialect`: which dialect a recording is, and which there are.

This is the command line alone; what it does is in `dialect_show`, imported when it runs.
"""

from __future__ import annotations

import argparse
from typing import Any

EXAMPLES = """examples:
  dragoman dialect explain conversation.ndjson    who speaks what, where it strays from v1, how to mend it
  dragoman dialect explain - --json < frames.ndjson
  dragoman dialect list                           every dialect that can be translated

TRACE is a transcript (`dragoman sessions export`, or lines with `c2a` and `a2c`), or frames, one a line.
docs/dialects.md describes the dialects.

exit status:
    0  both sides speak v1 and nothing deviates
    1  TRACE cannot be read
    2  the command line makes no sense
    3  something deviates from v1
"""


def add_option(
    options: argparse._ActionsContainer, *, default: str | None = None, said: str = "auto"
) -> None:
    """`--dialect`, for every command that starts an agent. `said` is what the help calls the default."""
    options.add_argument(
        "--dialect",
        metavar="DIALECT",
        type=_known_dialect,
        default=default,
        help=f"what the agent speaks: a name of `dragoman dialect list`, or auto ({said})",
    )


def _known_dialect(name: str) -> str:
    from dragoman.dialect.names import CHOICES  # only who names one pays for the list

    if name not in CHOICES:
        raise argparse.ArgumentTypeError(f"there is no dialect {name!r}; there are {', '.join(CHOICES)}")
    return name


def add_parser(commands: argparse._SubParsersAction[Any]) -> None:
    dialect = commands.add_parser(
        "dialect",
        help="explain which dialect a recording is, and list those that are known",
        description="Explain which dialect a recording is, and list those that are known.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    dialect.fill = _fill


def _fill(dialect: argparse.ArgumentParser) -> None:
    actions = dialect.add_subparsers(metavar="ACTION", required=True, prog="dragoman dialect")
    explain = actions.add_parser("explain", help="which dialect a recording is, and what deviates from v1")
    explain.add_argument("trace", metavar="TRACE", help="a recording; - for standard input")
    explain.add_argument("--json", action="store_true", help="one JSON object instead of text")
    explain.set_defaults(run=_run_explain)
    known = actions.add_parser("list", help="the dialects that can be translated")
    known.add_argument("--json", action="store_true", help="one JSON object instead of text")
    known.set_defaults(run=_run_list)


def _run_explain(chosen: argparse.Namespace) -> int:
    from dragoman.cli import dialect_show

    return dialect_show.run_explain(chosen.trace, as_json=chosen.json)


def _run_list(chosen: argparse.Namespace) -> int:
    from dragoman.cli import dialect_show

    return dialect_show.run_list(as_json=chosen.json)
