"""`dragoman agents install`, `update`, `rollback` and `uninstall`: agents in Dragoman's own folder.

What will be run is shown first and asked about on a terminal; without one it takes `--yes`. The plan, the
question and progress go to standard error; standard output has the result, as text or as JSON.
"""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import NoReturn

from dragoman.errors import LocalMistake
from dragoman.text.sanitize import sanitize_line
from dragoman_app.apps.console import CommandFailed, ErrorStatus, confirm, print_json, say
from dragoman_local.known import read_config
from dragoman_local.known.installation.archives import InstallFailed
from dragoman_local.known.installation.installer import (
    InstallPlan,
    InstallResult,
    install,
    make_plan,
    roll_back,
    uninstall,
)
from dragoman_local.known.installation.registry import (
    AgentRegistry,
    is_newer,
    parse_registry,
    read_bounded,
    read_registry,
)
from dragoman_local.known.installation.store import (
    DistributionKind,
    InstalledAgent,
    find_installed,
    installed_agents,
    require_installed,
    store_folder,
)

DONE, FAILED, INTERRUPTED = 0, 1, 130

CHECKED = {
    "list": "Verified: its hash is the one in the list.",
    "registry": "Not verified: the list has no hash for this version. The archive matches the hash of its "
    "own registry.",
    "nothing": "Not verified: no list has a hash for this version.",
}

ENDING = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))


def run_install(args: argparse.Namespace) -> int:
    """0: installed. 1: the installation failed. 2: not allowed, or invalid."""
    return _guard(lambda: _install(args))


def run_update(args: argparse.Namespace) -> int:
    """Like `install`, for installed agents; 0 also if there is nothing newer."""
    return _guard(lambda: _update(args))


def run_rollback(args: argparse.Namespace) -> int:
    return _guard(lambda: _roll_back(args))


def run_uninstall(args: argparse.Namespace) -> int:
    return _guard(lambda: _uninstall(args))


def _guard(act: Callable[[], int]) -> int:
    handlers = {number: signal.signal(number, _end) for number in ENDING}
    try:
        with ErrorStatus(InstallFailed, status=FAILED):
            return act()
    except KeyboardInterrupt:
        what = "interrupted; incomplete files were removed"
        raise CommandFailed(what, status=INTERRUPTED) from None
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)


def _end(number: int, frame: object) -> NoReturn:
    """Whoever is told to end takes npm or pip with it, and what they have left behind."""
    raise SystemExit(128 + number)


def _install(args: argparse.Namespace) -> int:
    registry = _registry(args)
    plan = _plan(args.agent, registry, args)
    if args.plan not in (None, plan.identity):
        raise LocalMistake(
            f"the plan for {plan.name} has changed since you saw it. Look at the new plan first"
        )
    _show_plan(plan, registry)
    if args.dry_run:
        return _print_plans([plan], args)
    confirm("Install it?", is_agreed=args.yes)
    result = install(plan, progress=_progress, seconds=args.timeout)
    if args.json:
        print_json({"schema": 1, "installed": [_describe_result(result)]})
    else:
        _print_result(result)
    return DONE


def _update(args: argparse.Namespace) -> int:
    registry = _registry(args)
    plans, notes = [], []
    for agent in [require_installed(_own_name(name, registry)) for name in args.agents] or installed_agents():
        plan, note = _update_plan(agent, registry, args)
        plans += [plan] if plan is not None else []
        notes += [note] if note else []
    for plan in plans:
        _show_plan(plan, registry)
    for note in notes:
        say(note, file=sys.stderr)
    if args.dry_run:
        return _print_plans(plans, args)
    if plans:
        confirm("Update?" if len(plans) == 1 else f"Update these {len(plans)} agents?", is_agreed=args.yes)
    results, failures = _install_all(plans, args)
    if args.json:
        described = [_describe_result(result) for result in results]
        print_json({"schema": 1, "installed": described, "notes": notes, "failed": failures})
    for result in () if args.json else results:
        _print_result(result)
    return FAILED if failures else DONE


def _install_all(plans: list[InstallPlan], args: argparse.Namespace) -> tuple[list[InstallResult], list[str]]:
    """Install each; the failure of one agent keeps no other from its update."""
    results, failures = [], []
    for plan in plans:
        try:
            results.append(install(plan, progress=_progress, seconds=args.timeout))
        except InstallFailed as failure:
            say(f"dragoman agents: {plan.name} stays as it was: {failure}", file=sys.stderr)
            failures.append(plan.name)
    return results, failures


def _update_plan(
    agent: InstalledAgent, registry: AgentRegistry, args: argparse.Namespace
) -> tuple[InstallPlan | None, str]:
    record = agent.record
    if record.is_pinned and not args.agents:
        return (
            None,
            f"{record.name} stays at {record.version}, the version you chose. To move it: dragoman agents "
            f"update {record.name}",
        )
    try:
        plan = _plan(record.name, registry, args, kind=record.kind)
    except LocalMistake as mistake:
        if args.agents:
            raise
        return None, f"{record.name} stays at {record.version}: {mistake}"
    if plan.version == record.version:
        return None, f"{record.name} {record.version} is up to date (list of {registry.made})"
    if not is_newer(plan.version, than=record.version):
        return (
            None,
            f"{record.name} stays at {record.version}: the list of {registry.made} has {plan.version}, which "
            f"is not newer; to install that: dragoman agents install {record.name}@{plan.version}",
        )
    return plan, ""


