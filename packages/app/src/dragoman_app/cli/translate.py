"""`dragoman translate`: an interpreter between two dialects on stdio."""

from __future__ import annotations

import argparse
import os
import sys

import msgspec

from dragoman.dialect import DialectDecision, EdgeSettings, Ledger, LedgerEntry
from dragoman.errors import SpawnFailed
from dragoman.sdk.interpreter.conversation import Interpretation
from dragoman.sdk.interpreter.stdio import stand_between
from dragoman.system.replacement import replace_private
from dragoman_app.apps.console import MISTAKEN, ErrorStatus, say
from dragoman_app.apps.files import open_private
from dragoman_local.interpreter.consent import consent_of
from dragoman_local.workspace.policy.audit import AuditLog
from dragoman_local.workspace.policy.policy_paths import policy_paths

LOST = 3
"""The exit status when `--strict` ended the conversation."""


def run(args: argparse.Namespace) -> int:
    settings = _settings(args)
    _try_to_write(args.ledger)
    with ErrorStatus(SpawnFailed, status=127):
        how = Interpretation(args.client, args.agent, settings, args.strict, not args.no_quirks, _explain)
        ledger, stopped_by, status = stand_between(args.command, how)
    _say(ledger, stopped_by)
    if args.ledger:
        _write(args.ledger, ledger)
    if stopped_by:
        return LOST
    return status if status >= 0 else 128 - status


def _settings(args: argparse.Namespace) -> EdgeSettings:
    cwd = os.path.abspath(args.cwd or ".")
    if args.policy is None:
        return EdgeSettings(cwd=cwd, as_written=args.as_written or None, credentials=args.credentials)

    audit = AuditLog(policy_paths().audit)
    consent = consent_of(args.policy, cwd=cwd, audit=audit)
    policy = os.path.abspath(args.policy)
    return EdgeSettings(
        cwd=cwd,
        consent=consent,
        policy=policy,
        as_written=args.as_written or None,
        credentials=args.credentials,
    )


def _try_to_write(path: str | None) -> None:
    """Whoever wants a ledger hears before the conversation, not after it, that there can be none."""
    if path:
        with ErrorStatus(OSError, status=MISTAKEN, act="write"):
            open_private(path, how="append").close()


def _explain(decision: DialectDecision) -> None:
    say(f"dragoman translate: {decision.text}", file=sys.stderr)


def _say(ledger: Ledger, stopped_by: LedgerEntry | None) -> None:
    for entry in ledger.entries:
        often = "" if entry.count == 1 else f" ({entry.count} times)"
        text = f"{entry.outcome}: {entry.dialect}: {entry.what}{often}: {entry.done}"
        say(f"dragoman translate: {text}", file=sys.stderr)
    if stopped_by:
        say(
            f"dragoman translate: ended at frame {stopped_by.first_frame}, because --strict allows no loss",
            file=sys.stderr,
        )


def _write(path: str, ledger: Ledger) -> None:
    whole = {"decisions": ledger.decisions, "entries": ledger.entries}
    with replace_private(path) as file:
        file.write(msgspec.json.format(msgspec.json.encode(whole)) + b"\n")
