"""A storm of any length, by hand:

    python packages/hub/tests/cluster/run_storm.py --seconds 3600 --seed 7
    python packages/hub/tests/cluster/run_storm.py --check FOLDER/records

Needs root for network namespaces; without it nothing is cut off, and it says so. The exit status is 1 if the
checker found anything. Records, logs and journals stay in the folder.
"""

from __future__ import annotations

import argparse
import asyncio
import signal
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[4]))

from tests.cluster.checker import check
from tests.cluster.records import load
from tests.cluster.storm import Plan, Result, storm


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=300.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--sessions", type=int, default=50)
    parser.add_argument("--people", type=int, default=12)
    parser.add_argument("--hubs", type=int, default=3)
    parser.add_argument("--servers", type=int, default=3, help="0 is one hub with a file")
    parser.add_argument("--pace", type=float, default=1.0, help="seconds between updates of a session")
    parser.add_argument("--crowded", action="store_true", help="strike hubs and servers at the same time too")
    parser.add_argument("--folder", type=Path, help="for everything that is written (a new one)")
    parser.add_argument("--check", type=Path, metavar="RECORDS", help="only judge what was written before")
    chosen = vars(parser.parse_args())
    folder, records = chosen.pop("folder"), chosen.pop("check")
    if records is not None:
        made = load(records)
        result = Result(check(made), made)
    else:
        folder = folder or Path(tempfile.mkdtemp(prefix="storm-"))
        folder.mkdir(exist_ok=True)
        print(f"everything is in {folder}", flush=True)
        signal.signal(signal.SIGTERM, signal.default_int_handler)  # whoever ends us wants nothing left behind
        result = asyncio.run(storm(folder, Plan(**chosen), lambda line: print(line, flush=True)))
    print(result.summary())
    return bool(result.findings or result.notes)


if __name__ == "__main__":
    sys.exit(main())
