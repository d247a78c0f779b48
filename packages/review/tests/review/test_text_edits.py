"""Positions, edits and diffs."""

import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman_review import Edit, Finding, FindingPlace, Fix, Severity, apply_edits, apply_fixes, diff
from dragoman_review.text_edits import TextLines

texts = st.text(st.sampled_from("ab \t\n\réß😀\f\x85"), max_size=60)


def finding(*edits: Edit, safe: bool = True, severity: Severity = Severity.LOW) -> Finding:
    return Finding(
        rule="x/y",
        severity=severity,
        place=FindingPlace(path="x", line=1, end_line=1),
        title="t",
        why="w",
        fix=Fix(title="f", edits=edits, safe=safe),
    )


@given(texts, st.data())
def test_an_offset_becomes_a_position_and_back(text: str, data: st.DataObject) -> None:
    lines = TextLines(text)
    offset = data.draw(st.integers(0, len(text)))
    line, column = lines.position(offset)
    assert lines.offset(line, column) == offset
    assert text.count("\n", 0, offset) == line - 1


@given(texts, st.integers(-3, 99), st.integers(-3, 99))
def test_a_position_outside_of_the_text_becomes_one_inside(text: str, line: int, column: int) -> None:
    assert 0 <= TextLines(text).offset(line, column) <= len(text)


@given(texts)
def test_the_lines_are_those_that_editors_count(text: str) -> None:
    lines = TextLines(text)
    assert [lines.line(number + 1) for number in range(len(lines))] == [
        line.rstrip("\r") for line in text.split("\n")
    ]


@given(texts, st.data())
def test_edits_put_other_characters_in_the_place_of_some(text: str, data: st.DataObject) -> None:
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), min_size=4, max_size=4)))
    first, second = Edit(cuts[0], cuts[1], "ONE"), Edit(cuts[2], cuts[3], "TWO")
    expected = text[: cuts[0]] + "ONE" + text[cuts[1] : cuts[2]] + "TWO" + text[cuts[3] :]
    assert apply_edits(text, [first, second]) == expected


@pytest.mark.parametrize(
    "edits", [[Edit(2, 4, ""), Edit(3, 5, "")], [Edit(0, 99, "")], [Edit(4, 2, "")], [Edit(-1, 2, "")]]
)
def test_edits_that_make_no_sense_are_refused(edits: list[Edit]) -> None:
    with pytest.raises(ValueError, match="overlap"):
        apply_edits("0123456789", edits)


edit_lists = st.lists(
    st.tuples(st.integers(0, 20), st.integers(0, 20), st.sampled_from(["", "x", "y\n"])).map(
        lambda parts: Edit(min(parts[:2]), max(parts[:2]), parts[2])
    ),
    max_size=6,
)


@given(st.text(st.sampled_from("ab\n"), min_size=20, max_size=20), edit_lists)
def test_fixes_that_do_not_go_together_are_left_and_the_rest_is_exact(text: str, edits: list[Edit]) -> None:
    findings = [finding(edit) for edit in edits]
    done = apply_fixes(text, findings)
    assert len(done.applied_findings) + len(done.conflicting_findings) == len(findings)
    wanted = {
        (e.start, e.end, e.text) for found in done.applied_findings if found.fix for e in found.fix.edits
    }
    assert done.text == apply_edits(text, [Edit(*key) for key in sorted(wanted)])
    # What was left touches what was applied.
    for found in done.conflicting_findings:
        assert found.fix is not None
        (edit,) = found.fix.edits
        assert any((edit.start < end and start < edit.end) or start == edit.start for start, end, _ in wanted)


def test_one_fix_is_applied_as_a_whole_or_not_at_all() -> None:
    first = finding(Edit(2, 4, "X"))
    second = finding(Edit(3, 5, "Y"), Edit(7, 8, "Z"))
    done = apply_fixes("0123456789", [first, second])
    assert done.text == "01X456789"
    assert done.conflicting_findings == (second,)


def test_the_same_edit_wanted_twice_is_made_once() -> None:
    done = apply_fixes("import os\n", [finding(Edit(0, 10, "")), finding(Edit(0, 10, ""))])
    assert (done.text, len(done.applied_findings)) == ("", 2)


def test_of_fixes_in_one_place_that_of_the_worse_finding_is_applied() -> None:
    mild, bad = finding(Edit(0, 1, "m")), finding(Edit(0, 2, "b"), severity=Severity.HIGH)
    assert apply_fixes("0123", [mild, bad]).text == "b23"


@given(texts, texts)
def test_a_diff_turns_the_one_text_into_the_other(before: str, after: str) -> None:
    assert (diff("x", before, after) == "") == (before == after)
    assert replayed(before, diff("x", before, after)) == after


def replayed(before: str, shown: str) -> str:
    """The new text, put together from the old one and a diff, by the rules of the format alone."""
    old = [f"{line}\n" for line in before.split("\n")]
    old[-1] = old[-1][:-1]
    out: list[str] = []
    at = 0
    rows = [f"{row}\n" for row in shown.split("\n")][:-1]
    for number, row in enumerate(rows):
        if row.startswith("@@"):
            start, _, size = row.split()[1][1:].partition(",")
            begin = int(start) - 1 if size != "0" else int(start)
            out += old[at:begin]
            at = begin
        elif row.startswith(("---", "+++")) and number < 2:
            continue
        elif row.startswith("\\"):
            if not rows[number - 1].startswith("-"):
                out[-1] = out[-1].removesuffix("\n")
        elif row.startswith("-"):
            at += 1
        else:
            out.append(row[1:])
            at += row.startswith(" ")
    return "".join(out + old[at:])


def test_patch_understands_a_diff(tmp_path: Path) -> None:
    before, after = "a\nb\nc\n", "a\nB\nc\nd"
    (tmp_path / "x.txt").write_text(before)
    shown = diff("x.txt", before, after)
    subprocess.run(["git", "apply", "-"], input=shown, text=True, cwd=tmp_path, check=True)
    assert (tmp_path / "x.txt").read_text() == after


def test_a_place_touches_the_lines_that_it_has_characters_in() -> None:
    place = FindingPlace(path="x", line=2, column=1, end_line=4, end_column=1)
    assert place.touches(frozenset({3}))
    assert not place.touches(frozenset({1, 4, 5}))
    assert FindingPlace(path="x", line=2, end_line=2).touches(frozenset({2}))
