"""Applies fixes of the last review: file by file, each with its diff and permission, never over other
changes.

A fix belongs to the text that was reviewed. A file that has changed since is left as it is, and this is said.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from dragoman import KitTurn
from dragoman.schema import v1
from dragoman_app.agents.review.conversation import (
    LastReview,
    ReviewConversation,
    ReviewedText,
    move_findings,
)
from dragoman_app.agents.review.files import STALE, TurnFiles, UnreadFile, digest
from dragoman_app.agents.review.intent import FixIntent
from dragoman_app.agents.review.markdown import count_of
from dragoman_app.agents.review.steps import Steps
from dragoman_review import Finding, FixedText, apply_fixes

OPTIONS = (
    v1.PermissionOption(option_id="apply", name="Apply", kind="allow_once"),
    v1.PermissionOption(option_id="apply_all", name="Apply, also to the other files", kind="allow_always"),
    v1.PermissionOption(option_id="skip", name="Skip this file", kind="reject_once"),
    v1.PermissionOption(option_id="stop", name="Skip this and the other files", kind="reject_always"),
)

NumberedFinding = tuple[int, Finding]


class ChosenFixes(NamedTuple):
    """The fixes to apply by file, and those that can't be applied."""

    files: dict[str, list[NumberedFinding]]
    words: list[str]


async def run_fixes(turn: KitTurn[ReviewConversation], intent: FixIntent, *, plans: bool = True) -> None:
    """Apply the wanted fixes of the last review, and report the result."""
    last = turn.session.conversation.last
    assert last is not None
    choice = choose_fixes(last, intent)
    work = FixRun(turn, last, unsafe=bool(intent.numbers) or intent.unsafe)
    try:
        if plans and choice.files:
            async with Steps(turn, f"Fix {_files_text(list(choice.files))}").step():
                await work.mend_all(choice.files)
        else:
            await work.mend_all(choice.files)
    finally:
        if work.applied_lines:
            turn.session.conversation.keep(last)
    await turn.say(_report(work, choice.words))


def _files_text(files: Sequence[str]) -> str:
    return files[0] if len(files) == 1 else f"{len(files)} files"


def choose_fixes(last: LastReview, intent: FixIntent) -> ChosenFixes:
    """Return the intended findings, and why some of them can't be fixed."""
    words: list[str] = []
    candidates = last.open_findings()
    if intent.numbers:
        words += _not_there(last, intent.numbers)
        candidates = [(number, finding) for number, finding in candidates if number in intent.numbers]
        words += [
            f"Finding {number} ({finding.title}) has no automatic fix."
            for number, finding in candidates
            if finding.fix is None
        ]
    elif not intent.unsafe:
        risky = [number for number, finding in candidates if finding.fix is not None and not finding.fix.safe]
        candidates = [
            (number, finding)
            for number, finding in candidates
            if finding.fix is not None and finding.fix.safe
        ]
        if risky:
            numbers_text = ", ".join(map(str, risky[:20]))
            words.append(
                "Not applied, because these fixes may change what the program does: "
                f"{numbers_text}. To apply one, name it."
            )
    files: dict[str, list[NumberedFinding]] = {}
    for number, finding in candidates:
        if finding.fix is not None and is_meant(finding.path, intent.paths):
            files.setdefault(finding.path, []).append((number, finding))
    return ChosenFixes(files, words)


def _not_there(last: LastReview, numbers: Sequence[int]) -> list[str]:
    words = []
    for number in numbers:
        if not 1 <= number <= len(last.findings):
            words.append(f"Unknown finding {number}: the last review has {len(last.findings)}.")
        elif number in last.applied:
            words.append(f"Finding {number} is already fixed.")
    return words


def is_meant(display_path: str, paths: Sequence[str]) -> bool:
    """Whether a file is among the named ones; without names, every file is."""
    wanted_paths = [path.removeprefix("./").rstrip("/") for path in paths]
    return not wanted_paths or any(
        display_path == path or display_path.startswith(f"{path}/") or display_path.endswith(f"/{path}")
        for path in wanted_paths
    )


