"""Whether an audit log is as it was written: each line has the number and the digest of the one before it.

A line that was changed, taken out, put in or moved breaks the chain at the next one; lines that were cut
from the end are missed by the head, the small file beside the log. There is no secret in it: whoever may
write both files can write a chain of their own from some line on. Who needs more than that copies the digest
of the last line to another place, and compares it later.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import Final

from msgspec import Struct

from dragoman.system.files import open_regular
from dragoman.workspace.policy.audit import (
    BEGINNING,
    HEAD_BYTES,
    AuditHead,
    chain_of,
    digest_of,
    head_path,
    read_head,
)

_ROTATED: Final = re.compile(r"(.+)\.(\d+)")


class AuditReport(Struct, kw_only=True):
    """What was found, as `dragoman audit verify --json` prints it."""

    files: list[str] = []
    lines: int = 0
    chained: int = 0
    """Lines that are part of the chain."""
    first: int = 0
    """The number of the first of them."""
    last_digest: str = ""
    broken: str = ""
    """Where the chain breaks first, and how; empty if it does not."""
    notes: list[str] = []
    """What is worth knowing and breaks nothing."""


def verify_audit_log(path: str) -> AuditReport:
    """Check a log with the older files beside it, or one of the older files alone. Raises `OSError` if it
    cannot be read.
    """
    is_old = _ROTATED.fullmatch(path) is not None
    report = AuditReport(files=[path] if is_old else _files_of(path))
    digests = _follow(report)
    if report.first > 1:
        before = report.first - 1
        report.notes.append(
            f"The {before} lines before number {report.first} are not here: dropped by age, or removed."
        )
    if not (report.broken or is_old):
        _compare(report, _head_of(path), digests)
    return report


def _files_of(path: str) -> list[str]:
    """The oldest first."""
    numbers = []
    for name in os.listdir(os.path.dirname(path) or "."):
        match = _ROTATED.fullmatch(name)
        if match is not None and match[1] == os.path.basename(path):
            numbers.append(int(match[2]))
    return [*(f"{path}.{number}" for number in sorted(numbers, reverse=True)), path]


def _lines(report: AuditReport) -> Iterator[tuple[str, bytes]]:
    for path in report.files:
        with open_regular(path) as file:
            for number, line in enumerate(file, 1):
                yield f"{path}, line {number}", line.rstrip(b"\n")


def _follow(report: AuditReport) -> dict[int, str]:
    """Read all lines; the digest of each one by its number."""
    digests: dict[int, str] = {}
    number, digest, unchained = 0, "", 0
    for place, line in _lines(report):
        report.lines += 1
        chain = chain_of(line)
        if chain is None:  # of an older version, or torn: the next line has its digest
            unchained += 1
        elif report.broken:
            continue
        else:
            report.broken = _objection(place, chain, number=number, digest=digest)
            report.first = report.first or chain[0]
            report.chained += 1
            number = chain[0]
        digest = digest_of(line)
        if chain is not None:
            digests[number] = report.last_digest = digest
    if unchained:
        report.notes.append(
            f"{unchained} lines have no digest: an older version wrote them, or a full disk cut them."
        )
    return digests


def _objection(place: str, chain: tuple[int, str], *, number: int, digest: str) -> str:
    is_first = not number
    if is_first and not digest and chain[0] > 1:
        return ""  # what it follows is not here
    if chain[1] != (digest or BEGINNING):
        return f"{place}: it does not follow the line before it, which was changed, removed or put in"
    if chain[0] != number + 1 and not is_first:
        return f"{place}: it is number {chain[0]}, and the one before it {number}"
    return ""


def _head_of(path: str) -> AuditHead | None:
    try:
        with open_regular(head_path(path)) as file:
            return read_head(file.read(HEAD_BYTES))
    except FileNotFoundError:
        return None


def _compare(report: AuditReport, head: AuditHead | None, digests: dict[int, str]) -> None:
    last = report.first + report.chained - 1 if report.chained else 0
    if head is None:
        if report.chained:
            report.broken = f"{head_path(report.files[-1])} is missing: lines may have been cut from the end"
    elif head.number > last:
        report.broken = f"{report.files[-1]}: {head.number - last} lines were cut from the end"
    elif head.number == last and digests.get(last) != head.digest:
        report.broken = f"{report.files[-1]}: its last line was changed, or something was put behind it"
    elif head.number < last:
        report.notes.append("The last line is younger than the head: a process was stopped while it wrote.")
