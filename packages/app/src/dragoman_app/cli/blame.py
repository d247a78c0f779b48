"""`dragoman blame`: who wrote each line of a file, after which prompt. `dragoman why`: the
story of one line.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import os
import time
import uuid
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import quote

from msgspec import UNSET, Struct, UnsetType, field

from dragoman.system.git_process import GitFailed, GitTimeout
from dragoman.text.sanitize import sanitize_line
from dragoman.version import VERSION
from dragoman_app.apps.console import CommandFailed, UsageMistake, counted, say, say_json
from dragoman_app.apps.folder_memory import folder_of, memory_of, open_store, read_text
from dragoman_local.workspace.folder_memory import BlamedLine, FolderMemory, look_now
from dragoman_local.workspace.git_objects import ask_git
from dragoman_local.workspace.tree_store import TreeStore

WHO_WIDTH = 30
PROMPT_WIDTH = 90


class LineStory(Struct, frozen=True, kw_only=True):
    """The history of a line, as far as it is in the journal."""

    line: BlamedLine
    thought: str = ""
    diff: str = ""


def run(args: argparse.Namespace) -> int:
    """Run the command; returns the exit status."""
    _, file, lines, whole = _lines(args)
    if args.json or args.format == "json":
        say_json({"file": file, "lines": lines})
    elif args.format == "agent-trace":
        say_json(trace_record(whole, lines), indent=2)
    else:
        is_porcelain = args.porcelain or args.format == "porcelain"
        (_show_porcelain if is_porcelain else _show)(file, lines, read_text(Path(whole)))
    return 0


def _lines(args: argparse.Namespace) -> tuple[FolderMemory, str, list[BlamedLine], str]:
    """What is known of the folder; the file as it was named, its lines that are asked for, and its path."""
    file, first, last = _asked(args)
    path = os.path.join(args.folder or "", file)
    whole = os.path.join(os.path.realpath(os.path.dirname(path) or "."), os.path.basename(path))
    with open_store(args.journal, args.key) as store:
        folder = os.path.realpath(args.folder) if args.folder else None
        root = folder if folder in store.roots() else folder_of(store, whole)
        memory, lines = asyncio.run(_blame(store, root, os.path.relpath(whole, root), args.key))
    if first > max(len(lines), 1):
        raise CommandFailed(f"{file} has {counted(len(lines), 'line')}", "choose others with --lines")
    return memory, file, lines[first - 1 : last], whole


async def _blame(
    store: TreeStore, root: str, path: str, key: str | None
) -> tuple[FolderMemory, list[BlamedLine]]:
    async with await look_now(store, root):
        pass
    memory = memory_of(store, root, key=key)
    lines = await memory.blame(path)
    if lines is None:
        count = len(await asyncio.to_thread(read_text, Path(root, path)))
        lines = [BlamedLine(line=number, by="unknown") for number in range(1, count + 1)]
    return memory, lines


def run_why(args: argparse.Namespace) -> int:
    """Show the history of one line; return the exit status."""
    memory, _, lines, _ = _lines(args)
    if len(lines) != 1:
        raise UsageMistake("this needs one line", "write FILE:LINE, such as src/app.py:12")
    line = lines[0]
    story = LineStory(line=line)
    turn = next(
        (turn for turn in memory.turns if (turn.session, turn.number) == (line.session, line.turn)), None
    )
    if turn is not None and line.tool_call is not None:
        facts = memory.facts.of(turn)
        story = LineStory(
            line=line,
            thought=facts.thoughts.get(line.tool_call, ""),
            diff=facts.diff(line.tool_call),
        )
    if args.json:
        say_json(story)
        return 0
    say(sanitize_line(f"line {line.line}: {_who(line)}"))
    for name, text in (
        ("prompt", line.prompt),
        ("thought", story.thought),
        ("approved", ", by ".join(filter(None, (line.approved_by, line.approver)))),
        ("diff", story.diff),
    ):
        if text:
            say(f"\n{name}:\n{text.rstrip()}")
    return 0


def _asked(args: argparse.Namespace) -> tuple[str, int, int | None]:
    """The file, and the lines: `FILE:3,9` is `FILE --lines 3,9`."""
    file, spec = args.file, args.lines
    head, _, tail = file.rpartition(":")
    if spec is None and head and tail.replace(",", "").isdigit() and not os.path.lexists(file):
        file, spec = head, tail
    if spec is None:
        return file, 1, None
    first, _, last = spec.partition(",")
    if not first.isdigit() or not int(first) or (last and not (last.isdigit() and int(last) >= int(first))):
        raise UsageMistake(f"{spec!r} is not a range of lines", "use --lines 3 or --lines 3,9")
    return file, int(first), int(last or first)


def _who(line: BlamedLine) -> str:
    if line.session is None:
        return "a person" if line.by == "person" else "unknown"
    name = {"agent": line.agent or "agent", "command": "a command"}.get(line.by, "unknown")
    return f"{name}, turn {line.turn} of {line.session[:8]}"


def _show(file: str, lines: list[BlamedLine], texts: list[str]) -> None:
    width = len(str(lines[-1].line)) if lines else 1
    for line in lines:
        who = sanitize_line(_who(line))[:WHO_WIDTH]
        say(f"{who:<{WHO_WIDTH}} {line.line:>{width}}  {sanitize_line(texts[line.line - 1])}")
    prompts = {(line.session, line.turn): line.prompt for line in lines if line.session is not None}
    if prompts:
        say("")
    for (session, turn), prompt in sorted(prompts.items(), key=str):
        first = next(iter((prompt or "").strip().splitlines()), "")
        say(sanitize_line(f"turn {turn} of {session}: {first[:PROMPT_WIDTH]}"))


def _show_porcelain(file: str, lines: list[BlamedLine], texts: list[str]) -> None:
    """As git's: programs that read `git blame --line-porcelain` read this."""
    for line in lines:
        # Readers remember what they read of a number: each author of a turn has one of its own.
        name = f"{line.by} {line.session}/{line.turn}"
        number = "0" * 40 if line.by == "person" else hashlib.sha256(name.encode()).hexdigest()[:40]
        prompt = next(iter((line.prompt or "").strip().splitlines()), "")
        say(f"{number} {line.line} {line.line} 1")
        say(sanitize_line(f"author {_who(line)}"))
        say(sanitize_line(f"summary {prompt}"))
        say(sanitize_line(f"filename {file}"))
        say(f"\t{sanitize_line(texts[line.line - 1])}")


