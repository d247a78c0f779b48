"""The planted bugs: what our own rules are for is found, and the clean twin of it is left alone."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from dragoman_review import ReviewNote, ReviewSettings, Severity, judges, review
from tests.review.local_inspector import LocalInspector
from tests.review.planted import Case, read_corpus, sources_of

CASES = read_corpus()
GROUPS = sorted({case.group for case in CASES})


@pytest.fixture(scope="module", autouse=True)
def rules_here() -> Iterator[None]:
    """The same rules for hundreds of texts: workers would read them anew for each set."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(judges, "Inspector", LocalInspector)
        yield


def test_no_case_is_there_twice_and_each_has_a_bug() -> None:
    assert len(CASES) == len({case.id for case in CASES}) > 190
    assert all(case.bug != case.clean for case in CASES)


async def reports_of(cases: list[Case]) -> dict[str, set[str]]:
    """The lines of each text with a finding, mild remarks aside."""
    notes: list[ReviewNote] = []
    sources = {source.path: source for source in sources_of(cases)}
    reports: dict[str, set[str]] = {path: set() for path in sources}
    # Without the tools of others: these would hide what our own rules miss.
    settings = ReviewSettings(severity=Severity.LOW, use_ruff=False, use_oxlint=False)
    async for finding in review(sources.values(), settings, note=notes.append):
        line = sources[finding.path].text.split("\n")[finding.line - 1].strip()
        reports[finding.path].add(f"{finding.rule}: {line}")
    assert [note for note in notes if note.is_failure] == []
    return reports


@pytest.mark.parametrize("group", GROUPS)
async def test_a_bug_is_found_and_its_clean_twin_is_left_alone(group: str) -> None:
    cases = [case for case in CASES if case.group == group]
    reports = await reports_of(cases)
    accused = [case.id for number, case in enumerate(cases) if reports[f"{number}_clean.{case.suffix}"]]
    missed = [case.id for number, case in enumerate(cases) if not reports[f"{number}_bug.{case.suffix}"]]
    assert accused == []
    assert missed == []
