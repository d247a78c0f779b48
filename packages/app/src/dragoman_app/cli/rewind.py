"""`dragoman rewind`: restores a folder to the state before a turn, and undoes that."""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from collections.abc import Sequence
from functools import partial

from msgspec import Struct, field

from dragoman.text.sanitize import sanitize_line
from dragoman_app.apps.console import CommandFailed, UsageMistake, counted, say, say_json
from dragoman_app.apps.folder_memory import open_recorded, open_store, session_turns
from dragoman_app.apps.turn_steps import TurnStep, TurnSteps, read_steps
from dragoman_app.cli.fork import copy_conversation
from dragoman_local.journal import open_journal
from dragoman_local.journal.history import history_path, new_stream
from dragoman_local.workspace.rewind import (
    Places,
    RewindFailure,
    RewindPlan,
    RewindStep,
    last_rewind,
    planned_rewind,
    turn_places,
)
from dragoman_local.workspace.tree_store import TreeStore, Turn

SHOWN = 40
"""The most files to show by name."""


class RewindReport(Struct, kw_only=True):
    """The restored files, or the planned ones."""

    session: str
    turn: int | None
    """The turn before which the folder is now; None if a rewind was undone."""
    step: int | None = None
    """The step of that turn before which the folder is now."""
    done: bool
    files: dict[str, list[RewindStep]] = field(default_factory=dict)
    """The files by folder."""
    left: list[str] = field(default_factory=list)
    """Files that differ but stay: secret, ignored or too large to be stored."""
    failures: list[RewindFailure] = field(default_factory=list)
    conversation: str | None = None
    """The session that ends at the state of the files, if requested."""


class StepList(Struct, kw_only=True):
    """The steps of a turn."""

    session: str
    turn: int
    steps: list[TurnStep]
    unexplained: list[str]
    """Files in no step: what the agent reported does not lead to them."""


def run(args: argparse.Namespace) -> int:
    """Run the command; returns the exit status."""
    names_place = args.to is not None or args.steps or args.step is not None
    for is_mistake, what, hint in (
        (
            args.to is None and not args.undo,
            "the turn to go back to is missing",
            "use --to TURN, or --undo for the last rewind",
        ),
        (args.conversation and args.undo, "--undo works only for files", "leave --conversation out"),
        (args.conversation and args.key, "a sealed conversation is not copied", "leave --conversation out"),
        (
            args.to is not None and args.to < 1,
            "turns are counted from 1",
            "`--to 1` is the state before the first turn",
        ),
        (
            args.undo and names_place,
            "--undo undoes the last rewind, whatever it went back to",
            "leave --to and the steps out",
        ),
        (
            args.conversation and args.step is not None,
            "--conversation works only for whole turns",
            "leave --step out",
        ),
    ):
        if is_mistake:
            raise UsageMistake(what, hint)
    folder = os.path.realpath(args.folder or ".")
    with open_store(args.journal, args.key) as store:
        turns = _last_rewind(store, folder) if args.undo else _turns(store, args.session, args.to, folder)
        if args.steps:
            _list(turns[0], asyncio.run(_read_steps(store, turns[0], args.key)), as_json=args.json)
            return 0
        report = asyncio.run(_rewind(store, turns, args))
    if args.json:
        say_json(report)
    else:
        _show(report, is_undo=args.undo)
    return 1 if report.failures else 0


async def _rewind(store: TreeStore, turns: list[Turn], args: argparse.Namespace) -> RewindReport:
    report = RewindReport(session=turns[0].session, turn=args.to, step=args.step, done=False)
    places: Places = turn_places(store, turns)
    contents = None
    if args.step is not None:
        steps = await _read_steps(store, turns[0], args.key)
        if not 1 <= args.step <= len(steps.steps):
            raise CommandFailed(
                f"turn {args.to} of {report.session} has no step {args.step}",
                f"`dragoman rewind {report.session} --to {args.to} --steps` lists its steps",
            )
        places, contents = steps.places, steps.contents_before(args.step)
    async with planned_rewind(
        store, places, partial(open_recorded, key=args.key), contents=contents
    ) as rewind:
        for plan in rewind.plans:
            report.files[plan.root] = plan.steps
            report.left += [os.path.join(plan.root, path) for path in plan.left]
        if not args.dry_run:
            if not args.force:
                _refuse(store, rewind.plans)
            for plan in rewind.plans:
                report.failures += await plan.carry_out(
                    report.session,
                    is_undo=args.undo,
                    title=f"{_moment(report)} of {report.session}",
                    stream=turns[0].stream,
                )
            report.done = True
    if args.conversation and report.done and report.turn is not None and report.turn > 1:
        report.conversation = await _rewind_conversation(store, turns[0], report.turn - 1)
    return report


