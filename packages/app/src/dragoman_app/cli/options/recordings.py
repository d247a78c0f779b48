"""The options of `dragoman sessions`, of the commands for recordings, and of the interpreter."""

from __future__ import annotations

import argparse

from dragoman_app.cli.options.values import add_json, parse_dialect, parse_span
from dragoman_app.cli.parser import Parser


def add_sessions(parser: Parser) -> None:
    _add_journal(parser, default=None)
    add_json(parser)
    parser.set_defaults(action="list", agent=None, cwd=None, limit=30)


def add_sessions_list(parser: Parser) -> None:
    _add_journal(parser)
    parser.add_argument("--agent", metavar="NAME", help="only sessions with this agent")
    parser.add_argument("--cwd", metavar="DIR", help="only sessions in this folder")
    parser.add_argument("--limit", metavar="N", type=int, default=30, help="how many to show; 0 for all (30)")
    add_json(parser, default=argparse.SUPPRESS)


def add_sessions_show(parser: Parser) -> None:
    _add_journal(parser)
    parser.add_argument("id", metavar="ID")
    parser.add_argument("--notes", action="store_true", help="also Dragoman's own notes")
    add_json(parser, default=argparse.SUPPRESS)


def add_sessions_search(parser: Parser) -> None:
    _add_journal(parser)
    parser.add_argument("words", metavar="WORD", nargs="+")
    parser.add_argument("--limit", metavar="N", type=int, default=20, help="how many passages to show (20)")
    add_json(parser, default=argparse.SUPPRESS)


def add_sessions_export(parser: Parser) -> None:
    _add_journal(parser)
    parser.add_argument("id", metavar="ID")
    parser.add_argument(
        "file", metavar="FILE", nargs="?", default="-", help="the file to write (standard output)"
    )


def add_sessions_import(parser: Parser) -> None:
    _add_journal(parser)
    parser.add_argument("file", metavar="FILE", help="the file to read; - for standard input")


def add_sessions_handover(parser: Parser) -> None:
    _add_journal(parser)
    parser.add_argument("id", metavar="ID")
    parser.add_argument("--agent", metavar="AGENT", help="the agent that continues")
    parser.add_argument("--prompt", metavar="TEXT", default="", help="the first prompt")
    parser.add_argument("--brief", action="store_true", help="show the brief, without starting the agent")
    parser.add_argument("--hub", metavar="URL", nargs="?", const="", help="a session of a hub (your own hub)")
    parser.add_argument("--token-file", metavar="FILE", help="a file with the hub's token")
    parser.add_argument("--force", action="store_true", help="also while a turn is running, at a hub")
    add_json(parser, default=argparse.SUPPRESS)


def add_sessions_forget(parser: Parser) -> None:
    _add_journal(parser, default=None)
    parser.add_argument("ids", metavar="SESSION", nargs="*", help="an id, its first characters, or `last`")
    parser.add_argument("--all", action="store_true", help="every session")
    parser.add_argument("--agent", metavar="NAME", help="only sessions with this agent")
    parser.add_argument(
        "--older-than",
        metavar="SPAN",
        type=parse_span,
        help="only sessions without a message for this long: 12h, 30d",
    )
    parser.add_argument("--hub", metavar="URL", nargs="?", const="", help="sessions of a hub (your own hub)")
    parser.add_argument("--token-file", metavar="FILE", help="a file with the hub's token")
    parser.add_argument("--dry-run", action="store_true", help="show what would be erased, without erasing")
    parser.add_argument("-y", "--yes", action="store_true", help="do not ask")
    add_json(parser, default=argparse.SUPPRESS)


def add_sessions_repair(parser: Parser) -> None:
    _add_journal(parser)


def _add_journal(parser: argparse.ArgumentParser, *, default: object = argparse.SUPPRESS) -> None:
    text = "another journal than your history"
    parser.add_argument("--journal", metavar="PATH", help=text, default=default)


