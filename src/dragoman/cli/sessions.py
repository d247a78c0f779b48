"""`dragoman sessions`: the recorded conversations; lists, shows, exports, searches and deletes them.

This is the command line alone; what it does is in `sessions_show`, imported when it runs.
"""

from __future__ import annotations

import argparse
from typing import Any

EXAMPLES = """examples:
  dragoman sessions                            the latest sessions
  dragoman sessions show last                  the conversation as text
  dragoman sessions search needle haystack     sessions in which both words were said
  dragoman sessions export 20260102-0304 a.ndjson
  dragoman sessions import a.ndjson
  dragoman sessions delete 20260102-030405-1a2b3c4d

An ID may be shortened as long as it is clear; `last` is the latest session, and the agent's own id will do.
docs/journal.md describes what is stored, and the format of transcripts.
"""


def add_parser(commands: argparse._SubParsersAction[Any]) -> None:
    sessions = commands.add_parser(
        "sessions",
        help="list, show, export, search and delete recorded sessions",
        description="List, show, export, search and delete recorded sessions.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    sessions.fill = _fill


def _fill(sessions: argparse.ArgumentParser) -> None:
    _takes_journal(sessions, default=None)
    _takes_json(sessions, default=False)
    sessions.set_defaults(action="list", agent=None, cwd=None, limit=30, run=_run)
    actions = sessions.add_subparsers(metavar="ACTION", prog="dragoman sessions")
    _add_list(actions)
    _add_show(actions)
    _add_search(actions)
    _add_export(actions)
    _add_import(actions)
    _add_delete(actions)
    _add_repair(actions)


def _add_list(actions: argparse._SubParsersAction[Any]) -> None:
    parser = _action(actions, "list", "the latest sessions")
    parser.add_argument("--agent", metavar="NAME", help="only those with this agent")
    parser.add_argument("--cwd", metavar="DIR", help="only those in this folder")
    parser.add_argument("--limit", metavar="N", type=int, default=30, help="how many; 0 for all")
    _takes_json(parser)


def _add_show(actions: argparse._SubParsersAction[Any]) -> None:
    parser = _action(actions, "show", "the conversation as text")
    parser.add_argument("id", metavar="ID")
    parser.add_argument("--notes", action="store_true", help="also what was not said on the wire")
    _takes_json(parser)


def _add_search(actions: argparse._SubParsersAction[Any]) -> None:
    parser = _action(actions, "search", "passages that have all these words")
    parser.add_argument("words", metavar="WORD", nargs="+")
    parser.add_argument("--limit", metavar="N", type=int, default=20, help="how many passages")
    _takes_json(parser)


def _add_export(actions: argparse._SubParsersAction[Any]) -> None:
    parser = _action(actions, "export", "write a session as a transcript")
    parser.add_argument("id", metavar="ID")
    parser.add_argument("file", metavar="FILE", nargs="?", default="-", help="standard output if not given")


def _add_import(actions: argparse._SubParsersAction[Any]) -> None:
    parser = _action(actions, "import", "read a transcript into the history")
    parser.add_argument("file", metavar="FILE", help="- for standard input")


def _add_delete(actions: argparse._SubParsersAction[Any]) -> None:
    parser = _action(actions, "delete", "forget sessions and all their text")
    parser.add_argument("ids", metavar="ID", nargs="+")


def _add_repair(actions: argparse._SubParsersAction[Any]) -> None:
    _action(actions, "repair", "save what can be read of a damaged history; the damaged file is kept")


def _action(actions: argparse._SubParsersAction[Any], name: str, does: str) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = actions.add_parser(name, help=does, description=does)
    _takes_journal(parser)
    parser.set_defaults(run=_run, action=name)
    return parser


# What is said before the action holds for it too: an action without the option must not undo it.


def _takes_journal(parser: argparse.ArgumentParser, *, default: Any = argparse.SUPPRESS) -> None:
    text = "another file than this person's history"
    parser.add_argument("--journal", metavar="PATH", help=text, default=default)


def _takes_json(parser: argparse.ArgumentParser, *, default: Any = argparse.SUPPRESS) -> None:
    text = "one JSON object instead of text"
    parser.add_argument("--json", action="store_true", help=text, default=default)


def _run(chosen: argparse.Namespace) -> int:
    from dragoman.cli import sessions_show

    return sessions_show.run(chosen)
