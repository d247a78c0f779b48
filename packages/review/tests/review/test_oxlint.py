"""JavaScript and TypeScript reviewed by oxlint."""

import os
import tempfile
from pathlib import Path

import pytest

from dragoman_review import ReviewSource, Severity, apply_fixes
from dragoman_review.oxlint import oxlint_findings
from dragoman_review.places import find_oxlint


@pytest.fixture
def program() -> str:
    found = find_oxlint()
    assert found is not None
    return found


async def test_findings_are_told_apart_by_their_files(program: str) -> None:
    sources = [
        ReviewSource("dir/a.js", "if (!a in b) {}\n"),
        ReviewSource("other/a.js", "const x = {a: 1, a: 2};\n"),
    ]
    found = await oxlint_findings(program, sources, deadline=20)
    assert {(finding.path, finding.rule) for finding in found} >= {
        ("dir/a.js", "javascript/no-unsafe-negation"),
        ("other/a.js", "javascript/no-dupe-keys"),
    }


async def test_places_count_characters_and_not_bytes(program: str) -> None:
    (found,) = await oxlint_findings(
        program, [ReviewSource("a.ts", "/* é😀 */ if (!a in b) f();\n")], deadline=20
    )
    assert (found.place.column, found.place.end_column) == (14, 16)


async def test_a_fix_is_what_the_tool_would_write(program: str) -> None:
    text = "f();\r\nif (!a in b) g('é');\r\nconst x = {a: 1, a: 2};\r\n"
    found = await oxlint_findings(program, [ReviewSource("a.js", text)], deadline=20)
    assert apply_fixes(text, found).text == text
    assert apply_fixes(text, found, unsafe=True).text == text.replace("!a in b", "!(a in b)")
    assert {finding.rule: finding.fix is not None for finding in found} == {
        "javascript/no-unsafe-negation": True,
        "javascript/no-dupe-keys": False,
    }


async def test_what_cannot_be_parsed_is_one_finding(program: str) -> None:
    found = await oxlint_findings(program, [ReviewSource("a.js", "let = = ;\n")], deadline=20)
    assert [(finding.rule, finding.severity) for finding in found] == [
        ("javascript/invalid-syntax", Severity.HIGH)
    ]


@pytest.mark.parametrize("path", ["types/a.d.ts", "A.D.MTS", "a.d.cts"])
async def test_declarations_without_code_are_no_mistake(program: str, path: str) -> None:
    text = "export const x: string\n"
    assert await oxlint_findings(program, [ReviewSource(path, text)], deadline=20) == []
    assert await oxlint_findings(program, [ReviewSource("a.ts", text)], deadline=20)


async def test_nothing_is_left_on_the_disk(
    program: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    assert await oxlint_findings(program, [ReviewSource("../../evil.js", "if (!a in b) f();\n")], deadline=20)
    assert os.listdir(tmp_path) == []


async def test_a_call_on_a_condition_is_meant_and_a_comparison_alone_is_not(program: str) -> None:
    text = "let a = 1;\na && f();\na ? f() : g();\na ||\n  f();\na == 2;\n"
    found = await oxlint_findings(program, [ReviewSource("a.js", text)], deadline=20)
    assert [(finding.rule, finding.line) for finding in found] == [("javascript/no-unused-expressions", 6)]
