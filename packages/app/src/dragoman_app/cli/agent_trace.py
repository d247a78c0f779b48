"""Blame as a record of Agent Trace 0.1, the open JSON format in which tools tell who wrote which lines.

A record holds ranges of lines by conversation. A turn is a conversation here, with an address that names it;
what people wrote has none. Lines of commands count as the agent's that ran them, as the format has it. The
commit is named only if the file is there as it is now, since the ranges are those of the file now.
"""

from __future__ import annotations

import os
import time
import uuid
from collections.abc import Sequence
from urllib.parse import quote

from msgspec import UNSET, Struct, UnsetType, field

from dragoman.system.git_process import GitFailed, GitTimeout
from dragoman.version import VERSION
from dragoman_app.apps.folder_memory import BlamedLine
from dragoman_local.workspace.git_objects import ask_git

FORMAT = "0.1"
"""Its own examples say 0.1.0, its schema demands two numbers."""

MODEL = 250
"""Characters that a model's name may have there."""

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
    """The record of one file, by its path on this machine."""
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
