"""The agents that the faults are tried on, and which of them each fault is tried on.

Most are tried on `dragoman agent echo`, and on `dragoman agent script` with a script that does the same; some
need a small agent of their own, from `agents`, and its script, from `scripts`, where a script can show it.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TypeAlias

from tests import forks

Command: TypeAlias = tuple[str, ...]

HERE = Path(__file__).parent
SCRIPT = "script"
ECHO = (sys.executable, "-m", "dragoman", "agent", "echo")

PROCESSES = "a script starts no processes"
HANDLERS = "a script has no handlers"
DEAF = "a script that is deaf to cancels is one on purpose"

UNSCRIPTED = {
    "ENV-X29": HANDLERS,
    "CAN-X14": PROCESSES,
    "CAN-X17": DEAF,
    "CAN-X18": HANDLERS,
    "SUP-11": PROCESSES,
    "SUP-13": PROCESSES,
    "SUP-X3": PROCESSES,
    "SUP-X4": PROCESSES,
    "SUP-X5": PROCESSES,
    "SUP-X6": PROCESSES,
    "SUP-X12": HANDLERS,
    "SUP-X13": HANDLERS,
    "SUP-X14": HANDLERS,
    "SUP-X32": "nothing that a script can say prints",
    "SUP-X33": PROCESSES,
    "SUP-X38": PROCESSES,
    "SUP-X39": PROCESSES,
}
"""Why a fault is not tried on a script."""


STAGES = {
    "ENV-X29": ("failing",),
    "LIF-10": ("echo", "shelf"),
    "LIF-X8": ("shelf",),
    "LIF-X9": ("shelf",),
    "LIF-X10": ("shelf",),
    "CAN-X15": ("stubborn",),
    "CAN-X16": ("stubborn",),
    "CAN-X17": ("stubborn",),
    "CAN-X18": ("blocking",),
    "SUP-X10": ("stubborn",),
    "SUP-X11": ("stubborn",),
    "SUP-X12": ("blocking",),
    "SUP-X13": ("blocking",),
    "SUP-X14": ("stubborn",),
    "SUP-X32": ("noisy",),
    "BPR-X10": ("slow",),
    "BPR-X11": ("slow",),
}
"""The agents of those that need others than `echo`."""


def tried(fault: str) -> list[str]:
    """All that a fault is tried on, as the page shows it."""
    found = [agent for stage in STAGES.get(fault, ("echo",)) for agent in agents(fault, stage)]
    return list(dict.fromkeys(sorted(found, key=SCRIPT.__eq__)))


def command(agent: str, stage: str) -> Command:
    """How `agent` is started: `script` plays the script of this stage, others are ours or beside us."""
    if agent == SCRIPT:
        return (*ECHO[:-1], "script", str(HERE / "scripts" / f"{stage}.script"))
    return ECHO if agent in ("echo", "ids") else (sys.executable, str(HERE / "agents" / f"{agent}.py"))


def forked(agent: Command) -> Command:
    """The same agent for tests that talk to it and ask no more: what it costs, what it starts and how signals
    end it is seen on a process of its own.
    """
    return tuple(forks.forked(agent))


def agents(fault: str, stage: str) -> list[str]:
    """Whom a fault is tried on at this stage."""
    first = "echo" if stage == "ids" else stage
    return [first] if fault in UNSCRIPTED else [first, SCRIPT]