class FixRun:
    """The work on all files of one request."""

    def __init__(self, turn: KitTurn[ReviewConversation], last: LastReview, *, unsafe: bool) -> None:
        self._turn = turn
        self._last = last
        self._unsafe = unsafe
        self._files = TurnFiles(turn)
        self._answer: bool | None = None
        """What was decided for all further files."""
        self.applied_lines: list[str] = []
        self.refused_files: list[str] = []
        self.stale: list[str] = []
        self.failed_files: list[str] = []
        self.left_count = 0

    async def mend_all(self, files: Mapping[str, Sequence[NumberedFinding]]) -> None:
        for display_path, findings in files.items():
            await self.mend(display_path, findings)

    async def mend(self, display_path: str, findings: Sequence[NumberedFinding]) -> None:
        """Apply fixes to one file, if that is allowed and the file has not changed since the review."""
        file = self._last.files.get(display_path)
        if file is None or file.path is None:
            self.failed_files.append(f"{display_path}: not a file")
            return
        text = await self._files.read(file.path)
        if isinstance(text, UnreadFile):
            self.failed_files.append(f"{display_path}: {text.why}")
        elif digest(text) != file.digest:
            self.stale.append(display_path)
        else:
            result = apply_fixes(text, [finding for _, finding in findings], unsafe=self._unsafe)
            await self._offer(display_path, file, text, result, findings)

    async def _offer(
        self,
        display_path: str,
        file: ReviewedText,
        text: str,
        result: FixedText,
        findings: Sequence[NumberedFinding],
    ) -> None:
        assert file.path is not None
        self.left_count += len(result.conflicting_findings)
        diff = v1.Diff(path=file.path, old_text=text, new_text=result.text)
        title = f"Fix {count_of(len(result.applied_findings), 'finding')} in {display_path}"
        places = [
            v1.ToolCallLocation(path=file.path, line=finding.line) for finding in result.applied_findings
        ]
        async with self._turn.tool(
            title, name="apply_fix", kind="edit", locations=places, status="pending"
        ) as call:
            await call.progress(content=[diff])
            tool_call = v1.ToolCallUpdate(
                tool_call_id=call.id,
                title=title,
                kind="edit",
                status="pending",
                content=[diff],
                locations=places,
            )
            if not await self._is_allowed(tool_call):
                await call.progress(status="failed")
                self.refused_files.append(display_path)
                return
            await call.progress(status="in_progress")
            why = await self._files.write(file.path, result.text, over=file.digest)
            await call.progress(status="failed" if why else "completed", content=[diff, why] if why else None)
        if why is not None:
            (self.stale if why == STALE else self.failed_files).append(
                display_path if why == STALE else f"{display_path}: {why}"
            )
            return
        self._note(display_path, text, result, findings)

    async def _is_allowed(self, tool_call: v1.ToolCallUpdate) -> bool:
        if self._answer is not None:
            return self._answer
        permission = await self._turn.ask(tool_call, OPTIONS)
        if permission.option is not None and permission.option.kind.endswith("_always"):
            self._answer = bool(permission)
        return bool(permission)

    def _note(
        self, display_path: str, text: str, result: FixedText, findings: Sequence[NumberedFinding]
    ) -> None:
        numbers = [number for number, finding in findings if finding in result.applied_findings]
        numbers_text = ", ".join(map(str, numbers))
        self.applied_lines.append(
            f"{display_path}: {count_of(len(numbers), 'fix', 'fixes')} ({numbers_text})"
        )
        file = self._last.files[display_path]
        self._last.files[display_path] = ReviewedText(path=file.path, digest=digest(result.text))
        move_findings(self._last, display_path, text, result.text, numbers)


def _report(work: FixRun, words: Sequence[str]) -> str:
    parts = [
        *_part("Applied:", work.applied_lines),
        *_part("Not applied, because you said no:", work.refused_files),
        *_part(
            "Not applied, because the file has changed since it was reviewed; review it again:", work.stale
        ),
        *_part("Not applied, because it failed:", work.failed_files),
    ]
    if work.left_count:
        fixes = count_of(work.left_count, "fix", "fixes")
        parts.append(f"{fixes} overlapped with another fix. Review again to see what is left.")
    parts += words
    return "\n\n".join(parts or ["There is nothing to apply: no open finding has a fix."]) + "\n"


def _part(head: str, lines: Sequence[str]) -> list[str]:
    return [head + "\n\n" + "\n".join(f"- {line}" for line in lines)] if lines else []
