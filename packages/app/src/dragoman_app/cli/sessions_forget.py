"""`dragoman sessions forget`: erases sessions with all their data, here or at a hub.

Here, the sessions of one journal are chosen, shown and erased by a `SessionEraser`. At a hub, the hub erases:
nobody may take a session away beneath it.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import time
from collections.abc import AsyncIterator, Sequence
from datetime import datetime
from pathlib import Path

from msgspec import Struct, field

from dragoman.errors import CallFailed, LocalMistake
from dragoman.system.files import HAS_LOCKS
from dragoman.text.sanitize import sanitize_line
from dragoman_app.apps.console import confirm, say, say_json
from dragoman_app.apps.recorded_sessions import SessionMistake, find_session
from dragoman_app.apps.running_marks import is_running
from dragoman_app.cli.hub_client import HubCaller, HubErrors, JsonObject, hub_and_token, open_hub
from dragoman_app.cli.session_family import SessionFamily
from dragoman_hub.folder_lock import running_hub
from dragoman_hub.session.notes import parent_in
from dragoman_local.journal import Journal, StreamInfo, open_journal
from dragoman_local.journal.erasure import AT_ONCE, FORGETTING, SessionEraser, SessionNames
from dragoman_local.journal.history import history_path
from dragoman_local.journal.journal_copy import all_streams
from dragoman_local.kit.journal_lender import erase_sessions, is_turn_running, sessions_path
from dragoman_local.workspace.tree_store import store_beside

NOT_ERASED = (
    "Not erased: the audit log (decisions, commands and paths, in a chain that must stay whole), what other "
    "agents keep themselves, your exports and your backups. `dragoman help retention` says where they are."
)


class ForgetChoice(Struct, frozen=True, kw_only=True):
    """The chosen sessions."""

    ids: tuple[str, ...] = ()
    agent: str | None = None
    before: float | None = None
    """Only sessions without a message since then."""

    def takes(self, *, agent: str, updated: float) -> bool:
        return self.agent in (None, agent) and (self.before is None or updated < self.before)


class ForgetReport(Struct, kw_only=True):
    """The sessions that a command has erased in one place, or would erase."""

    place: str
    dry_run: bool
    sessions: list[str] = field(default_factory=list)
    kept: dict[str, str] = field(default_factory=dict)
    """Chosen sessions that still exist, and why."""


def run(args: argparse.Namespace) -> int:
    """Run `sessions forget`; returns the exit status."""
    if args.ids and (args.all or args.agent or args.older_than is not None):
        raise LocalMistake("name sessions, or choose them with --all, --agent or --older-than, but not both")
    if not (args.ids or args.all or args.agent or args.older_than is not None):
        raise LocalMistake("no sessions named. Name their ids, or use --agent, --older-than or --all")
    before = None if args.older_than is None else time.time() - args.older_than
    choice = ForgetChoice(ids=tuple(args.ids), agent=args.agent, before=before)
    with HubErrors(mistake=1, unreachable=1 if args.hub is None else 9, act="write"):
        return asyncio.run(_run(args, choice))


async def _run(args: argparse.Namespace, choice: ForgetChoice) -> int:
    if args.hub is not None:
        report = await forget_at_hub(args, choice)
    else:
        path = Path(args.journal) if args.journal else history_path()
        if not path.exists():
            raise SessionMistake(
                'no sessions are recorded yet. Start one: dragoman run "Explain this folder"'
            )
        report = await forget_here(path, args, choice)
    if args.json:
        say_json(report)
    else:
        show(report)
    return 1 if report.kept else 0


def show(report: ForgetReport) -> None:
    """Show what was erased."""
    verb = "would forget" if report.dry_run else "forgot"
    for name in report.sessions:
        say(sanitize_line(f"{verb} {name}"))
    for name, why in report.kept.items():
        say(sanitize_line(f"kept {name}: {why}"), file=sys.stderr)
    if not report.sessions and not report.kept:
        say(f"{report.place}: no session matches.", file=sys.stderr)
    elif report.sessions and not report.dry_run:
        say(NOT_ERASED, file=sys.stderr)


def _confirm(report: ForgetReport, args: argparse.Namespace, titles: list[str]) -> bool:
    """Whether there is something to erase, and a person agrees. Raises `LocalMistake` if nobody does."""
    if report.dry_run or not titles:
        return False
    for title in [] if args.yes else [*titles[:20], *([f"… {len(titles)} in all"] if titles[20:] else [])]:
        say(sanitize_line(f"  {title}"), file=sys.stderr)
    confirm(f"Erase {count_sessions(titles)}? This cannot be undone.", is_agreed=args.yes)
    return True


def count_sessions(sessions: Sequence[object]) -> str:
    return "1 session" if len(sessions) == 1 else f"{len(sessions)} sessions"


# Here.


async def forget_here(path: Path, args: argparse.Namespace, choice: ForgetChoice) -> ForgetReport:
    """Erase sessions of a journal's file that no hub uses."""
    hub = "" if _is_same(path, history_path()) or _is_same(path, sessions_path()) else running_hub(path)
    if hub:
        raise SessionMistake(
            f"a {hub} uses this journal. Add --hub to let the hub erase the sessions, or stop the hub first"
        )
    report = ForgetReport(place=str(path), dry_run=args.dry_run)
    async with open_journal(path) as journal:
        infos = await _chosen(journal, choice)
        report.kept = {info.stream: why for info in infos if (why := _why_kept(path, info))}
        if report.kept and choice.ids:  # a mistake in the last must not cost the first
            raise SessionMistake("; ".join(f"{name}: {why}" for name, why in report.kept.items()))
        infos = [info for info in infos if info.stream not in report.kept]
        report.sessions = [info.stream for info in infos]
        if _confirm(report, args, [f"{info.stream}  {info.agent}  {info.title}" for info in infos]):
            await _erase(journal, eraser_of(journal), infos)
        if not report.dry_run:
            await journal.scrub()  # also what a process that was killed has left
    return report


