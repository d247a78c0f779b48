"""`dragoman agent review`: starts the reviewing agent."""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path

from dragoman import serve
from dragoman_app.agents.code.config import BadConfig, CoderConfig, load_config
from dragoman_app.agents.review.agent import review_agent
from dragoman_app.agents.review.budget import ReviewBudget
from dragoman_app.apps.console import say
from dragoman_local.journal import Journal, MemoryJournal
from dragoman_local.kit.journal_lender import sessions_path


def run(args: argparse.Namespace) -> int:
    model = None if args.offline else _model(args)
    serve(review_agent(sessions=_sessions(args.sessions), model=model, budget=_budget(args)))
    return 0


def _budget(args: argparse.Namespace) -> ReviewBudget:
    """What the model may use for one review."""
    names = {"requests": args.budget_requests, "tokens": args.budget_tokens, "seconds": args.budget_seconds}
    return ReviewBudget(**{name: limit for name, limit in names.items() if limit is not None})


def _sessions(file: str | None) -> Journal | str:
    """Where sessions are kept: in memory if there is no place for them, because a reviewer that forgets is
    better than none.
    """
    path = Path(file).absolute() if file else sessions_path()
    if _is_writable(path):
        return str(path)

    say(f"dragoman agent review: sessions are not kept: {path} cannot be written", file=sys.stderr)
    return MemoryJournal()


def _is_writable(path: Path) -> bool:
    """Whether a file is there, or could be made there. None is made: the journal does that in its way."""
    if path.exists():
        return os.access(path, os.R_OK | os.W_OK)
    nearest = next(folder for folder in path.parents if folder.exists())
    try:
        os.rmdir(tempfile.mkdtemp(dir=nearest))  # the only question that every system answers truly
    except OSError:
        return False
    return True


def _model(args: argparse.Namespace) -> CoderConfig | None:
    """The model of the command line or the environment. That of the coder's file is for the coder alone."""
    names = ("model", "base_url", "api", "key_file")
    try:
        return load_config({name: getattr(args, name) for name in names}, file=os.devnull)
    except BadConfig as error:
        say(f"dragoman agent review: reviewing without a model: {error}", file=sys.stderr)
        return None
