"""`dragoman review`: what is wrong in files or in changes, for people, programs and CI.

This is the command line alone; what it does is in `review_run`, imported when it runs.
"""

from __future__ import annotations

import argparse
from typing import Any

EXAMPLES = """examples:
  dragoman review                       the files of this folder (those that git does not ignore)
  dragoman review src/app.py lib        some files and folders
  dragoman review --diff                what changed since the last commit, in changed lines only
  dragoman review --diff main           what changed since the history of main was left
  dragoman review --staged              what would be committed now
  dragoman review --fix                 mend what can be mended safely
  dragoman review --format sarif > review.sarif
  dragoman review --list-rules

exit status: 0 nothing found at or above --fail-on, 1 something found, 2 the command line or a rule makes no
sense, 3 a tool failed, so that findings may be missing. docs/review.md describes rules and formats.
"""

_SEVERITIES = ("critical", "high", "medium", "low", "info")


def add_parser(commands: argparse._SubParsersAction[Any]) -> None:
    review = commands.add_parser(
        "review",
        help="review files or changes, offline",
        description="Review files or changes, offline.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    review.fill = _fill
    review.set_defaults(run=_run)


def _fill(parser: argparse.ArgumentParser) -> None:
    _takes_what(parser)
    _takes_rules(parser)
    _takes_output(parser)
    fixing = parser.add_argument_group("fixes")
    fixing.add_argument(
        "--fix", action="store_true", help="write the safe fixes; a file that changed is left"
    )
    fixing.add_argument(
        "--unsafe", action="store_true", help="also fixes that may change what a program does"
    )


def _takes_what(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("paths", metavar="PATH", nargs="*", help="files and folders; - for standard input")
    parser.add_argument(
        "--diff",
        metavar="REF",
        nargs="?",
        const="",
        help="changes since the last commit, or since REF was left",
    )
    parser.add_argument("--staged", action="store_true", help="what is in the index of git")
    parser.add_argument("--whole-files", action="store_true", help="with --diff: not only the changed lines")
    parser.add_argument(
        "--stdin-name", metavar="NAME", default="stdin.txt", help="the name of what comes from -"
    )


def _takes_rules(parser: argparse.ArgumentParser) -> None:
    rules = parser.add_argument_group("rules")
    rules.add_argument(
        "--rules",
        metavar="PATH",
        action="append",
        default=[],
        help="a file or folder of rules, beside .dragoman/rules",
    )
    rules.add_argument("--only", metavar="RULE", action="append", default=[], help="such as secrets/*")
    rules.add_argument("--without", metavar="RULE", action="append", default=[], help="such as text/todo")
    rules.add_argument(
        "--deadline", metavar="SECONDS", type=float, default=20.0, help="for one file; then it is left"
    )
    rules.add_argument("--no-tools", action="store_true", help="our own rules only: no ruff, no oxlint")
    rules.add_argument(
        "--baseline", metavar="FILE", help="findings that are known; .dragoman/baseline.json if there"
    )
    rules.add_argument("--write-baseline", metavar="FILE", help="write what is found now as known")
    rules.add_argument(
        "--try-rules", action="store_true", help="your rules on their hits and misses, and end"
    )
    rules.add_argument("--list-rules", action="store_true", help="every rule, and end")


def _takes_output(parser: argparse.ArgumentParser) -> None:
    out = parser.add_argument_group("output")
    out.add_argument("--format", choices=("text", "json", "sarif", "github", "diff"), default="text")
    out.add_argument("--severity", choices=_SEVERITIES, default="info", help="the mildest to report")
    out.add_argument(
        "--fail-on", choices=_SEVERITIES, default="low", help="the mildest that gives exit status 1"
    )
    out.add_argument("--colour", "--color", choices=("auto", "always", "never"), default="auto")


def _run(chosen: argparse.Namespace) -> int:
    from dragoman.cli import review_run

    return review_run.run(chosen)
