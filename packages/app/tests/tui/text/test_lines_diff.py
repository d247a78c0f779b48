from dragoman_app.tui.text.lines import count_changes, diff_lines, patch_lines


def test_a_change_has_signs_and_counts() -> None:
    counted = count_changes("a\nb\nc\n", "a\nB\nc\n")
    assert counted.lines == ["@@ -1,3 +1,3 @@", " a", "-b", "+B", " c"]
    assert (counted.added_lines, counted.removed_lines) == (1, 1)
    assert [line.plain for line in diff_lines(counted.lines, 20)] == counted.lines


def test_control_characters_in_a_patch_are_shown() -> None:
    assert [line.plain for line in patch_lines("+\x1b[2J\n", 40)] == ["+␛[2J"]
