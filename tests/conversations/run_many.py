"""Plays many conversations: `python -m tests.conversations.run_many --count 50000 --seed 7`.

The same count and seed play the same conversations. The first script that breaks a promise is shrunk, shown,
and ends the run with status 1.
"""

from __future__ import annotations

import argparse
import logging
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import hypothesis
from hypothesis import HealthCheck

ROOT = Path(__file__).parents[2]
PORTION = 500
"""Hypothesis remembers what it has tried; in portions of this size that stays small."""


def main() -> int:
    options = _options()
    sys.path.insert(0, str(ROOT))  # so that it also works as a plain script
    from tests.conversations.kinds import KINDS

    logging.disable(logging.CRITICAL)  # handlers fail on purpose, thousands of times
    began = time.monotonic()
    played = 0
    for number in range(-(-options.count // (PORTION * len(KINDS)))):
        for name in KINDS:
            played += _play_portion(name, options.seed * 1_000_003 + number)
        print(f"{played} conversations, {time.monotonic() - began:.0f} s", flush=True)
    return 0


def _play_portion(name: str, seed: int) -> int:
    from tests.conversations.kinds import KINDS
    from tests.runtime.clock import Clockwork

    clockwork, kind, played = Clockwork(), KINDS[name], 0

    def play(script: Any) -> None:
        nonlocal played
        played += 1
        clockwork.run(kind.stage(script).play())

    settings = hypothesis.settings(
        max_examples=PORTION, database=None, deadline=None, suppress_health_check=list(HealthCheck)
    )
    test: Callable[[], None] = hypothesis.seed(seed)(settings(hypothesis.given(kind.scripts)(play)))
    try:
        test()
    finally:
        clockwork.close()
    return played


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Play many conversations and hold them to the promises.")
    parser.add_argument("--count", type=int, default=50_000, help="how many, at least (default: 50000)")
    parser.add_argument("--seed", type=int, default=0, help="which ones (default: 0)")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