async def _read_steps(store: TreeStore, turn: Turn, key: str | None) -> TurnSteps:
    if turn.last is None:
        raise CommandFailed(f"turn {turn.number} of {turn.session} has not ended", "let it end first")
    try:
        log = await read_steps(turn, store.time_of(turn.last), partial(open_recorded, key=key))
    except FileNotFoundError:
        raise CommandFailed(
            f"the steps of turn {turn.number} are not known: its journal {turn.journal} is gone",
            f"go back to before the whole turn: dragoman rewind --to {turn.number}",
        ) from None
    return TurnSteps(store, turn, log)


def _list(turn: Turn, found: TurnSteps, *, as_json: bool) -> None:
    if as_json:
        say_json(
            StepList(session=turn.session, turn=turn.number, steps=found.steps, unexplained=found.unexplained)
        )
        return
    for step in found.steps:
        say(sanitize_line(f"{step.number:>4}  {step.title}"))
        for path in step.paths:
            say(sanitize_line(f"      {path}"))
    for path in found.unexplained:
        say(sanitize_line(f"No step for {path}: what the agent reported does not lead to this file."))
    if found.unexplained:
        say("Something else changed it too, or a secret in the report is masked. --to works for whole turns.")
    elif not found.steps:
        say(f"Dragoman knows no step of turn {turn.number} that changed a file.")


def _moment(report: RewindReport) -> str:
    step = "" if report.step is None else f"step {report.step} of "
    return f"before {step}turn {report.turn}"


async def _rewind_conversation(store: TreeStore, turn: Turn, number: int) -> str | None:
    """What was said until a turn, as a session of its own: agents can't unsay what was said in theirs."""
    last = next((own for own in store.turns(session=turn.session) if own.number == number), None)
    if last is None:
        return None
    stream, root = new_stream(), store.folders_of(last.id)[0][0]
    async with open_journal(history_path()) as journal:
        await copy_conversation(journal, last, stream, root)
    return stream


def _turns(store: TreeStore, session: str | None, number: int, folder: str) -> list[Turn]:
    """The turn before which the folder is to be, once for each of its folders."""
    own = session_turns(store, session, folder)
    found = [turn for turn in own if turn.number == number and turn.first is not None]
    if not found:
        raise CommandFailed(
            f"the state before turn {number} of {own[0].session} is not known",
            f"choose a turn from {min(turn.number for turn in own)} to {max(turn.number for turn in own)}",
        )
    return found


def _last_rewind(store: TreeStore, folder: str) -> list[Turn]:
    """The last rewind in a folder that was not undone."""
    found = last_rewind(store, folder)
    if found is None:
        raise CommandFailed(f"no rewind to undo in {folder}", "name its folder with --folder")
    return [found]


def _refuse(store: TreeStore, plans: Sequence[RewindPlan]) -> None:
    """Nothing is put back over somebody's work, or under a turn that runs."""
    for plan in plans:
        if store.is_busy(plan.root):
            raise CommandFailed(f"a turn runs in {plan.root}", "let it end first, or use --force")
    paths = [os.path.join(plan.root, step.path) for plan in plans for step in plan.steps if step.is_persons]
    if paths:
        for path in paths[:SHOWN]:
            say(sanitize_line(f"  {path}"), file=sys.stderr)
        raise CommandFailed(
            f"{counted(len(paths), 'file')} changed since, by a person or an unknown program: "
            "no turn announced that; nothing was put back",
            "use --force to put them back too; to undo that: dragoman rewind --undo",
        )


def _show(report: RewindReport, *, is_undo: bool) -> None:
    moment = "before the rewind" if is_undo else _moment(report)
    where = f"{'is' if report.done else 'would be'} as it was {moment}"
    for root, steps in report.files.items():
        for step in steps[:SHOWN]:
            note = (
                "  (changed by a person or an unknown program)"
                if step.is_persons
                else "  (changed while a command ran, so what you typed then goes too)"
                if step.had_command
                else ""
            )
            say(sanitize_line(f"  {step.act:<8} {step.path}{note}"))
        more = f", {len(steps) - SHOWN} of them not shown" if len(steps) > SHOWN else ""
        say(sanitize_line(f"{root} {where}: {counted(len(steps), 'file')}{more}"))
    if not is_undo and not any(report.files.values()):
        say(sanitize_line(f"All files are as they were {_moment(report)} of {report.session}."))
        say("`dragoman sessions` lists other sessions, for `dragoman rewind SESSION --to TURN`.")
    for path in report.left:
        say(sanitize_line(f"not changed, because Dragoman has no copy of it: {path}"), file=sys.stderr)
    for failure in report.failures:
        say(sanitize_line(f"not put back: {failure.path}: {failure.why}"), file=sys.stderr)
    if report.conversation is not None:
        say(f'Continue from there: dragoman run --continue-with AGENT --session {report.conversation} "…"')
    if report.done and not is_undo:
        say("To undo this: dragoman rewind --undo")
