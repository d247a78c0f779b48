"""`dragoman translate`: an interpreter between two dialects, alone on stdio."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any

from dragoman.cli.console import say
from dragoman.cli.files import explain_error, open_private

if TYPE_CHECKING:
    from dragoman.dialect import DialectDecision, EdgeSettings, Ledger, LedgerEntry

LOST = 3
"""The exit status when `--strict` ended the conversation."""

EPILOG = """dialects:
  auto          found out from the first frames, and said on standard error (the default)
  v1            the protocol itself, stable version 1
  v2            its draft version 2
  crow          snake_case and @type
  threads       the thread protocol: no jsonrpc, threads and entries
  haven, haven-legacy   a bridge's reference, and what that bridge really spoke
  koog          whole messages and serverInfo, from a guide for JetBrains IDEs
  acpex, acpex-wire     an Elixir SDK: as its overview says, and as its code speaks

examples:
  dragoman translate -- some-agent --acp
  dragoman translate --client threads --agent v1 -- dragoman agent review
  dragoman translate --client v1 --agent crow --ledger lost.json -- crow-agent
  dragoman translate --strict --agent v2 -- codex-acp

Put it before the command of an agent in an editor's configuration. What could not be carried is said on
standard error at the end, and written to --ledger FILE as JSON. Where a dialect has no way to ask for
permission, nobody consents, unless --policy FILE allows it; its rules also hold for files that are lent to an
agent whose client has none (docs/policy.md).

exit status:
    0  the client ended the conversation
    2  the command line makes no sense
    3  --strict, and something could not be carried
  127  the agent could not be started
An agent that ends by itself gives its own status (128 and the number of a signal).
"""


def add_parser(commands: argparse._SubParsersAction[Any]) -> None:
    translate = commands.add_parser(
        "translate",
        help="stand between a client and an agent that speak different dialects",
        description="Stand between a client and an agent that speak different dialects.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    translate.fill = _fill


def _fill(translate: argparse.ArgumentParser) -> None:
    from dragoman.dialect import AUTO, CHOICES

    translate.add_argument("--client", metavar="DIALECT", choices=CHOICES, default=AUTO)
    translate.add_argument("--agent", metavar="DIALECT", choices=CHOICES, default=AUTO)
    translate.add_argument("--strict", action="store_true", help="end the conversation at the first loss")
    translate.add_argument("--ledger", metavar="FILE", help="write what was lost or repaired, as JSON")
    translate.add_argument("--cwd", metavar="DIR", help="the folder of sessions whose dialect names none")
    translate.add_argument(
        "--policy", metavar="FILE", help="rules for what a dialect cannot ask, and for files"
    )
    translate.add_argument(
        "--as-written",
        action="store_true",
        help="threads only: the directions that its document prints, not those of its code",
    )
    translate.add_argument(
        "--no-quirks", action="store_true", help="leave known deviations of real agents and clients alone"
    )
    translate.add_argument("command", metavar="COMMAND", nargs="+", help="the agent's command, after --")
    translate.set_defaults(run=_run)


def _run(chosen: argparse.Namespace) -> int:
    from dragoman.errors import LocalMistake, SpawnFailed
    from dragoman.sdk.interpreting.standing import stand_between

    try:
        settings = _settings(chosen)
        _try_to_write(chosen.ledger)
    except LocalMistake as error:
        say(f"dragoman translate: {error}", file=sys.stderr)
        return 2
    try:
        ledger, stopped_by, status = stand_between(
            chosen.command,
            client=chosen.client,
            agent=chosen.agent,
            settings=settings,
            strict=chosen.strict,
            quirks=not chosen.no_quirks,
            on_decision=_explain,
        )
    except SpawnFailed as error:
        say(f"dragoman translate: {error}", file=sys.stderr)
        return 127
    _say(ledger, stopped_by)
    if chosen.ledger:
        _write(chosen.ledger, ledger)
    if stopped_by:
        return LOST
    return status if status >= 0 else 128 - status


def _settings(chosen: argparse.Namespace) -> EdgeSettings:
    import os

    from dragoman.dialect import EdgeSettings

    cwd = os.path.abspath(chosen.cwd or ".")
    if chosen.policy is None:
        return EdgeSettings(cwd=cwd, as_written=chosen.as_written)
    from dragoman.sdk.interpreting.consent import consent_of
    from dragoman.workspace.policy.audit import AuditLog
    from dragoman.workspace.policy.policy_files import policy_paths

    audit = AuditLog(policy_paths().audit)
    consent = consent_of(chosen.policy, cwd=cwd, audit=audit)
    policy = os.path.abspath(chosen.policy)
    return EdgeSettings(cwd=cwd, consent=consent, policy=policy, as_written=chosen.as_written)


def _try_to_write(path: str | None) -> None:
    """Whoever wants a ledger hears before the conversation, not after it, that there can be none."""
    from dragoman.errors import LocalMistake

    try:
        if path:
            open_private(path, how="append").close()
    except OSError as error:
        raise LocalMistake(explain_error(error, act="write")) from error


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
    import msgspec

    whole = {"decisions": ledger.decisions, "entries": ledger.entries}
    with open_private(path) as file:
        file.write(msgspec.json.format(msgspec.json.encode(whole)) + b"\n")
