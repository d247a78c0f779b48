"""A report by the requirements of the official test kit, with Dragoman's verdict on each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from msgspec import Struct

from dragoman_check.conversation import Conversation
from dragoman_check.manifest import requirements
from dragoman_check.official_kit import ABSENT, JUDGED_OTHERWISE, NEAREST, requirements_of, suite
from dragoman_check.recording import Recording
from dragoman_check.report.model import STATUSES, ReportPart
from dragoman_check.verdict import Status

_SHOWN_FIRST: tuple[Status, ...] = ("failed", "warned", "recorded", "waived", "passed")


class KitVerdict(Struct, frozen=True, kw_only=True):
    """One requirement of the kit."""

    ident: str
    status: Status | None
    """None if nothing here means the same."""
    requirements: tuple[str, ...] = ()
    """Ours of that meaning."""
    note: str = ""
    """Where the kit judges otherwise, or why nothing here means the same."""
    pages: tuple[str, ...] = ()
    """The pages of the specification that ours follow."""


def kit_verdicts(found: Mapping[str, Status], *, version: int) -> list[KitVerdict]:
    """What verdicts on our requirements say about each of the suite for this version: the worst counts, and
    what showed before what did not.
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
    """The version of the protocol that the first handshake agreed upon; 1 if there was none."""
    return next((Conversation(recording).version for recording in recordings if recording.frames), 1)


def kit_lines(part: ReportPart, *, version: int) -> Iterator[str]:
    """The section of a report as text."""
    found = {verdict.requirement: verdict.status for verdict in part.verdicts}
    verdicts = kit_verdicts(found, version=version)
    judged = [verdict for verdict in verdicts if verdict.status is not None]
    yield f"acp-tck, version {version}: {len(judged)} of its {len(verdicts)} requirements are judged here"
    for verdict in verdicts:
        what = ", ".join(verdict.requirements)
        note = f"{'; ' if what else ''}{verdict.note}" if verdict.note else ""
        yield f"  {verdict.status or 'not judged':<14} {verdict.ident:<24} {what}{note}"
