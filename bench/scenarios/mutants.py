"""How much the examiner sees: good conversations with one planted violation each, and without.

Only ours judges conversations, so only ours is measured. The mutants are those of the tests; what is missed
is named on standard error, as a failure is.
"""

from __future__ import annotations

import json
import sys

from harness.processes import BENCH, Failed, run
from peers.table import Peer
from scenarios.scenario import Scenario

PROGRAM = "import sys; sys.path.insert(0, sys.argv[1]); from tests.check.mutants.__main__ import main; main()"


def _measure(peer: Peer, *, quick: bool) -> dict[str, float]:
    # Not the peer's own environment: the tests are beside the package, and so is what runs them.
    finished = run([sys.executable, "-c", PROGRAM, str(BENCH.parent)], seconds=120)
    try:
        found = json.loads(finished.stdout)
    except ValueError:
        raise Failed("the mutants printed no figures") from None
    for name in (*found["missed"], *found["false alarms"]):
        print(f"mutants: {name}", file=sys.stderr)
    return {
        "mutants.found": 100 * (1 - len(found["missed"]) / found["mutants"]),
        "mutants.false": 100 * len(found["false alarms"]) / found["judged"],
        "mutants.ms": 1000 * found["seconds"] / found["mutants"],
    }


MUTANTS = Scenario("mutants", ("interpreter",), _measure, rounds=1)
