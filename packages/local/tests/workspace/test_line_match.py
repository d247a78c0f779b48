"""Which lines are the same ones: in their order, written otherwise, moved, and not by chance."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from dragoman_local.workspace.line_match import (
    RemovedLines,
    make_run,
    same_lines,
    sure_pairs,
    unclear_lines,
)

texts = st.lists(st.sampled_from(["a", "b", "return value_of_it", "", "unique_line_one"]), max_size=12)


@given(texts, texts)
def test_pairs_are_alike_in_order_and_each_line_is_used_once(old: list[str], new: list[str]) -> None:
    runs = same_lines(old, new)
    pairs = [(run.left + at, run.right + at) for run in runs for at in range(run.length)]
    assert all(old[left] == new[right] for left, right in pairs)
    assert all(one[0] < two[0] and one[1] < two[1] for one, two in pairwise(pairs))
    assert sum(run.length for run in same_lines(old, old)) == len(old)


def found(
    old: list[str], new: list[str], *, gap: int = 0, is_earlier: bool = False
) -> list[tuple[int, list[int]]]:
    removed: RemovedLines[int] = RemovedLines()
    removed.add(make_run("old", 0, 0, old), list(range(len(old))))
    if is_earlier:
        removed.age()
    run = make_run("old" if gap == 0 else "new", gap, 0, new)
    return [(line, list(sources)) for line, sources, *_ in removed.find(run)]


CALL = "    return gather(first_part=left, second_part=right, third_part=total)"
SPLIT = [
    "    return gather(",
    "        first_part=left,",
    "        second_part=right,",
    "        third_part=total,",
    "    )",
]


def test_a_formatters_work_is_seen_through_in_both_directions() -> None:
    assert found([CALL], SPLIT) == [(line, [0]) for line in range(5)]
    assert found(SPLIT, [CALL]) == [(0, [0, 1, 2, 3, 4])]
    assert found(
        ["x = 'a' + very_long_name + other_name"],
        ["x = (", '    "a"', "    + very_long_name", "    + other_name", ")"],
    )


def test_another_meaning_is_no_layout() -> None:
    assert (
        found(
            ["value = left_part * (middle_part + right_part)"],
            ["value = left_part * middle_part + right_part"],
        )
        == []
    )
    assert found(["call(first_argument, second_argument)"], ["call(first_argument)"]) == []


def test_what_is_short_or_far_has_to_say_more() -> None:
    line = ["value_of_it = 12"]
    assert found(line, line) == [(0, [0])]
    assert found(line, line, gap=1) == []
    longer = ["value_of_it = compute_all_of_it(12)"]
    assert found(longer, longer, gap=1) == [(0, [0])]
    assert found(longer, longer, gap=1, is_earlier=True) == []
    assert found(longer * 2, longer * 2, gap=1, is_earlier=True) == [(0, [0]), (1, [1])]


def test_removed_lines_are_found_once() -> None:
    longer = ["value_of_it = compute_all_of_it(12)"]
    assert found(longer, longer * 2) == [(0, [0])]


def test_lines_alike_between_sure_ones_are_unclear_if_their_number_changed() -> None:
    def unclear(old: str, new: str) -> list[tuple[list[int], list[int]]]:
        runs = same_lines(old, new)
        return list(unclear_lines(runs, old, new, sure_pairs(runs, old, new)))

    assert unclear("axb", "axxb") == [([1], [1, 2])]
    assert unclear("axcb", "axnmxb") == [([1], [1, 4])]
    assert unclear("axcxb", "axb") == [([1, 3], [1])]
    assert unclear("axbxc", "axbnxc") == []
    assert unclear("axxb", "axnxb") == []
    assert unclear("a  b", "a   b") == []
