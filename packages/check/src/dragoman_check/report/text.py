"""A report for people: findings first, each with its frames and its fix, then the counts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from msgspec import Struct

from dragoman.text.sanitize import sanitize_line
from dragoman_check.conversation import Conversation
from dragoman_check.manifest import requirements
from dragoman_check.official_kit import ABSENT, JUDGED_OTHERWISE, NEAREST, kit_ids, requirements_of, suite
from dragoman_check.recording import Recording
from dragoman_check.report.model import STATUSES, CheckReport, PackResult, ReportPart
from dragoman_check.verdict import Status, Verdict, Violation

SHOWN = 3
"""The most different findings of one requirement to show; the others are counted."""

_ARROW = {"to_agent": "→ agent ", "to_client": "→ client"}
_DETAILED: tuple[Status, ...] = ("failed", "warned", "recorded", "waived")


def as_text(report: CheckReport, *, details: bool = False, ids: str = "") -> str:
    """Return the report as text. `details` also names requirements that passed, were not exercised or do not
    apply. `ids` are those of another kit (`tck`), whose requirements are listed as well.
    """
    return "\n".join(map(sanitize_line, _lines(report, details, ids))) + "\n"


def format_counts(counts: dict[Status, int]) -> str:
    """Return a text such as `2 failed, 40 passed, 10 not exercised`."""
    return (
        ", ".join(f"{counts[status]} {status}" for status in STATUSES if counts[status]) or "nothing judged"
    )


def _lines(report: CheckReport, details: bool, ids: str) -> Iterator[str]:
    for part in report.parts:
        yield from _part(report, part, details)
    for pack in report.packs:
        if pack.items:
            yield from _pack(report, pack)
    for complaint in report.complaints:
        yield f"note: {complaint}"
    if report.blocked_by:
        yield f"BLOCKED: {report.blocked_by}"
    for part in report.parts if ids == "tck" else ():
        if part.side == "agent":
            yield from kit_lines(part, version=agreed_version(report.recordings))
    for part in report.parts:
        yield f"{_whom(part)}: {format_counts(part.counts)}"
    if report.counts["not exercised"] or report.counts["blocked"]:
        yield 'Requirements that are "not exercised" or "blocked" are untested and may still be broken.'


def distinct(verdict: Verdict) -> list[Violation]:
    """Return one finding for each problem, even if it appeared often."""
    return list({(finding.rule, finding.why): finding for finding in reversed(verdict.findings)}.values())[
        ::-1
    ]


def _whom(part: ReportPart) -> str:
    return f"{part.side} {part.peer}".strip()


def _part(report: CheckReport, part: ReportPart, details: bool) -> Iterator[str]:
    for verdict in sorted(part.of(*_DETAILED), key=lambda verdict: STATUSES.index(verdict.status)):
        yield from _verdict(report, part, verdict)
        yield ""
    if details:
        for verdict in part.verdicts:
            if verdict.status not in _DETAILED:
                why = f" ({verdict.reason})" if verdict.reason else ""
                yield f"{verdict.status}: {verdict.requirement} {verdict.level}: {verdict.text}{why}"
        yield ""


def _verdict(report: CheckReport, part: ReportPart, verdict: Verdict) -> Iterator[str]:
    yield f"{verdict.status.upper()} {verdict.requirement} {verdict.level} ({part.side}): {verdict.text}"
    if part.side == "agent" and (ids := kit_ids(verdict.requirement)):
        yield f"  official kit: {', '.join(ids)}"
    if verdict.reason:
        yield f"  {'waived: ' if verdict.status == 'waived' else ''}{verdict.reason}"
    findings = distinct(verdict)[:SHOWN]
    for finding in findings:
        yield from _finding(report, finding)
    if verdict.broken > len(findings):
        yield f"  … broken in {verdict.broken} of {verdict.places} places"
    for fix in dict.fromkeys(finding.fix for finding in verdict.findings):
        yield f"  change: {fix}"


def _finding(report: CheckReport, finding: Violation) -> Iterator[str]:
    yield f"  {finding.why} [{finding.rule}]"
    for excerpt in report.evidence(finding):
        line = report.line_of(finding.connection, excerpt.number)
        where = f"{report.name_of(finding.connection)}{f':{line}' if line else ''}"
        arrow = _ARROW[excerpt.direction]
        yield f"    {where} frame {excerpt.number} {arrow} {excerpt.at:8.3f} s  {excerpt.text}"


def _pack(report: CheckReport, pack: PackResult) -> Iterator[str]:
    yield f"{pack.name} ({pack.side}): {pack.about}"
    for item in pack.items:
        share = f" ({item.exercised_count} of {len(item.requirements)} seen)" if item.requirements else ""
        why = f": {item.reason}" if item.reason else ""
        where = f" ({report.name_of(item.connection)} frame {item.frames[0]})" if item.frames else ""
        yield f"  {item.status:<14} {item.says}{share}{why}{where}"
    yield ""


# A report by the requirements of the official test kit: our verdict on each.

_SHOWN_FIRST: tuple[Status, ...] = ("failed", "warned", "recorded", "waived", "passed")


class KitVerdict(Struct, frozen=True, kw_only=True):
    """One requirement of the kit."""

    ident: str
    status: Status | None
    """None without a counterpart here."""
    requirements: tuple[str, ...] = ()
    """Our requirements with the same meaning."""
    note: str = ""
    """A difference in the kit's judgement, or why there is no counterpart here."""
    pages: tuple[str, ...] = ()
    """The pages of the specification for ours."""


def kit_verdicts(found: Mapping[str, Status], *, version: int) -> list[KitVerdict]:
    """Return verdicts on the suite for this version, from those on our requirements: the worst counts, and
    tested ones before untested.
    """
    return [_kit_verdict(ident, found) for ident in suite(version)]


def _kit_verdict(ident: str, found: Mapping[str, Status]) -> KitVerdict:
    ours = requirements_of(ident) or NEAREST.get(ident, ())
    if not ours:
        return KitVerdict(ident=ident, status=None, note=ABSENT[ident])
    present = {found[name] for name in ours if name in found}
    order = [*_SHOWN_FIRST, *(status for status in STATUSES if status not in _SHOWN_FIRST)]
    status: Status = next((status for status in order if status in present), "not exercised")
    pages = dict.fromkeys(requirements()[name].page for name in ours)
    return KitVerdict(
        ident=ident,
        status=status,
        requirements=ours,
        note=JUDGED_OTHERWISE.get(ident) or ABSENT.get(ident, ""),
        pages=tuple(page for page in pages if page),
    )


def agreed_version(recordings: Iterable[Recording]) -> int:
    """Return the version of the protocol from the first handshake; 1 if there was none."""
    return next((Conversation(recording).version for recording in recordings if recording.frames), 1)


def kit_lines(part: ReportPart, *, version: int) -> Iterator[str]:
    """Return the section of a report as text."""
    found = {verdict.requirement: verdict.status for verdict in part.verdicts}
    verdicts = kit_verdicts(found, version=version)
    judged = [verdict for verdict in verdicts if verdict.status is not None]
    yield f"acp-tck, version {version}: {len(judged)} of its {len(verdicts)} requirements are judged here"
    for verdict in verdicts:
        what = ", ".join(verdict.requirements)
        note = f"{'; ' if what else ''}{verdict.note}" if verdict.note else ""
        yield f"  {verdict.status or 'not judged':<14} {verdict.ident:<24} {what}{note}"
