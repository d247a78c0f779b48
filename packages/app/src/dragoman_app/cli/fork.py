"""`dragoman fork`: continue from any turn of a session, in a new folder, with the same or another agent.

The folder is as it was after the turn. The conversation goes along as far as possible: the agent forks it, if
it can and the turn is the last one; else what was said until then is recorded as a session of its own, and
whoever goes on with that gets a brief of it.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import shlex
import sys
import time
from pathlib import Path
from typing import Literal

import msgspec
from msgspec import Struct

from dragoman import connect
from dragoman.errors import CallFailed, DragomanError
from dragoman.text.sanitize import sanitize_line
from dragoman_app.apps.console import CommandFailed, ErrorStatus, UsageMistake, counted, say, say_json
from dragoman_app.apps.folder_memory import open_store, session_turns
from dragoman_app.apps.run.command import run as run_turn
from dragoman_app.apps.target import ChosenAgent, confine, find_target
from dragoman_app.cli.parser import make_parser
from dragoman_local.journal import Entry, Journal, open_journal
from dragoman_local.journal.brief import BriefFold
from dragoman_local.journal.history import HistoryRecorder, history_path, new_stream
from dragoman_local.journal.journal_copy import all_streams
from dragoman_local.known import AgentSource
from dragoman_local.sandbox.wall import chosen_sandbox
from dragoman_local.secrets.search import redact
from dragoman_local.workspace.fork_folder import ForkPlan, fork_folder, fork_name, plan_fork
from dragoman_local.workspace.tree_store import TreeStore, Turn

SHOWN = 10
"""The most files to show by name."""


class ForkReport(Struct, kw_only=True):
    """The created fork, or the planned one."""

    session: str
    turn: int
    folder: str
    branch: str
    """The new branch; empty outside git."""
    base: str
    """The commit at the start of the branch."""
    files: int
    left: list[str]
    """Files that are missing there, because their content is not stored."""
    done: bool = False
    fork: str = ""
    """The new session's id for `dragoman sessions`."""
    conversation: Literal["forked", "brief"] = "brief"
    """Whether the agent forked the conversation, or its next agent gets a brief."""
    agent_session: str | None = None
    """The agent's id of its fork."""
    lost: list[str] = []
    """The parts of the conversation that are not in the brief."""
    next: str = ""
    """The command to continue."""


def run(args: argparse.Namespace) -> int:
    """Run the command; returns the exit status."""
    folder = os.path.realpath(args.folder or ".")
    with open_store(args.journal) as store, ErrorStatus(DragomanError, OSError, status=1):
        turn, is_last = _turn(store, args, folder)
        target = find_target(args.agent) if args.agent else _agent_of(turn)
        if target is None and args.prompt:
            raise CommandFailed(f"{turn.agent} can't be started by its name", "name the agent with --agent")
        root, look = _place(store, turn, folder)
        name = fork_name(turn.session, turn.number)
        plan = plan_fork(store, root, look, place=args.worktree, name=name)
        report = ForkReport(
            session=turn.session,
            turn=turn.number,
            folder=plan.folder,
            branch=plan.branch,
            base=plan.base,
            files=plan.file_count,
            left=list(plan.left),
        )
        if not args.dry_run:
            asyncio.run(_fork(store, turn, plan, report, target, is_last=is_last))
    if args.json:
        say_json(report)
    else:
        _show(report)
    return _go_on(report, args) if report.done and args.prompt else 0


# Which turn, and where.


def _turn(store: TreeStore, args: argparse.Namespace, folder: str) -> tuple[Turn, bool]:
    """The turn that is forked, and whether it is the last one of its session."""
    turns = session_turns(store, args.session, folder)
    ended = [turn for turn in turns if turn.last is not None]
    found = [turn for turn in ended if args.turn in (None, turn.number)]
    if not found:
        known = sorted({turn.number for turn in ended})
        raise CommandFailed(
            f"the state after turn {args.turn or turns[-1].number} of {turns[0].session} is not known",
            f"choose a turn from {known[0]} to {known[-1]}" if known else "let its first turn end",
        )
    turn = next((turn for turn in found[::-1] if turn in store.turns(folder)), found[-1])
    return turn, turn.number == turns[-1].number


def _place(store: TreeStore, turn: Turn, folder: str) -> tuple[str, int]:
    """The folder of the turn, and the look after it."""
    roots = [root for root, _, last in store.folders_of(turn.id) if last == turn.last]
    root = folder if folder in roots else roots[0]
    if not os.path.isdir(root):
        raise CommandFailed(f"{root} no longer exists", "restore the folder, or choose another session")
    assert turn.last is not None
    return root, turn.last


def _agent_of(turn: Turn) -> ChosenAgent | None:
    """None if its name starts nothing, or something else: of a command line only the first word is known."""
    try:
        target = find_target(turn.agent)
    except UsageMistake:
        return None
    return None if target.agent.source is AgentSource.COMMAND else target


# Making it.


