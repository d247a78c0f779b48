"""Verifies findings before they are reported: repeats failed scenes, and reports one finding per cause.

A live examination can go wrong by chance: a machine that was busy, a model that was in another mood. So the
scenes in which a requirement failed are played once more, with new processes and in another order, and
judged alone. What fails again has failed; what does not is warned about, with a reason that says so.

One answer to a request can break several requirements, from the general to the special: a refusal, or taking
what should have been refused. It is held against the peer once.

`run_until_stopped` is work that can be ended early: what it has collected until then stays with its caller.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable, Sequence
from typing import TypeVar

from dragoman_check.recording import Recording
from dragoman_check.verdict import Verdict, Violation

NOT_CONFIRMED = "it failed once, but not when the scene was repeated"
NOT_REPEATED = "it failed once, and the examination ended before the scene was repeated"


def scenes_to_repeat(verdicts: Iterable[Verdict], recordings: Sequence[Recording]) -> set[str] | None:
    """Return the scenes whose recordings show a failure; None if nothing failed. The first meeting is always
    played and is not in the list.
    """
    failures = [verdict for verdict in verdicts if verdict.status == "failed"]
    connections = {finding.connection for verdict in failures for finding in verdict.findings}
    names = {str(recordings[number - 1].facts.get("played", "")) for number in connections}
    return names - {""} if failures else None


def keep_confirmed(
    verdicts: Iterable[Verdict], again: Iterable[Verdict], *, is_interrupted: bool = False
) -> None:
    """Turn failures that the second test does not confirm into warnings; an interrupted
    one did not test all.
    """
    repeated_failures = {verdict.requirement for verdict in again if verdict.status == "failed"}
    for verdict in verdicts:
        if verdict.status == "failed" and verdict.requirement not in repeated_failures:
            verdict.status, verdict.reason = "warned", NOT_REPEATED if is_interrupted else NOT_CONFIRMED


def blame_once(verdicts: Iterable[Verdict], recordings: Sequence[Recording]) -> None:
    """Let each refusal, and each wrongly accepted request, count for one requirement alone: the gravest, and
    of those the first in the catalogue.

    Only those: a frame that says something may be wrong in several ways at once.
    """
    owners: dict[tuple[int, tuple[int, ...]], str] = {}
    for verdict in sorted(verdicts, key=_severity):
        if verdict.status not in _SEVERITY:
            continue
        blamed_requirements = [
            owners.setdefault(_refusal(finding), verdict.requirement) for finding in verdict.findings
        ]
        is_refusal = all(_is_about_an_answer(finding, recordings) for finding in verdict.findings)
        if blamed_requirements and verdict.requirement not in blamed_requirements and is_refusal:
            verdict.status = "recorded"
            verdict.reason = f"shown by the same answer as {', '.join(sorted(set(blamed_requirements)))}"


_SEVERITY = {"failed": 0, "warned": 1}


def _severity(verdict: Verdict) -> int:
    return _SEVERITY.get(verdict.status, len(_SEVERITY))


def _refusal(finding: Violation) -> tuple[int, tuple[int, ...]]:
    return finding.connection, tuple(sorted(finding.frames))


def _is_about_an_answer(finding: Violation, recordings: Sequence[Recording]) -> bool:
    """Whether a finding is about an error answer, or about a request and the result that it got."""
    frames = [recordings[finding.connection - 1].frames[number - 1] for number in finding.frames]
    return any("error" in frame.message for frame in frames) or (
        any(frame.is_request for frame in frames) and any(frame.is_answer for frame in frames)
    )


T = TypeVar("T")


async def run_until_stopped(stop: asyncio.Event | None, work: Coroutine[object, None, T]) -> T | None:
    """Return the result of `work`; None if `stop` was set first. Then the work is cancelled, and its end
    awaited.
    """
    working = asyncio.create_task(work, name="examination")
    stopping = asyncio.create_task((stop or asyncio.Event()).wait(), name="stop")
    try:
        await asyncio.wait((working, stopping), return_when=asyncio.FIRST_COMPLETED)
    finally:
        working.cancel()
        stopping.cancel()
        await asyncio.wait((working, stopping))
    return None if working.cancelled() else working.result()
