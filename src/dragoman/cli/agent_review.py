"""`dragoman agent review`: starts the reviewing agent."""

from __future__ import annotations

import argparse
import os
import sys
from typing import TYPE_CHECKING, Any

from dragoman.cli.console import say

if TYPE_CHECKING:
    from pathlib import Path

    from dragoman.agents.code.config import CoderConfig
    from dragoman.journal import Journal

EPILOG = """It reviews offline, with rules of its own, and with ruff, ast-grep and oxlint where they are
installed (pip install 'dragoman[review]'); docs/review-agent.md says what can be said to it.
With a model (--model, or DRAGOMAN_MODEL and the variables of dragoman agent code) findings are explained and
ranked by it; it is sent each finding with a few lines around it.

examples:
  dragoman agent review
  dragoman run "review my changes" --agent "dragoman agent review"
"""


def add_parser(names: argparse._SubParsersAction[Any]) -> None:
    review = names.add_parser(
        "review",
        help="reviews code, offline, and fixes what you let it fix",
        description="A reviewer on stdin and stdout, for any editor.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    review.fill = _fill


def _fill(review: argparse.ArgumentParser) -> None:
    review.add_argument("--sessions", metavar="FILE", help="the journal that sessions are kept in")
    review.add_argument("--offline", action="store_true", help="ask no model, whatever is configured")
    review.add_argument("--model", metavar="MODEL", help="explains findings: openai:NAME or anthropic:NAME")
    review.add_argument("--base-url", metavar="URL", help="the model's server, if not the vendor's own")
    review.add_argument("--api", choices=("openai", "anthropic"), help="the wire format of that server")
    review.add_argument("--key-file", metavar="FILE", help="a file that holds the key and nothing else")
    review.set_defaults(run=_run)


def _run(chosen: argparse.Namespace) -> int:
    from dragoman.transport.stdio import claim_stdio

    claim_stdio()
    from dragoman import serve
    from dragoman.agents.review.agent import review_agent

    model = None if chosen.offline else _model(chosen)
    serve(review_agent(sessions=_sessions(chosen.sessions), model=model))
    return 0


def _sessions(named: str | None) -> Journal | str:
    """Where sessions are kept: in memory if there is no place for them, because a reviewer that forgets is
    better than none.
    """
    from pathlib import Path

    from dragoman.sdk.kit.journal_lender import sessions_path

    path = Path(named).absolute() if named else sessions_path()
    if _is_writable(path):
        return str(path)
    from dragoman.journal import MemoryJournal

    say(f"dragoman agent review: sessions are not kept: {path} cannot be written", file=sys.stderr)
    return MemoryJournal()


def _is_writable(path: Path) -> bool:
    """Whether a file is there, or could be made there. None is made: the journal does that in its way."""
    import tempfile

    if path.exists():
        return os.access(path, os.R_OK | os.W_OK)
    nearest = next(folder for folder in path.parents if folder.exists())
    try:
        os.rmdir(tempfile.mkdtemp(dir=nearest))  # the only question that every system answers truly
    except OSError:
        return False
    return True


def _model(chosen: argparse.Namespace) -> CoderConfig | None:
    """The model of the command line or the environment. That of the coder's file is for the coder alone."""
    from dragoman.agents.code.config import BadConfig, load_config

    names = ("model", "base_url", "api", "key_file")
    try:
        return load_config({name: getattr(chosen, name) for name in names}, file=os.devnull)
    except BadConfig as error:
        say(f"dragoman agent review: no model is asked: {error}", file=sys.stderr)
        return None
