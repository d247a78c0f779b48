"""A soak of any length, by hand:

    python packages/hub/tests/cluster/run_soak.py --seconds 3600 --seed 7

One hub, everything at once; see `soak`. The exit status is 1 if anything was found. Logs and the journal stay
in the folder.
"""

from __future__ import annotations

import argparse
import asyncio
import signal
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[4]))

from tests.cluster.soak import SoakPlan, soak


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=300.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--sessions", type=int, default=12)
    parser.add_argument("--people", type=int, default=5)
    parser.add_argument(
        "--slow-start", type=float, default=60.0, help="seconds that one agent takes to start"
    )
    parser.add_argument("--longest-lock", type=float, default=8.0, help="seconds that the journal is locked")
    parser.add_argument("--folder", type=Path, help="for everything that is written (a new one)")
    options = vars(parser.parse_args())
    folder = options.pop("folder") or Path(tempfile.mkdtemp(prefix="soak-"))
    folder.mkdir(exist_ok=True)
    print(f"everything is in {folder}", flush=True)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    result = asyncio.run(soak(folder, SoakPlan(**options), lambda line: print(line, flush=True)))
    print(result.summary())
    return bool(result.findings)


if __name__ == "__main__":
    sys.exit(main())