def _roll_back(args: argparse.Namespace) -> int:
    result = roll_back(args.agent)
    before = result.before
    if args.json:
        return print_json({"schema": 1, "installed": [_describe_result(result)]})
    if before is not None:
        say(f"{result.record.name} is {result.record.version} again, it was {before.version}.")
        say("Run the same command again to undo this.")
    _warn_of_shadow(result.record.name)
    return DONE


def _uninstall(args: argparse.Namespace) -> int:
    agent = require_installed(args.agent)
    versions = [record.version for record in (agent.record, agent.previous) if record is not None]
    say(f"Removes {agent.folder} ({agent.record.name} {', '.join(versions)})", file=sys.stderr)
    if args.dry_run:
        return print_json({"schema": 1, "would_remove": str(agent.folder)}) if args.json else DONE
    confirm("Remove it?", is_agreed=args.yes)
    uninstall(args.agent)
    if args.json:
        return print_json({"schema": 1, "removed": str(agent.folder), "versions": versions})
    say(f"Uninstalled {sanitize_line(args.agent)}.")
    if args.agent in read_config().agents:
        say(
            f"The configuration still has this agent. To remove it there: dragoman agents remove "
            f"{sanitize_line(args.agent)}"
        )
    return DONE


def _registry(args: argparse.Namespace) -> AgentRegistry:
    """The list that counts, or the one of a file that the command line names."""
    if args.source is None:
        return read_registry()
    path = Path(args.source).absolute()
    file, notes = parse_registry(read_bounded(path), origin=str(path), today=date.today())
    for note in notes:
        say(f"{path}: {note}", file=sys.stderr)
    return AgentRegistry({entry.id: entry for entry in file.agents}, file.made, str(path), path.parent)


def _plan(
    query: str, registry: AgentRegistry, args: argparse.Namespace, *, kind: DistributionKind | None = None
) -> InstallPlan:
    return make_plan(
        query,
        registry=registry,
        kind=args.kind or kind,
        allow_scripts=args.allow_scripts,
        allow_unverified=args.allow_unverified,
        python=args.python,
    )


def _own_name(name: str, registry: AgentRegistry) -> str:
    """The name that an agent is installed under: `claude` for `claude-acp`."""
    try:
        return registry.find(name).agent_name
    except LocalMistake:
        return name


def _show_plan(plan: InstallPlan, registry: AgentRegistry) -> None:
    """Each text of the list is one line: none can look like a line of ours."""
    entry = plan.entry
    lines = [
        f"{entry.name} {plan.version} (licence: {plan.license or 'not known'})",
        f"  from {registry.origin or 'the built-in list'}, of {registry.made}",
        f"  {_trial(plan.tested)}",
        f"  into {store_folder() / plan.name}, started as {plan.name}",
        *(f"  will {step}" for step in plan.steps),
    ]
    installed = find_installed(plan.name)
    if installed is not None and is_newer(installed.record.version, than=plan.version):
        lines.append(f"  goes back from {installed.record.version}, which is installed and newer")
    if plan.source.env:
        lines.append(f"  sets {', '.join(plan.source.env)} for it")
    for line in lines:
        say(sanitize_line(line), file=sys.stderr)


def _trial(tested: date | None) -> str:
    if tested is None:
        return "this version is untested with dragoman"
    return f"this version was tried with dragoman on {tested}"


def _progress(text: str) -> None:
    say(f"  {sanitize_line(text)} …", file=sys.stderr, flush=True)


def _print_plans(plans: list[InstallPlan], args: argparse.Namespace) -> int:
    if args.json:
        described = [
            {
                "name": plan.name,
                "version": plan.version,
                "kind": plan.kind,
                "source": plan.spec,
                "checked_by": plan.checked_by,
                "tested": plan.tested,
                "steps": plan.steps,
                "plan": plan.identity,
            }
            for plan in plans
        ]
        return print_json({"schema": 1, "would_install": described})
    say("Nothing was changed.")
    return DONE


def _print_result(result: InstallResult) -> None:
    record = result.record
    count = len(record.packages)
    say(f"Installed {record.name} {record.version} ({count} package{'s' if count != 1 else ''}).")
    for line in result.changes:
        say(f"  {sanitize_line(line)}")
    say(f"  {CHECKED[record.checked_by]}")
    if record.scripts:
        say(f"  Install scripts were not run: {sanitize_line(', '.join(record.scripts))}.")
        say("  If the agent does not start, install it again with --allow-scripts.")
    if result.before is not None:
        say(f"  Back to {result.before.version}: dragoman agents rollback {record.name}")
    say(f"Try it: dragoman doctor {record.name}")
    _warn_of_shadow(record.name)


def _warn_of_shadow(name: str) -> None:
    if name in read_config().agents:
        say(
            f"Your configuration has another agent named {sanitize_line(name)}, which is used instead. To "
            f"use this one: dragoman agents remove {sanitize_line(name)}",
            file=sys.stderr,
        )


def _describe_result(result: InstallResult) -> dict[str, object]:
    record = result.record
    return {
        "name": record.name,
        "version": record.version,
        "before": None if result.before is None else result.before.version,
        "kind": record.kind,
        "source": record.source,
        "folder": str(result.folder),
        "command": list(record.command),
        "env": sorted(record.env),
        "license": record.license,
        "verified": record.checked_by == "list",
        "checked_by": record.checked_by,
        "packages": record.packages,
        "scripts_not_run": record.scripts,
        "changes": result.changes,
    }
