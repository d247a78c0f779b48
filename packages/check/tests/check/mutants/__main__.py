"""`python -m tests.check.mutants`: how many planted violations are found, and how many alarms are false.

Prints one JSON object. A verdict on a good conversation that is not `passed` is a false alarm; requirements
that did not show in it are not counted.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

from dragoman_check.verdict import judge
from tests.check.mutants.good import GOOD
from tests.check.mutants.table import MUTANTS, is_caught

ALARMS = ("failed", "warned", "recorded")


def main() -> int:
    figures = measure()
    print(json.dumps(figures))
    return 1 if figures["missed"] or figures["false alarms"] else 0


def measure() -> dict[str, Any]:
    began = time.monotonic()
    missed = [f"{mutant.side}: {mutant.name}" for mutant in MUTANTS if not is_caught(mutant)]
    seconds = time.monotonic() - began
    verdicts = [
        verdict
        for make, sides in GOOD.values()
        for side in sides
        for verdict in judge([make().recording()], side)
        if verdict.status == "passed" or verdict.status in ALARMS
    ]
    return {
        "mutants": len(MUTANTS),
        "agent": sum(mutant.side == "agent" for mutant in MUTANTS),
        "client": sum(mutant.side == "client" for mutant in MUTANTS),
        "broken requirements": len({name for mutant in MUTANTS for name in mutant.expected}),
        "missed": missed,
        "judged": len(verdicts),
        "false alarms": [verdict.requirement for verdict in verdicts if verdict.status in ALARMS],
        "seconds": seconds,
    }


if __name__ == "__main__":
    sys.exit(main())
