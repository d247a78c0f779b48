"""The options of `dragoman check` and `dragoman review`."""

from __future__ import annotations

import argparse

from dragoman_app.cli.options.values import add_dialect, seconds
from dragoman_app.cli.parser import Parser

FORMAT_NAMES = ("text", "json", "junit", "sarif", "html", "badge", "badge-json")
SEVERITIES = ("critical", "high", "medium", "low", "info")


def add_check_agent(parser: Parser) -> None:
    parser.splits = True
    _add_examination(parser)
    _add_report(parser)
    parser.add_argument("command", metavar="COMMAND", nargs="*", help="the agent's command, after --")


def _add_examination(agent: argparse.ArgumentParser) -> None:
    how = agent.add_argument_group("how it is examined")
    _add_scenes(how)
    how.add_argument(
        "--seed", type=int, default=0, metavar="N", help="the seed for random ids and the order of scenes"
    )
    add_dialect(how, default="v1", default_text="v1: it is examined as it is")
    how.add_argument("--cwd", metavar="DIR", default=".", help="the folder to start the agent in")
    how.add_argument("--protocol", type=int, choices=(1, 2), default=0, help="the version to ask for (1)")
    how.add_argument("--login", metavar="ID", default="", help="log in with this method first")
    how.add_argument("--save", metavar="DIR", help="keep a recording of each connection in this folder")


def _add_scenes(how: argparse._ActionsContainer) -> None:
    """Which scenes are played with an agent, and how."""
    how.add_argument("--prompts", metavar="FILE", help="a TOML file with prompts for your agent")
    how.add_argument(
        "--timeout",
        type=seconds(most=3600, zero=False),
        default=30.0,
        metavar="S",
        help="the most seconds for each answer (30)",
    )
    how.add_argument(
        "--jobs", type=int, default=2, metavar="N", help="how many scenes run at the same time (2)"
    )
    how.add_argument("--scene", metavar="NAME", action="append", help="play only this scene; may be repeated")
    how.add_argument("--quiet", action="store_true", help="no progress on standard error")


def add_check_client(parser: Parser) -> None:
    parser.splits = True
    parser.add_argument(
        "--save", metavar="DIR", help="keep the recordings in this folder, one file per connection"
    )
    parser.add_argument(
        "--say", metavar="TEXT", action="append", default=[], help="a line for the client's input"
    )
    parser.add_argument(
        "--profile", metavar="NAME", action="append", default=[], help="play only this part of the agent"
    )
    parser.add_argument("--cwd", metavar="DIR", help="the folder to start the client in (the current folder)")
    parser.add_argument(
        "--timeout", metavar="S", type=float, default=10.0, help="the most seconds for an answer (10)"
    )
    parser.add_argument(
        "--deadline", metavar="S", type=float, default=120.0, help="the most seconds for one run (120)"
    )
    parser.add_argument("--quiet", action="store_true", help="no progress on standard error")
    _add_report(parser)
    parser.add_argument("command", metavar="COMMAND", nargs="*", help="the client's command, after --")


def add_check_stand_in(parser: Parser) -> None:
    parser.add_argument("--record", metavar="FILE", required=True, help="where to write the conversation")
    parser.add_argument("--profile", metavar="NAME", default="full", help="the agent to play (full)")
    parser.add_argument(
        "--timeout", metavar="S", type=float, default=10.0, help="the most seconds for an answer (10)"
    )
    parser.add_argument(
        "--people",
        metavar="S",
        type=float,
        default=600.0,
        help="the most seconds for a person's answer (600)",
    )


def add_check_endpoint(parser: Parser) -> None:
    parser.add_argument("url", metavar="URL", help="http, https, ws or wss")
    parser.add_argument(
        "--header", metavar="NAME:VALUE", action="append", default=[], help="a header for every request"
    )
    parser.add_argument("--cwd", metavar="DIR", default="/", help="the folder of sessions on the server (/)")
    parser.add_argument("--prompt", metavar="TEXT", help="the prompt for the agent")
    parser.add_argument(
        "--timeout", metavar="S", type=float, default=30.0, help="the most seconds for each answer (30)"
    )
    parser.add_argument("--quiet", action="store_true", help="no progress on standard error")
    _add_report(parser)


def add_check_trace(parser: Parser) -> None:
    parser.add_argument("recordings", metavar="FILE", nargs="+", help="a recording")
    parser.add_argument(
        "--side", choices=("agent", "client", "both"), default="both", help="the side to test (both)"
    )
    _add_report(parser)


def add_check_translate(parser: Parser) -> None:
    parser.splits = True
    parser.add_argument("--client", metavar="DIALECT", default="v1", help="the dialect of the tests (v1)")
    parser.add_argument("--agent", metavar="DIALECT", default="auto", help="the dialect of the agent (auto)")
    parser.add_argument("--only", metavar="IDS", action="append", default=[], help="ids, areas, patterns")
    parser.add_argument(
        "--exclude",
        metavar="IDS",
        action="append",
        default=[],
        help="everything except these ids, areas or patterns",
    )
    _add_scenes(parser)
    parser.add_argument("--strict", action="store_true", help="treat lost requirements like worse ones")
    parser.add_argument("--json", action="store_true", help="the differences as JSON")
    parser.add_argument("command", metavar="COMMAND", nargs="*", help="the agent's command, after --")


