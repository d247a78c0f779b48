"""Behaviour that the official material contradicts itself about, or leaves open: recorded, never held against
anybody. Each changes a good conversation as a violation would.
"""

from __future__ import annotations

from tests.check.mutants.changes import (
    Mutant,
    add_request,
    answer_with,
    leave_out,
    move,
    put,
    rename,
)
from tests.check.mutants.values import options

RECORDED = [
    Mutant("an unknown login", "probes", "agent", answer_with("unknown login", result={}), ("AUTH-10",)),
    Mutant(
        "a broken server that is left out",
        "probes",
        "agent",
        answer_with("new with a secret", result={"sessionId": "ses-x"}),
        ("SES-16",),
    ),
    Mutant(
        "an illegal value",
        "probes",
        "agent",
        answer_with("illegal value", result={"configOptions": options()}),
        ("CFG-18",),
    ),
    Mutant("null for a load", "sessions", "agent", put("load, answer", "result", None), ("LOAD-07",)),
    Mutant(
        "modeId instead of currentModeId",
        "settings",
        "agent",
        rename("switch, mode", "params.update.currentModeId", "modeId"),
        ("UPD-03",),
    ),
    Mutant(
        "a summary after its compaction",
        "settings",
        "agent",
        move("compact, piece", after="compact, done"),
        ("UPD-13",),
    ),
    Mutant(
        "a private method without underscore",
        "work",
        "agent",
        add_request("hello, usage", "to_client", "pilot/ask", {}, result={}),
        ("EXT-06",),
    ),
    Mutant(
        "a resume without servers",
        "sessions",
        "client",
        leave_out("resume", "params.mcpServers"),
        ("RES-02",),
    ),
    Mutant("a cancel that is a request", "cancelling", "client", put("slow, cancel", "id", 77), ("CAN-01",)),
    Mutant(
        "a bad line that is taken",
        "oddities",
        "client",
        answer_with("bad line", result={"content": "one\n"}),
        ("FS-13",),
    ),
    Mutant(
        "bad arguments that are taken",
        "oddities",
        "client",
        answer_with("bad create", result={"terminalId": "term-2"}),
        ("TERM-18",),
    ),
]
