from dragoman.tui.text.diff import MOST_WORK, compared, diff_lines, patch_lines


def test_a_change_has_signs_and_counts() -> None:
    counted = compared("a\nb\nc\n", "a\nB\nc\n")
    assert counted.lines == ["@@ -1,3 +1,3 @@", " a", "-b", "+B", " c"]
    assert (counted.added, counted.removed) == (1, 1)
    assert [line.plain for line in diff_lines(counted.lines, 20)] == counted.lines


def test_a_new_file_is_all_added() -> None:
    assert compared(None, "x\ny\n").lines == ["@@ -0,0 +1,2 @@", "+x", "+y"]


def test_texts_too_long_to_be_compared_stand_one_after_the_other() -> None:
    lines = int(MOST_WORK**0.5) + 1
    counted = compared("a\n" * lines, "b\n" * lines)
    assert (counted.added, counted.removed) == (lines, lines)


def test_a_line_that_looks_like_a_heading_of_a_diff_is_kept() -> None:
    assert compared("-- x\n", "++ y\n").lines[1:] == ["--- x", "+++ y"]


def test_control_characters_in_a_patch_are_shown() -> None:
    assert [line.plain for line in patch_lines("+\x1b[2J\n", 40)] == ["+␛[2J"]
