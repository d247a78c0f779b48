"""Which requirements of the agent side are tried on which agent, and why the others are not.

The catalogue of `dragoman_check` has requirements that follow from the specification, its schema and the
official SDKs; most of them hold for agents (side A) or for both sides (B). A test tries a requirement by
having its id in its name: `test_rpc_01_…` tries RPC-01, on both agents if it takes `heard`, on one
if it takes `reviewer` or `coder`. Everything else has a reason here, and test_ledger.py sees to it that there
is nothing else.
"""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
CATALOGUE = HERE.parent.parent / "packages/check/src/dragoman_check/requirements.json"
AGENTS = ("review", "code")
FIXTURES = {"heard": set(AGENTS), "reviewer": {"review"}, "coder": {"code"}}

NO_ELICITATION = "neither agent elicits anything: ELIC-01 sees that no such request is ever made"
NO_LOGOUT = "logout is not offered: AUTH-23 sees that it is refused"
NO_REMOTE = "both agents speak stdio only"
NO_TERMINAL_LOGIN = "no login in a terminal is offered: AUTH-03 sees that"
NOTHING_PRIVATE = "there are no extension methods: EXT-06 sees that none is called"
SECOND = "about version 2: packages/check/tests has its rules, make check-kit tries agents of ours in it"
NO_MODEL = "the review agent runs without a model here, as it does out of the box"
NO_TERMINALS = "the review agent runs nothing in terminals of the client"

BOTH: dict[str, str] = {
    "SES-15": "all are offered (tests/sdk/agent refuses others); one that does not exist is SES-23",
    "INIT-25": NOTHING_PRIVATE,
    "EXT-09": NOTHING_PRIVATE,
    "AUTH-14": NO_TERMINAL_LOGIN,
    "AUTH-16": NO_TERMINAL_LOGIN,
    "AUTH-18": NO_LOGOUT,
    "AUTH-19": NO_LOGOUT,
    "AUTH-20": NO_LOGOUT,
    "LOAD-10": "load is offered",
    "DEL-06": "list is offered",
    "ADIR-12": "a permission: any absolute roots are taken with a load",
    "CRQ-05": "nothing is cancelled from inside: a prompt ends with a stop reason or an error of its own",
    "MODE-08": "no tool changes the mode",
    "MODE-09": "both agents offer modes",
    "CFG-10": "about reading options, which clients do",
    "EXT-03": "no trace context is sent: agents forward nothing that carries one",
    "STD-05": "a permission, about a stream that no test judges",
    "STD-12": "every test here runs over stdio",
    "STD-13": NO_REMOTE,
    "LEN-04": "about plans and lists, which clients read; packages/sdk/tests/schema has the table",
    "AUTH-28": "one login method at most: AUTH-01 sees what is offered",
    "AUTH-29": "neither wants a login that it does not offer: every test here makes a session",
    **dict.fromkeys(("TURN-27", "TURN-28", "TURN-29", "TOOL-23", "TOOL-24", "RES-08", "RES-09"), SECOND),
    **dict.fromkeys(("RES-10", "AUTH-26", "AUTH-27", "CAN-16"), SECOND),
    **dict.fromkeys(("HTTP-02", "HTTP-24", "HTTP-27", "WS-03", "WS-04", "WS-07", "WS-11"), NO_REMOTE),
    **{
        f"ELIC-{number:02}": NO_ELICITATION
        for number in (3, 4, 5, 6, 7, 8, 10, 11, 17, 19, 21, 22, 23, 25, 28, 29, 31, 32, 34)
    },
}
"""Reasons that hold for both agents."""

REVIEW: dict[str, str] = {
    "RPC-13": "no way is known to make a handler of it fail; tests/faults does it with agents made for that",
    "AUTH-07": "it needs no login, and offers none",
    "AUTH-08": "it needs no login, and offers none",
    "AUTH-09": "it needs no login, and offers none",
    "ERR-02": "it needs no login, and offers none",
    "LOAD-12": NO_MODEL,
    "LOAD-16": NO_MODEL,
    "ADIR-09": "it reads no instructions; rules of a project are tried in packages/app/tests/agents/review",
    "TURN-05": "nothing in it is limited so that a turn could end early",
    "TURN-08": "its messages have no ids",
    "TURN-11": "its messages have no ids: each chunk is a finding of its own",
    "TURN-13": NO_MODEL,
    "TURN-23": "no way is known to make one of its turns fail: what cannot be read is told in words",
    "TURN-24": NO_MODEL,
    "TURN-25": "a permission; FS-01 sees that it uses the files of the client",
    "TURN-26": NO_MODEL,
    "UPD-09": "it sends no notices",
    "UPD-11": NO_MODEL,
    "UPD-12": NO_MODEL,
    "UPD-13": NO_MODEL,
    "UPD-15": NO_MODEL,
    "TOOL-09": "a permission that it does not use",
    "TOOL-19": "its input is an object or absent; there is nothing else to tell",
    "CONT-04": "pictures are not offered; TURN-18 sees that such blocks are refused",
    "CONT-11": "it has no MCP content",
    "TERM-03": NO_TERMINALS,
    "TERM-10": NO_TERMINALS,
    "TERM-16": NO_TERMINALS,
}

CODE: dict[str, str] = {
    "TOOL-13": "the coder has no tool that deletes; an emptied file is an ordinary diff",
    "PLAN-06": "a permission: the plan is the model's",
}


def requirements() -> dict[str, Any]:
    """What the catalogue asks of agents, by id."""
    catalogue = json.loads((CATALOGUE).read_text("utf-8"))["requirements"]
    return {entry["id"]: entry for entry in catalogue if entry["side"] in "AB"}


def reasons(agent: str) -> dict[str, str]:
    return {**BOTH, **(REVIEW if agent == "review" else CODE)}


def tried(agent: str) -> dict[str, list[str]]:
    """The tests that try each requirement on an agent, from their names and fixtures."""
    found: dict[str, list[str]] = {}
    for path in sorted(HERE.glob("test_*.py")):
        for node in ast.parse(path.read_text("utf-8")).body:
            if isinstance(node, ast.FunctionDef) and agent in _agents(node):
                for name in ids_in(node.name):
                    found.setdefault(name, []).append(f"{path.name}::{node.name}")
    return found


def _agents(test: ast.FunctionDef) -> set[str]:
    return {agent for given in test.args.args for agent in FIXTURES.get(given.arg, ())}


def ids_in(name: str) -> list[str]:
    """`test_rpc_01_and_ext_02_…` tries RPC-01 and EXT-02."""
    found = re.findall(r"(?<![a-z])([a-z]{2,4})_(\d\d)(?=_)", name)
    return [f"{area.upper()}-{number}" for area, number in found]