# Blame as a record of Agent Trace 0.1, the open JSON format in which tools tell who wrote which lines.
#
# A record holds ranges of lines by conversation. A turn is a conversation here, with an address that names
# it; what people wrote has none. Lines of commands count as the agent's that ran them, as the format has it.
# The commit is named only if the file is there as it is now, since the ranges are those of the file now.

FORMAT = "0.1"
"""The version of the format. Its own examples say 0.1.0, its schema requires two numbers."""

MODEL = 250
"""The most characters of a model's name in the format."""

_TYPES = {"agent": "ai", "command": "ai", "person": "human", "unknown": "unknown"}


class Contributor(Struct, frozen=True, kw_only=True):
    type: str
    model_id: str | UnsetType = UNSET


class LineRange(Struct, kw_only=True):
    start_line: int
    end_line: int


class Conversation(Struct, frozen=True, kw_only=True):
    url: str | UnsetType = UNSET
    contributor: Contributor
    ranges: list[LineRange] = field(default_factory=list)


class TracedFile(Struct, frozen=True, kw_only=True):
    path: str
    conversations: list[Conversation]


class TraceRecord(Struct, frozen=True, kw_only=True):
    version: str = FORMAT
    id: str
    timestamp: str
    vcs: dict[str, str] | UnsetType = UNSET
    tool: dict[str, str]
    files: list[TracedFile]


def trace_record(whole: str, lines: Sequence[BlamedLine]) -> TraceRecord:
    """Return the record of one file, by its path on this machine."""
    top, revision = _place(whole)
    return TraceRecord(
        id=str(uuid.uuid4()),
        timestamp=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        vcs={"type": "git", "revision": revision} if revision else UNSET,
        tool={"name": "dragoman", "version": VERSION},
        files=[TracedFile(path=os.path.relpath(whole, top), conversations=_conversations(lines))],
    )


def _conversations(lines: Sequence[BlamedLine]) -> list[Conversation]:
    found: dict[tuple[str, str], Conversation] = {}
    for line in lines:
        url = (
            ""
            if line.session is None
            else f"dragoman:/sessions/{quote(line.session, safe='')}/turns/{line.turn}"
        )
        kind = _TYPES[line.by]
        conversation = found.get((url, kind))
        if conversation is None:
            model = line.model[:MODEL] if line.model and kind == "ai" else UNSET
            contributor = Contributor(type=kind, model_id=model)
            conversation = Conversation(url=url or UNSET, contributor=contributor)
            found[url, kind] = conversation
        last = conversation.ranges[-1] if conversation.ranges else None
        if last is not None and last.end_line == line.line - 1:
            last.end_line = line.line
        else:
            conversation.ranges.append(LineRange(start_line=line.line, end_line=line.line))
    return list(found.values())


def _place(whole: str) -> tuple[str, str]:
    """The top of the repository, or else the file's folder; the commit if it has the file as it is now."""
    folder, name = os.path.split(whole)
    try:
        top = ask_git(folder, "rev-parse", "--show-toplevel").removesuffix("\n")
        revision = ask_git(folder, "rev-parse", "--verify", "HEAD").strip()
        with open(whole, "rb") as file:
            now = ask_git(folder, "hash-object", "--no-filters", "--stdin", feed=file.read()).strip()
        there = ask_git(folder, "rev-parse", "--verify", f"HEAD:./{name}").strip()
    except (GitFailed, GitTimeout, OSError):
        return folder, ""
    return top, revision if now == there else ""