def _add_memory(parser: argparse.ArgumentParser) -> None:
    _add_journal(parser, default=None)
    parser.add_argument(
        "--key", metavar="PLACE", help="of a sealed journal: env:NAME, file:PATH or keyring:SERVICE/NAME"
    )


def add_blame(parser: Parser) -> None:
    parser.add_argument("file", metavar="FILE", help="the file, or FILE:LINE, or FILE:FIRST,LAST")
    parser.add_argument("--lines", metavar="A,B", help="only these lines, counted from 1")
    parser.add_argument(
        "--folder", metavar="DIR", help="the folder of the sessions; FILE is looked for there"
    )
    _add_memory(parser)
    forms = parser.add_mutually_exclusive_group()
    add_json(forms)
    forms.add_argument("--porcelain", action="store_true", help="as git's, for programs that read that")
    forms.add_argument(
        "--format", choices=("text", "json", "porcelain", "agent-trace"), help="agent-trace: its JSON record"
    )


def add_why(parser: Parser) -> None:
    parser.add_argument("file", metavar="FILE:LINE")
    parser.add_argument(
        "--folder", metavar="DIR", help="the folder of the sessions; FILE is looked for there"
    )
    _add_memory(parser)
    add_json(parser)
    parser.set_defaults(lines=None)


def add_rewind(parser: Parser) -> None:
    parser.add_argument(
        "session", metavar="SESSION", nargs="?", help="an id, or a clear part of it; the last one here"
    )
    parser.add_argument(
        "--to",
        metavar="TURN",
        type=int,
        help="the state before this turn, counted from 1",
    )
    parser.add_argument("--steps", action="store_true", help="list the steps of that turn; changes nothing")
    parser.add_argument(
        "--step", metavar="N", type=int, help="the state before step N of that turn, as --steps counts them"
    )
    parser.add_argument("--undo", action="store_true", help="undo the last rewind in this folder")
    parser.add_argument("--folder", metavar="DIR", help="the folder of the session, if it is not this one")
    parser.add_argument("--dry-run", action="store_true", help="show the changes, without making them")
    parser.add_argument("--force", action="store_true", help="also replace lines that a person wrote since")
    parser.add_argument(
        "--conversation",
        action="store_true",
        help="also record a session that ends there, so that you can continue it",
    )
    _add_memory(parser)
    add_json(parser)


def add_attest(parser: Parser) -> None:
    parser.add_argument(
        "ref", metavar="REF", nargs="?", default="HEAD", help="a commit, or a range such as main..HEAD (HEAD)"
    )
    parser.add_argument("--format", choices=("text", "json", "trailer", "note"), default="text")
    parser.add_argument("--write", action="store_true", help="with --format note: keep it as a note of git")
    parser.add_argument(
        "--prompts", action="store_true", help="also include the prompts, with secrets masked"
    )
    parser.add_argument("--folder", metavar="DIR", help="a folder of the repository, if not this one")
    _add_memory(parser)


def add_fork(parser: Parser) -> None:
    parser.add_argument(
        "session", metavar="SESSION", nargs="?", help="an id, or a clear part of it; the last one here"
    )
    parser.add_argument("--turn", metavar="N", type=int, help="the state after this turn; the last one")
    parser.add_argument("--agent", metavar="AGENT", help="the agent that continues (the same agent)")
    parser.add_argument("--worktree", metavar="DIR", help="where the fork goes; beside the folder")
    parser.add_argument("--prompt", metavar="TEXT", default="", help="continue at once, with this prompt")
    parser.add_argument("--folder", metavar="DIR", help="the folder of the session, if it is not this one")
    parser.add_argument("--dry-run", action="store_true", help="show the plan, without making the fork")
    _add_journal(parser, default=None)
    add_json(parser)


