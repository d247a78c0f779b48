"""The worker process of a review: inspects texts, so that a bad text or rule can't stop the review itself.

A regular expression that a user wrote can take for ever, and the interpreter cannot be interrupted in it; a
library in Rust can crash. Here both cost one text. Asked and answered with one JSON text a line; ends when
its input does, and also by itself when one text takes too long, whoever may still be there to end it. What
counts is the processor time of this process: a busy machine makes a text wait, but not fail.
"""

from __future__ import annotations

import faulthandler
import gc
import os
import signal
import sys

import msgspec

from dragoman.decoders import decode_json, json_decoder
from dragoman_review.inspection import inspect
from dragoman_review.worker_messages import WorkerAnswer, WorkerRequest, WorkerSetup

COLLECT_AFTER = 20_000
"""The new objects after which garbage is collected; each text reaches Python's own 700."""


def main() -> int:
    requests, answers = sys.stdin.buffer, sys.stdout.buffer
    setup = decode_json(requests.readline(), WorkerSetup)
    decode = json_decoder(WorkerRequest).decode
    # Code and rules stay until the end, and a text leaves little that only a collection finds.
    gc.freeze()
    gc.set_threshold(COLLECT_AFTER)
    if sys.platform != "win32":
        signal.signal(signal.SIGPROF, signal.SIG_DFL)  # it ends the process, and the parent knows it by that
    while line := requests.readline():
        _limit(setup.deadline)
        ask = decode(line)
        inspection = inspect(ask.path, ask.text, setup.rules, has_ruff=ask.has_ruff, longest=ask.longest)
        answer = WorkerAnswer(findings=inspection.findings, failures=inspection.failures)
        _limit(0)
        answers.write(msgspec.json.encode(answer) + b"\n")
        answers.flush()
    gc.freeze()  # it goes with the process
    return 0


if sys.platform == "win32":
    _silent = open(os.devnull, "w")  # noqa: SIM115 - for as long as we are

    def _limit(seconds: float) -> None:
        """End this process after some seconds by the clock, as there is no other timer; 0 for never."""
        if seconds:
            faulthandler.dump_traceback_later(seconds, exit=True, file=_silent)
        else:
            faulthandler.cancel_dump_traceback_later()

else:

    def _limit(seconds: float) -> None:
        """End this process after some seconds of its processor time; 0 for never.

        A deadline of the system and not of Python: it holds in the middle of a regular expression, too.
        """
        signal.setitimer(signal.ITIMER_PROF, seconds)


if __name__ == "__main__":
    sys.exit(main())
