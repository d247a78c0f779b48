"""Finds who made a file change that was found after a turn, and how to report it."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from dragoman_local.secrets.search import redact_file

if TYPE_CHECKING:
    from dragoman_hub.lending.folder_turn import FolderTurn
    from dragoman_hub.lending.named_files import NamedFiles
    from dragoman_local.workspace.snapshots import FileChange


async def attribute(
    turn: FolderTurn, files: Sequence[FileChange]
) -> tuple[list[FileChange], list[tuple[FileChange, str]]]:
    """Separate a turn's own changes from others, and name the others' owners."""
    if not files or turn.stay is None or turn.stay.was_alone:
        return list(files), []
    return await asyncio.to_thread(_tell_apart, turn.named, turn.stay.others(), files)


def _tell_apart(
    named: NamedFiles, others: Sequence[NamedFiles], files: Sequence[FileChange]
) -> tuple[list[FileChange], list[tuple[FileChange, str]]]:
    names = {os.path.basename(change.path) for change in files}
    ours = named.paths(names)
    theirs = {path for other in others for path in other.paths(names)}
    own: list[FileChange] = []
    rest: list[tuple[FileChange, str]] = []
    for change in files:
        if change.path in ours and change.path not in theirs:
            own.append(change)
        else:
            is_theirs = change.path in theirs and change.path not in ours
            rest.append((change, "others" if is_theirs else "unknown"))
    return own, rest


def describe_change(change: FileChange) -> dict[str, Any]:
    diff = _cover_secrets(change.diff or "", name=os.path.basename(change.path))
    return {"path": change.path, "kind": change.kind, "diff": diff, "hunks": _hunks(diff)}


def _cover_secrets(diff: str, *, name: str) -> str:
    """The diff as `read_file` would show its lines; each keeps its sign and its number."""
    lines = diff.split("\n")
    texts = redact_file("\n".join(line[1:] for line in lines), name=name).split("\n")
    return "\n".join(line[:1] + text for line, text in zip(lines, texts, strict=True))


def count_lines(changes: Sequence[FileChange]) -> dict[str, int]:
    """Return how many files there are, and how many lines were added and removed."""
    texts = [str(hunk["text"]) for change in changes for hunk in _hunks(change.diff or "")]
    lines = [line for text in texts for line in text.split("\n")[1:]]
    return {
        "files": len(changes),
        "added": sum(line.startswith("+") for line in lines),
        "removed": sum(line.startswith("-") for line in lines),
    }


def _hunks(diff: str) -> list[dict[str, Any]]:
    """The hunks of a unified diff, numbered."""
    hunks: list[list[str]] = []
    for line in diff.splitlines():
        if line.startswith("@@"):
            hunks.append([line])
        elif hunks:
            hunks[-1].append(line)
    return [{"id": number, "text": "\n".join(lines)} for number, lines in enumerate(hunks)]