def eraser_of(journal: Journal) -> SessionEraser:
    """Return the eraser of a journal on this machine, with all other stores of this user."""
    eraser = SessionEraser(journal)
    eraser.register(erase_sessions)
    eraser.register(_erase_trees)
    return eraser


async def _erase_trees(sessions: Sequence[SessionNames]) -> None:
    store = store_beside(history_path())
    try:
        await asyncio.to_thread(store.forget, [session.stream for session in sessions])
    finally:
        store.close()


async def finish_forgetting(journal: Journal) -> None:
    """Finish an interrupted erasure: a half erased session is not shown."""
    infos = [info async for info in all_streams(journal, state=FORGETTING)]
    if infos:
        await _erase(journal, eraser_of(journal), infos)


async def _erase(journal: Journal, eraser: SessionEraser, infos: list[StreamInfo]) -> None:
    names: dict[str, SessionNames] = {}
    for info in infos:
        family = await SessionFamily().read(journal, info.stream)
        for member in family.members:
            own = info.session if member == info.stream else ""
            names[member] = SessionNames(member, tuple({own, *family.agent_ids.get(member, ())} - {""}))
    sessions = list(names.values())
    for begin in range(0, len(sessions), AT_ONCE):
        if begin:
            say(f"  erased {begin} of {len(sessions)} …", file=sys.stderr, flush=True)
        await eraser.erase(sessions[begin : begin + AT_ONCE])


async def _chosen(journal: Journal, choice: ForgetChoice) -> list[StreamInfo]:
    if choice.ids:
        chosen: dict[str, StreamInfo] = {}
        for name in choice.ids:
            info = await find_session(journal, name)
            # By the agent's own id, all parts of a session are meant that was gone on with.
            parts = (
                [part async for part in all_streams(journal, session=name)] if info.session == name else []
            )
            chosen |= {part.stream: part for part in (info, *parts)}
        return list(chosen.values())
    infos = [info async for info in all_streams(journal) if not info.stream.startswith("@")]
    infos = [
        info
        for info in infos
        if info.state == FORGETTING or choice.takes(agent=info.agent, updated=info.updated)
    ]
    first = await journal.first_entries([info.stream for info in infos])
    # A child session goes with the one for which it works.
    return [info for info in infos if info.stream not in first or not parent_in(first[info.stream].frame)]


def _why_kept(path: Path, info: StreamInfo) -> str:
    """Why a session cannot be erased now; empty if it can."""
    if _is_same(path, history_path()):
        is_open = is_running(info.stream) if HAS_LOCKS else info.state == "running"
        return "`dragoman run` or `dragoman chat` has the session open: end that first" if is_open else ""
    if _is_same(path, sessions_path()) and is_turn_running(info.stream):
        return "a turn is running: let it end first"
    return ""


def _is_same(path: Path, other: Path) -> bool:
    return path.expanduser().resolve() == other.resolve()


# At a hub.


async def forget_at_hub(args: argparse.Namespace, choice: ForgetChoice) -> ForgetReport:
    """Let a hub erase sessions that the token may use."""
    url, headers = hub_and_token(args.hub or None, args.token_file)
    report = ForgetReport(place=url, dry_run=args.dry_run)
    async with open_hub(url, headers) as hub:
        sessions = {str(session.get("sessionId")): session async for session in _sessions_of(hub)}
        report.sessions = (
            [_meant(name, sessions) for name in choice.ids]
            if choice.ids
            else [name for name, session in sessions.items() if _takes(choice, session)]
        )
        titles = [f"{name}  {sessions[name].get('title', '')}" for name in report.sessions]
        if not _confirm(report, args, titles):
            return report
        for number, name in enumerate(list(report.sessions), 1):
            try:
                await hub.call(
                    "session/delete", {"sessionId": name, "_meta": {"dragoman": {"onlyIdle": True}}}
                )
            except CallFailed as error:
                report.sessions.remove(name)
                report.kept[name] = error.message
            if number % 50 == 0:
                say(f"  erased {number} of {len(titles)} …", file=sys.stderr, flush=True)
    return report


async def _sessions_of(hub: HubCaller) -> AsyncIterator[JsonObject]:
    cursor = None
    while True:
        params = {"limit": 500, "archived": "include"} | ({} if cursor is None else {"cursor": cursor})
        page = await hub.call("_dragoman/hub/sessions", params)
        for session in page.get("sessions", ()):
            yield session
        cursor = page.get("nextCursor")
        if cursor is None:
            return


def _meant(name: str, sessions: dict[str, JsonObject]) -> str:
    names = [name] if name in sessions else [other for other in sessions if other.startswith(name)]
    if len(names) != 1:
        count = "no session" if not names else f"{len(names)} sessions"
        raise SessionMistake(f"the hub shows this token {count} {name!r}; `dragoman hub status` lists them")
    return names[0]


def _takes(choice: ForgetChoice, session: JsonObject) -> bool:
    if session.get("parent"):
        return False
    updated = datetime.fromisoformat(str(session.get("updatedAt"))).timestamp()
    return choice.takes(agent=str(session.get("agent")), updated=updated)
