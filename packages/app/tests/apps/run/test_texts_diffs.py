"""Diffs of tool calls, for people."""

from dragoman_app.apps.run.texts import COMPARED, DIFF_LINES, show_diff
from dragoman_app.apps.terminals import Paint

PLAIN = Paint(colours=False)


def test_a_change_is_shown_with_its_file() -> None:
    shown = show_diff({"path": "/a", "oldText": "one\ntwo\n", "newText": "one\n2\n"}, PLAIN)
    assert shown == "--- /a\n+++ /a\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n"


def test_a_new_file_comes_from_nowhere() -> None:
    assert show_diff({"path": "/a", "newText": "x\n"}, PLAIN) == "--- /dev/null\n+++ /a\n@@ -0,0 +1 @@\n+x\n"


def test_a_long_one_is_cut_and_says_so() -> None:
    shown = show_diff({"path": "/a", "newText": "x\n" * (DIFF_LINES + 50)}, PLAIN)
    assert "… 53 more lines" in shown


def test_a_very_long_one_is_counted() -> None:
    shown = show_diff({"path": "/a", "oldText": "x\n" * COMPARED, "newText": "y"}, PLAIN)
    assert shown == f"  /a: {COMPARED} lines become 1\n"


def test_nothing_active_is_in_it() -> None:
    shown = show_diff({"path": "/a\x1b[2J\n", "oldText": "\x1b]0;x\x07", "newText": None}, PLAIN)
    assert "\x1b" not in shown
    assert "\x07" not in shown


def test_colours_tell_the_sides_apart() -> None:
    shown = show_diff({"path": "/a", "oldText": "a", "newText": "b"}, Paint(colours=True))
    assert "\x1b[31m-a\x1b[0m\n" in shown
    assert "\x1b[32m+b\x1b[0m\n" in shown
