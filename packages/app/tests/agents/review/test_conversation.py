"""What is remembered of a review, and where findings are after some were mended."""

from __future__ import annotations

import msgspec
from hypothesis import assume, given
from hypothesis import strategies as st

from dragoman_app.agents.review.conversation import LastReview, ReviewedText, move_findings
from dragoman_review.finding import Edit, Finding, Fix, Severity
from dragoman_review.text_edits import TextLines, apply_edits


def finding(text: str, edit: Edit) -> Finding:
    fix = Fix(title="F", edits=(edit,), safe=True)
    place = TextLines(text).place("a", edit.start, edit.end)
    return Finding(rule="x/y", severity=Severity.LOW, place=place, title="T", why="W", fix=fix)


def review(*findings: Finding) -> LastReview:
    return LastReview(what="a", files={"a": ReviewedText(path="/a", digest="d")}, findings=list(findings))


@given(st.text(alphabet="ab\n", min_size=4, max_size=60), st.data())
def test_a_fix_means_the_same_after_another_one_was_applied(text: str, data: st.DataObject) -> None:
    cuts = data.draw(st.lists(st.integers(0, len(text)), min_size=4, max_size=4, unique=True))
    a, b, c, d = sorted(cuts)
    edits = [Edit(a, b, data.draw(st.sampled_from(["", "X", "X\nY"]))), Edit(c, d, "Z")]
    first = data.draw(st.integers(0, 1))
    last = review(*(finding(text, edit) for edit in edits))
    after = apply_edits(text, [edits[first]])
    move_findings(last, "a", text, after, [first + 1])
    other = last.findings[1 - first]
    assume(other.fix is not None)
    assert other.fix is not None
    assert apply_edits(after, other.fix.edits) == apply_edits(text, edits)
    assert last.applied == [first + 1]
    assert [number for number, _ in last.open_findings()] == [2 - first]


def test_a_finding_moves_with_its_line_and_loses_a_fix_that_touches_another() -> None:
    text = "one\ntwo\nthree\n"
    last = review(
        finding(text, Edit(0, 3, "1\n1\n1")), finding(text, Edit(8, 13, "3")), finding(text, Edit(2, 5, "x"))
    )
    move_findings(last, "a", text, "1\n1\n1\ntwo\nthree\n", [1])
    assert last.findings[1].line == 5
    assert last.findings[1].fix is not None
    assert last.findings[2].fix is None


def test_findings_of_other_files_stay_where_they_are() -> None:
    last = review(
        finding("ab\n", Edit(0, 1, "")),
        msgspec.structs.replace(finding("ab\n", Edit(1, 2, "")), place=TextLines("ab\n").place("b", 1, 2)),
    )
    before = last.findings[1]
    move_findings(last, "a", "ab\n", "b\n", [1])
    assert last.findings[1] == before


def test_a_review_survives_being_stored() -> None:
    last = review(finding("ab\n", Edit(0, 1, "")))
    last.applied.append(1)
    assert msgspec.convert(msgspec.json.decode(msgspec.json.encode(last)), LastReview) == last
