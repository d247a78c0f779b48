"""`dragoman attest`: who wrote the lines that a commit adds, and what happened in those turns.

Lines are those of git's diff; whose each is says the memory of turns (`blame`), also that of other work trees
of the repository. Prompts are not told unless somebody asks for them, and secrets never.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import re
import sys
from collections import Counter
from collections.abc import Sequence

from msgspec import Struct, field

from dragoman.system.git_process import GitFailed, GitTimeout
from dragoman.text.json_values import encode_json
from dragoman.text.sanitize import sanitize_line
from dragoman_app.apps.console import CommandFailed, UsageMistake, counted, say, say_json
from dragoman_app.apps.folder_memory import memory_of, open_store
from dragoman_local.secrets.search import redact
from dragoman_local.workspace.folder_memory import BlamedLine, FolderMemory, look_now
from dragoman_local.workspace.git_objects import (
    AddedLines,
    added_lines,
    ask_git,
    commit_span,
    read_objects,
    work_trees,
)
from dragoman_local.workspace.snapshot_entries import content_digest
from dragoman_local.workspace.tree_store import TreeStore
from dragoman_local.workspace.turn_facts import By

NOTES = "dragoman"
"""The ref of the notes, below `refs/notes`."""

_CHECK = re.compile(
    r"\b(?:\w*tests?|check|lint|review|verify|specs?|mypy|pyright|ruff|eslint|jest|vitest|tox|nox)\b",
    re.ASCII,
)
"""What names a test or a review in a command."""

TEXT = 200
"""The most characters of a command to show."""

_WHO: tuple[By, ...] = ("agent", "command", "person", "unknown")


class CheckRun(Struct, frozen=True, kw_only=True):
    """A test or a review in a turn, as its agent announced it."""

    turn: int
    command: str
    outcome: str


class AttestedSession(Struct, frozen=True, kw_only=True):
    """A session that wrote some of the lines."""

    session: str
    agent: str
    model: str | None
    turns: list[int]
    lines: int
    approvals: int
    checks: list[CheckRun]
    prompts: dict[int, str] | None = None
    """By turn; None unless requested."""


class AttestedFile(Struct, frozen=True, kw_only=True):
    path: str
    lines: dict[str, int]


class Attestation(Struct, frozen=True, kw_only=True):
    """The facts about the lines that commits add."""

    base: str
    commit: str
    added: int
    lines: dict[str, int]
    sessions: list[AttestedSession] = field(default_factory=list)
    files: list[AttestedFile] = field(default_factory=list)


def run(args: argparse.Namespace) -> int:
    """Run the command; returns the exit status."""
    if args.write and (args.format != "note" or ".." in args.ref):
        raise UsageMistake("--write keeps a note at one commit", "use --format note --write with one commit")
    folder = os.path.realpath(args.folder or ".")
    try:
        base, commit = commit_span(folder, args.ref)
        added = added_lines(folder, base, commit)
        with open_store(args.journal, args.key) as store:
            attestation = asyncio.run(_attest(store, folder, base, commit, added, args))
    except (GitFailed, GitTimeout) as error:
        raise CommandFailed(
            f"git can't read {args.ref} in {folder}: {str(error) or 'git did not answer'}",
            "name a commit, or a range such as main..HEAD",
        ) from None
    if args.write:
        _write_note(folder, commit, attestation)
    if args.format in ("json", "note"):
        say_json(attestation, indent=2)
    else:
        (_show_trailers if args.format == "trailer" else _show)(attestation)
    if args.format == "note":
        done = "kept in" if args.write else "shown only; --write keeps it in"
        say(f"{done} refs/notes/{NOTES}", file=sys.stderr)
    return 0


async def _attest(
    store: TreeStore,
    folder: str,
    base: str,
    commit: str,
    added: Sequence[AddedLines],
    args: argparse.Namespace,
) -> Attestation:
    tops = await asyncio.to_thread(work_trees, folder)
    memories: dict[str, FolderMemory] = {}
    for root in store.roots():
        if any(f"{root}/".startswith(f"{top}/") or f"{top}/".startswith(f"{root}/") for top in tops):
            if await asyncio.to_thread(os.path.isdir, root):
                async with await look_now(store, root):
                    pass
            memories[root] = memory_of(store, root, key=args.key)
    texts: dict[str, dict[str, bytes]] = {}
    places: dict[str, list[tuple[str, str]]] = {}
    for file, data in zip(added, read_objects(folder, [file.object for file in added]), strict=True):
        places[file.path] = _places(memories, tops, file.path, content_digest(data))
        for root, path in places[file.path]:
            texts.setdefault(root, {})[path] = data
    blamed = {root: await memories[root].blame_texts(own) for root, own in texts.items()}
    lines: list[BlamedLine] = []
    files: list[AttestedFile] = []
    for file in added:
        known = [blamed[root][path] for root, path in places[file.path]]
        own = [_said([lines[number - 1] for lines in known if number <= len(lines)]) for number in file.lines]
        lines += own
        if own:
            files.append(AttestedFile(path=file.path, lines=_count(own)))
    return Attestation(
        base=base,
        commit=commit,
        added=len(lines),
        lines=_count(lines),
        sessions=_sessions(lines, memories, shows_prompts=args.prompts),
        files=files,
    )


def _places(
    memories: dict[str, FolderMemory], tops: Sequence[str], path: str, digest: str
) -> list[tuple[str, str]]:
    """The folders that have found this content of a file of the repository, each with the file's path in it;
    if none has, the first that may know the file.
    """
    found = [
        (root, whole.removeprefix(f"{root}/"))
        for whole in (os.path.join(top, path) for top in tops)
        for root in memories
        if whole.startswith(f"{root}/")
    ]
    return [place for place in found if memories[place[0]].has_found(place[1], digest)] or found[:1]


def _said(lines: Sequence[BlamedLine]) -> BlamedLine:
    """What several folders say of one line: where it came by git, its turn was in another one."""
    known = [line for line in lines if line.session is not None]
    return next(iter([*known, *lines]), BlamedLine(line=0, by="unknown"))


def _count(lines: Sequence[BlamedLine]) -> dict[str, int]:
    counts = Counter(line.by for line in lines)
    return {by: counts[by] for by in _WHO}


def _sessions(
    lines: Sequence[BlamedLine], memories: dict[str, FolderMemory], *, shows_prompts: bool
) -> list[AttestedSession]:
    known = {
        (turn.session, turn.number): (turn, memory)
        for memory in memories.values()
        for turn in memory.turns
        if memory.facts.has(turn)
    }
    own: dict[tuple[str, str, str], list[BlamedLine]] = {}
    for line in lines:
        if line.session is not None:
            own.setdefault((line.session, line.agent or "", line.model or ""), []).append(line)
    found: list[AttestedSession] = []
    for (session, agent, model), wrote in sorted(own.items()):
        numbers = sorted({line.turn for line in wrote if line.turn is not None})
        facts = {number: known[session, number][1].facts.of(known[session, number][0]) for number in numbers}
        checks = [
            CheckRun(turn=number, command=redact(run.text)[:TEXT], outcome=run.outcome or "unknown")
            for number, fact in facts.items()
            for run in fact.runs.values()
            if _CHECK.search(run.text)
        ]
        prompts = {line.turn: line.prompt or "" for line in wrote if line.turn is not None}
        found.append(
            AttestedSession(
                session=session,
                agent=agent,
                model=model or None,
                turns=numbers,
                lines=len(wrote),
                approvals=sum(len(fact.approvals) for fact in facts.values()),
                checks=checks,
                prompts=dict(sorted(prompts.items())) if shows_prompts else None,
            )
        )
    return found


def _write_note(folder: str, commit: str, attestation: Attestation) -> None:
    words = ("notes", f"--ref={NOTES}", "add", "-f", "-F", "-", commit)
    try:
        ask_git(folder, *words, feed=encode_json(attestation, indent=2))
    except (GitFailed, GitTimeout) as error:
        raise CommandFailed(
            f"the note was not written: {str(error) or 'git did not answer'}",
            "tell git who you are: git config user.name NAME, git config user.email ADDRESS",
        ) from None


# Telling it.


def _who(session: AttestedSession) -> str:
    model = f" ({session.model})" if session.model else ""
    return f"{session.agent}{model}, session {session.session}, turns {','.join(map(str, session.turns))}"


def _show(attestation: Attestation) -> None:
    say(f"{attestation.commit[:12]} adds {counted(attestation.added, 'line')}")
    for by, number in attestation.lines.items():
        share = 100 * number / attestation.added if attestation.added else 0
        say(f"  {by:<8} {number:>6}  {share:5.1f} %")
    for session in attestation.sessions:
        say(
            sanitize_line(
                f"{_who(session)}: {counted(session.lines, 'line')}, {counted(session.approvals, 'approval')}"
            )
        )
        for check in session.checks:
            say(sanitize_line(f"  ran in turn {check.turn}: {check.command} ({check.outcome})"))
        for turn, prompt in (session.prompts or {}).items():
            say(sanitize_line(f"  prompt of turn {turn}: {prompt}"))


def _show_trailers(attestation: Attestation) -> None:
    counts = ", ".join(f"{by} {number}" for by, number in attestation.lines.items())
    say(f"Dragoman-Lines: {counts}")
    for session in attestation.sessions:
        say(sanitize_line(f"Dragoman-Session: {_who(session)}, approvals {session.approvals}"))
        for check in session.checks:
            say(sanitize_line(f"Dragoman-Check: {check.command} ({check.outcome})"))
