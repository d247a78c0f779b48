"""The first step of `dragoman review`: reads the files from the disk."""

from __future__ import annotations

import argparse

from dragoman_app.cli.review_files import read_files
from dragoman_app.cli.review_run import run_review


def run(args: argparse.Namespace) -> int:
    is_of_files = args.diff is None and not (args.staged or args.list_rules or args.try_rules)
    try:
        return run_review(
            args, read_files(args.paths or ["."], stdin_name=args.stdin_name) if is_of_files else []
        )
    except KeyboardInterrupt:
        return 130  # as a shell reports of a program that was interrupted
