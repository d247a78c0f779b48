"""Changes as targets: the new lines according to git, also in texts that are not on the disk."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from dragoman_app.agents.review.intent import OWN_BRANCH, ReviewIntent
from dragoman_app.agents.review.targets import GitBase, ReviewTarget, ReviewTargets, SessionFolders
from dragoman_review.git import GitChangedFile, GitChanges, GitRefused, changed_lines, changes, text_at
from dragoman_review.programs import ToolFailed
from dragoman_review.source_files import decode, is_worth_it

INDEX = ":0"
_DEFAULTS = ("origin/HEAD", "main", "master", "origin/main", "origin/master", "trunk", "develop")


async def find_changes(ground: SessionFolders, intent: ReviewIntent) -> ReviewTargets:
    """Return the changes. Raises `GitRefused` or `ToolFailed` with a text for people."""
    paths = [ground.relative(path) for path in intent.paths] or ["."]
    is_staged = intent.changes == "staged"
    git_changes, against = await _ask_git(Path(ground.cwd), intent.against, is_staged=is_staged, paths=paths)
    targets = [
        _target(ground, git_changes, file, is_staged=is_staged)
        for file in git_changes.files
        if is_worth_it(file.path, is_trusted=git_changes.judge is None)
    ]
    what = "staged changes" if is_staged else f"changes since {against}" if against else "changes"
    inside = tuple(target for target in targets if _is_inside(target))
    return ReviewTargets(what, inside, changes=git_changes, is_staged=is_staged)


async def _ask_git(
    folder: Path, against: str | None, *, is_staged: bool, paths: Sequence[str]
) -> tuple[GitChanges, str | None]:
    if against != OWN_BRANCH:
        return await changes(folder, against=against, is_staged=is_staged, paths=paths), against
    for name in _DEFAULTS:
        try:
            return await changes(folder, against=name, is_staged=is_staged, paths=paths), name
        except GitRefused:
            continue
    raise GitRefused(
        "I can't tell which branch this one belongs to. Name it: review the changes against BRANCH"
    )


def _is_inside(target: ReviewTarget) -> bool:
    # A link leads anywhere; what it is worth is reviewed where it lies.
    return not target.display_path.startswith(("/", "..")) and not os.path.islink(target.path or "")


def _target(
    ground: SessionFolders, git_changes: GitChanges, file: GitChangedFile, *, is_staged: bool
) -> ReviewTarget:
    # Git tells real paths; the session's folder may be reached by a link.
    inside = os.path.relpath(git_changes.top / file.path, os.path.realpath(ground.cwd))
    path = os.path.normpath(os.path.join(ground.cwd, inside))
    revision = INDEX if is_staged else git_changes.base
    base = GitBase(git_changes.top, revision, file.path, is_trusted=git_changes.judge is None)
    return ReviewTarget(ground.display(path), path, None, file.lines, base)


async def text_in_index(base: GitBase) -> str | None:
    """Return a file from the index; None if it is not text."""
    return await _text(base.top, INDEX, base.path)


async def lines_of(base: GitBase, text: str) -> frozenset[int] | None:
    """Return the lines of a text that are new compared with the old file; None if there was no old file."""
    before = None if base.revision is None else await _text(base.top, base.revision, base.path)
    return None if before is None else changed_lines(before, text)


async def _text(top: Path, revision: str, path: str) -> str | None:
    try:
        data = await text_at(top, revision, path)
    except ToolFailed:
        return None
    text = None if data is None else decode(data)
    return None if text is None else text.text
