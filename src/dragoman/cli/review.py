"""What `dragoman review` does first: reads the files, and looks whether the answer is known.

Most reviews of a project are of files that have not changed. Such a run ends here; `review_run`, which loads
rules, tools, formats and an event loop, is for all others.
"""

from __future__ import annotations

import argparse

from dragoman.cli.review_answers import ReviewQuestion
from dragoman.cli.review_files import read_files


def run(args: argparse.Namespace) -> int:
    try:
        is_of_files = ReviewQuestion.is_of_files(args)
        files = read_files(args.paths or ["."], stdin_name=args.stdin_name) if is_of_files else []
        question = ReviewQuestion(args) if ReviewQuestion.is_kept(args) else None
        answer = question.read(files) if question is not None else None
        if answer is not None:
            return answer.show()
        # Late: it loads ten times as much as everything before.
        from dragoman.cli.review_run import run_review

        return run_review(args, files, question)
    except KeyboardInterrupt:
        return 130  # as a shell reports of a program that was interrupted