def add_check_list(parser: Parser) -> None:
    parser.add_argument(
        "--side", choices=("agent", "client", "server"), help="only requirements for this side"
    )
    parser.add_argument(
        "--unjudged", action="store_true", help="only requirements without a test, with the reason"
    )
    parser.add_argument("--packs", action="store_true", help="list the packs instead")
    parser.add_argument("only", metavar="IDS", nargs="*", help="ids, areas, patterns: TURN-06 TERM SES-1*")


def add_check_explain(parser: Parser) -> None:
    parser.add_argument("requirement", metavar="ID", nargs="+", help="an id, such as TURN-06")


def _add_report(parser: argparse.ArgumentParser) -> None:
    """The options of every examination."""
    selection_group = parser.add_argument_group("what is judged")
    selection_group.add_argument(
        "--only", metavar="IDS", action="append", default=[], help="ids, areas, patterns: TURN-06,TERM,SES-1*"
    )
    selection_group.add_argument(
        "--exclude",
        metavar="IDS",
        action="append",
        default=[],
        help="everything except these ids, areas or patterns",
    )
    selection_group.add_argument(
        "--pack",
        metavar="NAME",
        action="append",
        default=[],
        help="only the requirements of this pack; see `dragoman check list --packs`",
    )
    selection_group.add_argument(
        "--waivers", metavar="FILE", help="a TOML file with findings to accept, and why"
    )
    selection_group.add_argument("--strict", action="store_true", help="treat warnings like failures")
    report_group = parser.add_argument_group("how it is reported")
    report_group.add_argument(
        "--format",
        metavar="NAME[=FILE]",
        action="append",
        default=[],
        help=f"{', '.join(FORMAT_NAMES)}; to standard output or to a file; may be given several times",
    )
    report_group.add_argument(
        "--details", action="store_true", help="in text, also list what passed or was not tested"
    )
    report_group.add_argument(
        "--ids", choices=("tck",), default="", help="in text also the ids of the official kit, acp-tck"
    )
    report_group.add_argument("--no-redact", action="store_true", help="show and keep secrets as they are")


def add_review(parser: Parser) -> None:
    _add_texts(parser)
    _add_rules(parser)
    _add_output(parser)
    fixing = parser.add_argument_group("fixes")
    fixing.add_argument(
        "--fix", action="store_true", help="apply the safe fixes; skips files that changed in the meantime"
    )
    fixing.add_argument(
        "--unsafe", action="store_true", help="also fixes that may change what a program does"
    )


def _add_texts(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("paths", metavar="PATH", nargs="*", help="files and folders; - for standard input")
    parser.add_argument(
        "--diff",
        metavar="REF",
        nargs="?",
        const="",
        help="review changes since the last commit, or since this branch left REF",
    )
    parser.add_argument("--staged", action="store_true", help="review the files staged in git")
    parser.add_argument("--whole-files", action="store_true", help="with --diff: not only the changed lines")
    parser.add_argument(
        "--stdin-name",
        metavar="NAME",
        default="stdin.txt",
        help="the file name for standard input (stdin.txt)",
    )


def _add_rules(parser: argparse.ArgumentParser) -> None:
    rules = parser.add_argument_group("rules")
    rules.add_argument(
        "--rules",
        metavar="PATH",
        action="append",
        default=[],
        help="more rules: a file or folder, in addition to .dragoman/rules",
    )
    rules.add_argument(
        "--only", metavar="RULE", action="append", default=[], help="use only these rules, such as secrets/*"
    )
    rules.add_argument(
        "--without",
        metavar="RULE",
        action="append",
        default=[],
        help="leave out these rules, such as text/todo",
    )
    rules.add_argument(
        "--deadline",
        metavar="SECONDS",
        type=float,
        default=20.0,
        help="the most seconds for one file; then it is skipped (20)",
    )
    rules.add_argument(
        "--no-tools", action="store_true", help="only Dragoman's own rules: no ruff, no oxlint"
    )
    rules.add_argument(
        "--baseline", metavar="FILE", help="a file of known findings to ignore (.dragoman/baseline.json)"
    )
    rules.add_argument("--write-baseline", metavar="FILE", help="write all findings of this run as known")
    rules.add_argument(
        "--try-rules", action="store_true", help="test your rules on their own hits and misses, then exit"
    )
    rules.add_argument("--list-rules", action="store_true", help="list all rules, then exit")


def _add_output(parser: argparse.ArgumentParser) -> None:
    out = parser.add_argument_group("output")
    out.add_argument("--format", choices=("text", "json", "sarif", "junit", "github", "diff"), default="text")
    out.add_argument("--severity", choices=SEVERITIES, default="info", help="the lowest severity to report")
    out.add_argument(
        "--fail-on", choices=SEVERITIES, default="low", help="the lowest severity that gives exit status 1"
    )
    out.add_argument("--colour", "--color", choices=("auto", "always", "never"), default="auto")
