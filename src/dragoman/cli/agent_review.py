"""`dragoman agent review`: starts the reviewing agent."""

from __future__ import annotations

import argparse
from typing import Any

EPILOG = """It reviews offline, with rules of its own, and with ruff, ast-grep and oxlint where they are
installed (pip install 'dragoman[review]'); docs/review-agent.md says what can be said to it.

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
    review.set_defaults(run=_run)


def _run(chosen: argparse.Namespace) -> int:
    from dragoman.transport.stdio import claim_stdio

    claim_stdio()
    from dragoman import serve
    from dragoman.agents.review.agent import review_agent

    serve(review_agent(sessions=chosen.sessions))
    return 0
