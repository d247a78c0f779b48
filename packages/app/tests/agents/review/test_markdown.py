"""How findings are worded, and what of a text is shown with them."""

from __future__ import annotations

from dragoman_app.agents.review.markdown import finding_paragraph, link, summary
from dragoman_review.finding import Edit, Finding, FindingPlace, Fix, Severity

TEXT = "".join(f"line {n}\n" for n in range(1, 21))


def finding(
    *edits: Edit,
    path: str = "src/a.py",
    line: int = 10,
    severity: Severity = Severity.LOW,
    safe: bool = True,
    secret: bool = False,
) -> Finding:
    place = FindingPlace(path=path, line=line, end_line=line)
    fix = Fix(title="Mend it", edits=edits, safe=safe) if edits else None
    return Finding(rule="x/y", severity=severity, place=place, title="T", why="W", fix=fix, is_secret=secret)


def test_a_finding_has_number_severity_title_place_rule_and_reason() -> None:
    text = finding_paragraph(3, finding(), "/home/me/src/a.py", TEXT)
    assert text == "**3. low: T** ([src/a.py:10](file:///home/me/src/a.py#L10), `x/y`)\n\nW\n\n"


def test_odd_names_do_not_break_the_link() -> None:
    odd = finding(path="a [b]*c.py")
    assert link(odd, "/p/a [b]*c.py") == r"[a \[b\]\*c.py:10](file:///p/a%20%5Bb%5D%2Ac.py#L10)"
    assert link(odd, None) == "`a [b]*c.py:10`"


def test_a_fix_is_shown_as_a_diff_with_the_lines_of_the_file() -> None:
    start = TEXT.index("line 10")
    text = finding_paragraph(1, finding(Edit(start, start + 7, "LINE 10")), None, TEXT)
    assert "Fix: Mend it\n\n```diff\n@@ -7,7 +7,7 @@\n line 7\n" in text
    assert "-line 10\n+LINE 10\n" in text
    assert "line 6\n" not in text
    assert "line 14" not in text


def test_a_fence_in_the_text_does_not_end_the_diff() -> None:
    text = finding_paragraph(1, finding(Edit(0, 3, "~~~"), line=1), None, "```\nx\n```\n")
    assert "````diff\n" in text
    assert text.rstrip().endswith("\n````")


def test_the_lines_of_a_secret_are_shown_nowhere() -> None:
    secret = finding(Edit(0, 4, ""), secret=True)
    assert "line" not in finding_paragraph(1, secret, None, TEXT)


def test_a_fix_that_is_not_safe_says_so() -> None:
    assert "it may change what the program does" in finding_paragraph(
        1, finding(Edit(0, 1, ""), safe=False), None, TEXT
    )


def test_the_summary_counts_by_severity_and_says_how_to_have_the_fixes() -> None:
    found = [
        finding(severity=Severity.HIGH),
        finding(Edit(0, 1, "")),
        finding(Edit(0, 1, ""), safe=False, severity=Severity.HIGH),
    ]
    text = summary(found, 2, ["b.bin: not reviewed: it is not text"])
    assert "2 files reviewed, 3 findings: 2 high, 1 low." in text
    assert "| high | 2 | `x/y` × 2 |" in text
    assert "1 finding can be fixed safely: say “apply the fixes”." in text
    assert "to apply one, say “apply fix 3”" in text
    assert text.endswith("- b.bin: not reviewed: it is not text\n")
    assert "1 file reviewed, no findings." in summary([], 1, [])
