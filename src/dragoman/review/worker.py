"""A process that looks through texts for the review, so that no text and no rule can stop the review itself.

A regular expression that a user wrote can take for ever, and the interpreter cannot be interrupted in it; a
library in Rust can crash. Here both cost one text. Asked and answered with one JSON text a line; ends when
its input does, and also by itself when one text takes too long, whoever may still be there to end it.
"""

from __future__ import annotations

import faulthandler
import gc
import os
import sys

import msgspec

from dragoman.decoders import decode_json, json_decoder
from dragoman.review.inspection import inspect
from dragoman.review.worker_messages import WorkerAnswer, WorkerRequest, WorkerSetup

COLLECT_AFTER = 20_000
"""Objects, more than are freed, after which garbage is looked for; Python's own 700 come with every text."""


def main() -> int:
    requests, answers = sys.stdin.buffer, sys.stdout.buffer
    setup = decode_json(requests.readline(), WorkerSetup)
    decode = json_decoder(WorkerRequest).decode
    # Code and rules stay until the end, and a text leaves little that only a collection finds.
    gc.freeze()
    gc.set_threshold(COLLECT_AFTER)
    # A deadline of the system and not of Python: it holds in the middle of a regular expression, too.
    silent = open(os.devnull, "w")  # noqa: SIM115 - for as long as we are
    while line := requests.readline():
        faulthandler.dump_traceback_later(setup.deadline, exit=True, file=silent)
        ask = decode(line)
        inspection = inspect(ask.path, ask.text, setup.rules, has_ruff=ask.has_ruff, longest=ask.longest)
        answer = WorkerAnswer(findings=inspection.findings, failures=inspection.failures)
        faulthandler.cancel_dump_traceback_later()
        answers.write(msgspec.json.encode(answer) + b"\n")
        answers.flush()
    gc.freeze()  # it goes with the process
    return 0


if __name__ == "__main__":
    sys.exit(main())
