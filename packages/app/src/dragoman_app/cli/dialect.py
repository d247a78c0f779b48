"""`dragoman dialect`: the dialect of a recording, and the list of all dialects, as text or as JSON."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import IO

from dragoman.dialect import DIALECTS, DialectDecision
from dragoman.dialect.explain import Deviation, Explanation, explain
from dragoman.errors import BadTranscript
from dragoman.text.sanitize import sanitize_line
from dragoman_app.apps.console import ErrorStatus, say, say_json
from dragoman_local.interpreter.recordings import read_recording

DEVIATES = 3

ABOUT = {
    "acpex": "an Elixir SDK, as its overview describes it: kind, content, done, objects of capabilities",
    "acpex-wire": "the same SDK, as its code writes: type beside an id in sessionUpdate",
    "crow": "snake_case and @type; cancel is a request, permission an update",
    "haven": "a bridge's reference: capabilities, id and name of tool calls, four kinds",
    "haven-legacy": "what that bridge really spoke: type, permission as a notification",
    "koog": "a guide for JetBrains IDEs: serverInfo, a list of tools, whole messages",
    "threads": "the thread protocol: no jsonrpc, threads and entries, file versions",
    "v1": "the protocol itself, stable version 1",
    "v2": "its draft version 2",
}


def run_list(args: argparse.Namespace) -> int:
    if args.json:
        say_json({"dialects": [{"name": n, "about": ABOUT[n]} for n in DIALECTS]})
    else:
        for name in DIALECTS:
            say(f"{name:<13} {ABOUT[name]}")
    return 0


def run_explain(args: argparse.Namespace) -> int:
    with ErrorStatus(OSError, status=1), ErrorStatus(BadTranscript, status=1, before=f"{args.trace}: "):
        explanation = _read(args.trace)
    if args.json:
        say_json(explanation)
    else:
        _print(explanation)
    plain = {explanation.client.dialect, explanation.agent.dialect} == {"v1"}
    return 0 if plain and not explanation.deviations else DEVIATES


def _read(path: str) -> Explanation:
    if path == "-":
        return _explain_file(sys.stdin.buffer)
    with open(path, "rb") as file:
        return _explain_file(file)


def _explain_file(file: IO[bytes]) -> Explanation:
    return explain(read_recording(file))


def _print(explanation: Explanation) -> None:
    say(f"{explanation.frames} frames")
    for decision in (explanation.client, explanation.agent):
        _print_decision(decision)
    for who in ("client", "agent"):
        _print_deviations(who, [deviation for deviation in explanation.deviations if deviation.by == who])
    if not explanation.deviations:
        print("\nEverything follows version 1.")


def _print_decision(decision: DialectDecision) -> None:
    doubt = "" if decision.sure else " (not sure)"
    say(f"\nThe {decision.peer} speaks {decision.dialect}{doubt}.")
    for reason in decision.reasons:
        say(f"  frame {reason.frame}: {sanitize_line(reason.evidence)}: {reason.conclusion}")
    if not decision.reasons:
        print("  No message shows which dialect it speaks.")


def _print_deviations(who: str, deviations: Sequence[Deviation]) -> None:
    if deviations:
        say(f"\nWhere the {who} is not v1:")
    for deviation in deviations:
        often = "once" if deviation.count == 1 else f"{deviation.count} times"
        say(f"  {sanitize_line(deviation.what)} ({often}, first in frame {deviation.first_frame})")
        say(f"    fix: {sanitize_line(deviation.fix)}")