async def _fork(
    store: TreeStore,
    turn: Turn,
    plan: ForkPlan,
    report: ForkReport,
    target: ChosenAgent | None,
    *,
    is_last: bool,
) -> None:
    await fork_folder(store, plan)
    report.done, report.fork = True, new_stream()
    async with open_journal(history_path()) as journal:
        report.lost = await copy_conversation(journal, turn, report.fork, report.folder)
        is_same = target is not None and target.agent.name == turn.agent
        if target is not None and is_last and is_same and turn.session != turn.stream:
            report.agent_session = await _ask_agent(journal, turn, report, target)
        if report.agent_session is not None:
            report.conversation, report.lost = "forked", []
            await journal.describe(report.fork, session=report.agent_session)
    agent = "AGENT" if target is None else target.agent_name
    words = ["dragoman", "run", "--cwd", plan.folder, *_who(report, agent)]
    report.next = f'{shlex.join(words)} "…"'


def _who(report: ForkReport, agent: str) -> list[str]:
    if report.agent_session is not None:
        return ["--agent", agent, "--session", report.agent_session]
    return ["--continue-with", agent, "--session", report.fork]


async def copy_conversation(journal: Journal, turn: Turn, stream: str, folder: str) -> list[str]:
    """Record the conversation up to a turn as a new session, in the same or another folder; return the parts
    that are not in its brief.
    """
    fold = BriefFold()
    async with open_journal(Path(turn.journal)) as source:
        info = await source.info(turn.stream)
        if info is None:
            return ["the conversation: the session is no longer recorded"]
        infos = [info]
        if info.session and info.session != info.stream:
            infos += [
                other
                async for other in all_streams(source, session=info.session)
                if other.stream != info.stream and other.created <= info.created
            ]
        end = await _end_of(source, turn)
        for part in sorted(infos, key=lambda part: part.created):
            fold.begin(part.agent)
            limit = end if part is info else None
            async for page in source.replay(part.stream, limit=limit):
                fold.add_all(page)
                copies = [Entry(entry.direction, entry.frame, entry.time) for entry in page]
                await journal.append(stream, copies)
    note = msgspec.json.encode({"forked": {"stream": turn.stream, "turn": turn.number}})
    await journal.append(stream, [Entry("note", note, time.time())])
    await journal.describe(
        stream, agent=turn.agent, cwd=folder, title=f"Fork: {info.title}"[:200], state="end_turn"
    )
    return list(fold.finish().lost)


async def _end_of(journal: Journal, turn: Turn) -> int | None:
    """The last entry of a turn in its stream; None if that goes to the end of it."""
    own: tuple[bool, float] | None = None
    end, is_open = None, False
    async for page in journal.replay(turn.stream):
        for entry in page:
            if entry.direction == "to_agent" and b'"session/prompt"' in entry.frame:
                text = _prompt_text(entry.frame)
                rank = turn.prompt not in text, abs(entry.time - turn.time)
                if own is None or rank < own:
                    own, end, is_open = rank, None, True
                elif is_open and turn.session != turn.stream:
                    end, is_open = entry.sequence - 1, False
            elif is_open and entry.direction == "note" and b'"turn_ended"' in entry.frame:
                end, is_open = entry.sequence, False  # prompts of a hub may wait in front of it
    return end


def _prompt_text(frame: bytes) -> str:
    """What a prompt says, as a store of turns keeps it."""
    match msgspec.json.decode(frame):
        case {"params": {"prompt": [*blocks]}}:
            texts = (block.get("text") for block in blocks if isinstance(block, dict))
            return redact("\n".join(text for text in texts if isinstance(text, str)))
    return ""


async def _ask_agent(journal: Journal, turn: Turn, report: ForkReport, target: ChosenAgent) -> str | None:
    """What the agent calls its fork of the session; None if it makes none."""
    target = confine(target, chosen_sandbox(None), [report.folder])
    try:
        async with (
            HistoryRecorder(journal, learn=False) as recorder,
            connect(
                target.open(),
                cwd=report.folder,
                env=target.env,
                dialect=target.dialect,
                tap=recorder.tap(report.fork),
            ) as agent,
        ):
            if "sessionCapabilities.fork" not in agent.capabilities:
                return None
            return (await agent.fork_session(turn.session, cwd=report.folder)).id
    except CallFailed:
        return None
    except DragomanError as error:
        say(
            f"{target.agent.name} did not fork the conversation: {sanitize_line(str(error))}", file=sys.stderr
        )
        return None


# Telling it.


def _show(report: ForkReport) -> None:
    verb = "is" if report.done else "would be"
    where = f" on the new branch {report.branch}" if report.branch else ""
    say(
        sanitize_line(
            f"{report.folder} {verb} as it was after turn {report.turn}{where}: "
            f"{counted(report.files, 'file')}"
        )
    )
    for path in report.left[:SHOWN]:
        say(sanitize_line(f"left out, because Dragoman has no copy of it: {path}"), file=sys.stderr)
    if len(report.left) > SHOWN:
        say(f"left out likewise: {len(report.left) - SHOWN} more files", file=sys.stderr)
    if not report.done:
        return
    for loss in report.lost:
        say(f"not handed over: {sanitize_line(loss)}", file=sys.stderr)
    how = {"forked": "the agent forked it", "brief": "your next prompt brings a brief of it"}
    say(f"Conversation: {how[report.conversation]}.")
    say(sanitize_line(f"Next: {report.next}"))


def _go_on(report: ForkReport, args: argparse.Namespace) -> int:
    """The first turn in the fork, with the exit status of `dragoman run`."""
    words = [*shlex.split(report.next)[1:-1], *(["--format", "json"] if args.json else [])]
    return run_turn(make_parser().parse_args([*words, "--", args.prompt]))