def add_tap(parser: Parser) -> None:
    parser.add_argument("--record", metavar="FILE", help="where to write; it must not exist yet")
    parser.add_argument("--folder", metavar="DIR", help="the folder for recordings without a name")
    parser.add_argument(
        "--guard", action="store_true", help="show an agent's stray output instead of passing it"
    )
    parser.add_argument("--no-redact", action="store_true", help="record secrets as they are")
    parser.add_argument(
        "--max-size", metavar="MB", type=float, default=256.0, help="begin a new file at (256)"
    )
    parser.add_argument("--keep", metavar="N", type=int, default=4, help="files of one conversation kept (4)")
    parser.add_argument("--live", action="store_true", help="print on standard error how to watch")
    parser.add_argument("command", metavar="COMMAND", nargs="+", help="the agent's command, after --")


def add_view(parser: Parser) -> None:
    parser.add_argument(
        "recording", metavar="FILE", help="a recording of Dragoman or another program, or plain frames"
    )
    parser.add_argument("-o", "--output", metavar="FILE", help="where to write (beside the recording)")
    parser.add_argument("--open", action="store_true", help="open it in the browser")
    parser.add_argument("--title", metavar="TEXT", help="the title (the file's name)")


def add_replay(parser: Parser) -> None:
    parser.splits = True
    parser.add_argument(
        "recording", metavar="FILE", help="a recording of Dragoman or another program, or plain frames"
    )
    parser.add_argument("--match", choices=("exact", "shape", "order"), default="shape")
    parser.add_argument("--speed", metavar="N", default="fast", help="real, fast (no waits), or a factor")
    parser.add_argument("--as", dest="party", choices=("agent", "client"), default="agent")
    parser.add_argument("--timeout", metavar="S", type=float, default=60.0, help="for each answer (60)")
    parser.add_argument(
        "--cwd", metavar="DIR", help="the folder to use in place of the recorded one (this folder)"
    )
    parser.add_argument("--json", action="store_true", help="the differences as JSON")
    parser.set_defaults(command=[])


def add_diff(parser: Parser) -> None:
    parser.add_argument("first", metavar="A", help="a recording")
    parser.add_argument("second", metavar="B", help="another")
    parser.add_argument("--json", action="store_true", help="the differences as JSON")


def add_chaos(parser: Parser) -> None:
    parser.add_argument("--seed", type=int, default=1, metavar="N")
    parser.add_argument("--profile", choices=("network", "process", "peer"), default="network")
    parser.add_argument("--save", metavar="FILE", help="write down the faults that struck")
    parser.add_argument("--script", metavar="FILE", help="use these faults instead of those of a seed")
    parser.add_argument("--shrink", metavar="TEST", help="find the shortest script that makes this test fail")
    parser.add_argument("command", metavar="COMMAND", nargs="+", help="the agent's command, after --")


def add_translate(parser: Parser) -> None:
    parser.add_argument("--client", metavar="DIALECT", type=parse_dialect, default="auto")
    parser.add_argument("--agent", metavar="DIALECT", type=parse_dialect, default="auto")
    parser.add_argument("--strict", action="store_true", help="end the conversation at the first loss")
    parser.add_argument("--ledger", metavar="FILE", help="write what was lost or repaired, as JSON")
    parser.add_argument("--cwd", metavar="DIR", help="the folder of sessions whose dialect names none")
    parser.add_argument(
        "--policy", metavar="FILE", help="rules for questions that a dialect can't ask, and for files"
    )
    parser.add_argument(
        "--as-written",
        action="store_true",
        help="threads only: use the directions of its document, not those of its code",
    )
    parser.add_argument(
        "--credentials",
        action="store_true",
        help="give credentials of a login to any agent: in its environment, or at its login command",
    )
    parser.add_argument(
        "--no-quirks", action="store_true", help="leave known deviations of real agents and clients alone"
    )
    parser.add_argument("command", metavar="COMMAND", nargs="+", help="the agent's command, after --")


def add_dialect_explain(parser: Parser) -> None:
    parser.add_argument("trace", metavar="TRACE", help="a recording; - for standard input")
    add_json(parser)


def add_dialect_list(parser: Parser) -> None:
    add_json(parser)
