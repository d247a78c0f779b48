"""`dragoman journal`: what is done with whole journals; copies one into another.

This is the command line alone; what it does is in `journal_copy`, imported when it runs.
"""

from __future__ import annotations

import argparse
from typing import Any

EXAMPLES = """examples:
  dragoman journal copy ~/hub.db nats://one:4222,two:4222,three:4222/team
  dragoman journal copy nats://one:4222/team ~/hub.db --json

A journal is a file, or an address of NATS (docs/cluster.md). Every stream is copied with its entries, its
times and what is known about it, read back and compared by its digest. A copy that was broken off is finished
by running it again. A target with anything else in it is refused. Nobody should write into either meanwhile.

exit status: 0 all is copied and the same · 1 it is not, and the text says why · 2 the command line is wrong
"""


def add_parser(commands: argparse._SubParsersAction[Any]) -> None:
    journal = commands.add_parser(
        "journal",
        help="copy a journal from a file to NATS, or back",
        description="What is done with whole journals.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    journal.fill = _fill


def _fill(journal: argparse.ArgumentParser) -> None:
    actions = journal.add_subparsers(metavar="ACTION", required=True, prog="dragoman journal")
    copy = actions.add_parser(
        "copy",
        help="copy every stream, and prove that the copy is the same",
        description="Copy every stream of a journal into another, and prove that the copy is the same.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    copy.add_argument("source", metavar="FROM", help="a journal's file, or an address of NATS")
    copy.add_argument("target", metavar="TO", help="another one; made if it is not there")
    copy.add_argument("--json", action="store_true", help="one JSON object instead of text")
    copy.set_defaults(run=_copy)


def _copy(chosen: argparse.Namespace) -> int:
    from dragoman.cli import journal_copy

    return journal_copy.run(chosen)
