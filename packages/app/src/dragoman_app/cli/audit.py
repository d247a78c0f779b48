"""`dragoman audit`: check that the log of decisions was not changed.

Exit status 1 means that the chain is broken or the log cannot be read.
"""

from __future__ import annotations

import argparse

import msgspec

from dragoman.text.sanitize import sanitize_line
from dragoman_app.apps.console import CommandFailed, say, say_json
from dragoman_local.workspace.policy.audit import AuditReport, verify_audit_log
from dragoman_local.workspace.policy.policy_paths import policy_paths

LIMIT = """\
  A person who can write both the log and its head could still replace the end of both.
  To notice that, keep the digest of the last line elsewhere and compare it later:"""


def run_verify(args: argparse.Namespace) -> int:
    path = args.file or policy_paths().audit
    try:
        report = verify_audit_log(path)
    except OSError as error:
        what = f"can't read the audit log {sanitize_line(path)}: {error.strerror or error}"
        raise CommandFailed(
            what, "check the path with `dragoman where`. A log exists only after the first decision"
        ) from error
    if args.json:
        say_json(msgspec.to_builtins(report))
    else:
        _print(report)
    return 1 if report.broken else 0


def _print(report: AuditReport) -> None:
    if report.broken:
        say(f"broken: {sanitize_line(report.broken)}")
    else:
        say(f"complete: {report.chained} of {report.lines} lines are linked, each to the line before it")
    for note in report.notes:
        say(f"  {note}")
    if report.chained and not report.broken:
        say(f"{LIMIT}\n  {report.last_digest}")
