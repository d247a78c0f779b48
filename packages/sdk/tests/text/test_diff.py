from dragoman.text.diff import MOST_WORK, changed_lines, make_patch


def test_a_change_is_a_unified_diff_without_names() -> None:
    assert changed_lines("a\nb\nc\n", "a\nB\nc\n") == ["@@ -1,3 +1,3 @@", " a", "-b", "+B", " c"]


def test_a_new_file_is_all_added() -> None:
    assert changed_lines(None, "x\ny\n") == ["@@ -0,0 +1,2 @@", "+x", "+y"]


def test_texts_too_long_to_be_compared_stand_one_after_the_other() -> None:
    lines = int(MOST_WORK**0.5) + 1
    found = changed_lines("a\n" * lines, "b\n" * lines)
    assert found == ["-a"] * lines + ["+b"] * lines


def test_a_line_that_looks_like_a_heading_of_a_diff_is_kept() -> None:
    assert changed_lines("-- x\n", "++ y\n")[1:] == ["--- x", "+++ y"]


def test_a_patch_says_that_a_line_has_no_end() -> None:
    assert make_patch("a/x", ["1\n"], "b/x", ["2"]).splitlines()[3:] == [
        "-1",
        "+2",
        "\\ No newline at end of file",
    ]
    assert make_patch("a/x", ["1\n"], "b/x", ["1\n"]) == ""
