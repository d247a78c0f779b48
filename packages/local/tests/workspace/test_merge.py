"""Three-way merges: what both sides did is in the result, or there is none."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from dragoman_local.workspace.merge import MOST_EDITS, common_runs, merge
from tests.every import every

lines = st.lists(st.sampled_from(["a\n", "b\n", "c\n", "d\n"]), max_size=12)
texts = st.builds("".join, lines)


@every(
    ("base", "ours", "theirs", "merged"),
    [
        ("1\n2\n3\n", "one\n2\n3\n", "1\n2\nthree\n", "one\n2\nthree\n"),
        ("1\n2\n3\n", "1\n2\n3\n4\n", "0\n1\n2\n3\n", "0\n1\n2\n3\n4\n"),
        ("1\n2\n3\n", "1\n3\n", "1\n2\n3\n4\n", "1\n3\n4\n"),
        ("1\n2\n3\n", "1\nx\n3\n", "1\ny\n3\n", None),
        ("1\n2\n3\n", "1\nx\n3\n", "1\n3\n", None),
        ("1\n2\n3\n", "1\nx\n3\n", "1\nx\n3\n", "1\nx\n3\n"),
        ("1\n2\n", "x\n2\n", "1\ny\n", None),  # they touch
        ("", "x\n", "y\n", None),
        ("", "x\n", "x\n", "x\n"),
        ("1\n2\n3", "one\n2\n3", "1\n2\n3\n", "one\n2\n3\n"),
        ("1\r\n2\r\n3\r\n", "x\r\n2\r\n3\r\n", "1\r\n2\r\ny\r\n", "x\r\n2\r\ny\r\n"),
        ("1\u2028\x0b2\n3\n4\n", "1\u2028\x0b2\n3\n5\n", "x\n3\n4\n", "x\n3\n5\n"),
    ],
)
def test_changes_of_both_sides_come_together(base: str, ours: str, theirs: str, merged: str | None) -> None:
    assert merge(base, ours, theirs) == merged


@given(texts, texts)
def test_a_side_that_did_nothing_changes_nothing(base: str, side: str) -> None:
    assert merge(base, side, base) == merge(base, base, side) == merge(base, side, side) == side


@given(texts, texts, texts)
def test_it_does_not_matter_who_is_who(base: str, one: str, other: str) -> None:
    assert merge(base, one, other) == merge(base, other, one)


@given(texts, texts, texts)
def test_a_merge_invents_no_line_and_drops_none_that_all_have(base: str, one: str, other: str) -> None:
    merged = merge(base, one, other)
    if merged is None:
        return
    for line in "abcd":
        counts = [text.count(line) for text in (base, one, other)]
        added = sum(max(count - counts[0], 0) for count in counts[1:])
        removed = sum(max(counts[0] - count, 0) for count in counts[1:])
        assert counts[0] - removed <= merged.count(line) <= counts[0] + added


@given(st.lists(st.sampled_from(["keep", "ours", "theirs"]), max_size=12), st.data())
def test_edits_of_different_parts_are_both_taken(parts: list[str], data: st.DataObject) -> None:
    base, ours, theirs, wanted = "", "", "", ""
    for n, who in enumerate(parts):
        new = "".join(f"new {n} {k}\n" for k in range(data.draw(st.integers(0, 3))))
        old = f"part {n}\n"
        base += f"fence {n}\n{old}"
        ours += f"fence {n}\n{new if who == 'ours' else old}"
        theirs += f"fence {n}\n{new if who == 'theirs' else old}"
        wanted += f"fence {n}\n{old if who == 'keep' else new}"
    assert merge(base, ours, theirs) == wanted


@given(lines, lines)
def test_common_runs_are_equal_lines_in_order(left: list[str], right: list[str]) -> None:
    runs = common_runs(left, right)
    assert runs is not None
    x = y = 0
    for run in runs:
        assert run.left >= x
        assert run.right >= y
        x, y = run.left + run.length, run.right + run.length
        assert left[run.left : x] == right[run.right : y]
    assert x <= len(left)
    assert y <= len(right)


@given(lines, lines)
def test_the_way_found_is_a_shortest_one(left: list[str], right: list[str]) -> None:
    best = [[0] * (len(right) + 1) for _ in range(len(left) + 1)]
    for i, one in enumerate(left, 1):
        for j, other in enumerate(right, 1):
            best[i][j] = best[i - 1][j - 1] + 1 if one == other else max(best[i - 1][j], best[i][j - 1])
    runs = common_runs(left, right)
    assert runs is not None
    assert sum(run.length for run in runs) == best[-1][-1]


def test_texts_that_have_little_in_common_are_not_merged() -> None:
    base = "".join(f"{n}\n" for n in range(MOST_EDITS))
    ours = "".join(f"ours {n}\n" for n in range(MOST_EDITS))
    theirs = base + "end\n"
    assert merge(base, ours, theirs) is None


def test_a_large_file_with_small_changes_is_merged() -> None:
    base = [f"{n}\n" for n in range(50_000)]
    ours, theirs = list(base), list(base)
    ours[100], theirs[49_000] = "ours\n", "theirs\n"
    merged = merge("".join(base), "".join(ours), "".join(theirs))
    assert merged is not None
    assert (merged.count("ours"), merged.count("theirs"), merged.count("\n")) == (1, 1, 50_000)
