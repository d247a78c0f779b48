"""JavaScript and TypeScript reviewed by oxlint."""

import os
import tempfile
from pathlib import Path

import pytest

from dragoman.review import Severity, Source
from dragoman.review.oxlint import find_oxlint, oxlint_findings


@pytest.fixture
def program() -> str:
    found = find_oxlint()
    assert found is not None
    return found


async def test_findings_are_told_apart_by_their_files(program: str) -> None:
    sources = [Source("dir/a.js", "debugger;\n"), Source("other/a.js", "const x = {a: 1, a: 2};\n")]
    found = await oxlint_findings(program, sources, deadline=20)
    assert {(finding.path, finding.rule) for finding in found} >= {
        ("dir/a.js", "javascript/no-debugger"),
        ("other/a.js", "javascript/no-dupe-keys"),
    }


async def test_places_count_characters_and_not_bytes(program: str) -> None:
    (found,) = await oxlint_findings(program, [Source("a.ts", "/* é😀 */ debugger;\n")], deadline=20)
    assert (found.place.column, found.place.end_column) == (10, 19)


async def test_what_cannot_be_parsed_is_one_finding(program: str) -> None:
    found = await oxlint_findings(program, [Source("a.js", "let = = ;\n")], deadline=20)
    assert [(finding.rule, finding.severity) for finding in found] == [
        ("javascript/invalid-syntax", Severity.HIGH)
    ]


async def test_nothing_is_left_on_the_disk(
    program: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    assert await oxlint_findings(program, [Source("../../evil.js", "debugger;\n")], deadline=20)
    assert os.listdir(tmp_path) == []
