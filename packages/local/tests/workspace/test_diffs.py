"""Diffs that people read and `git apply` takes."""

from __future__ import annotations

import subprocess
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dragoman_local.workspace.diffs import MOST_EDITS, quote_name, unified_diff, without_hunks
from tests.every import every

TEXTS = st.lists(st.sampled_from(["a\n", "b\n", "c\n", "\n", "d"]), max_size=14).map("".join)


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(TEXTS, TEXTS)
def test_a_diff_leads_from_one_text_to_the_other(tmp_path: Path, before: str, after: str) -> None:
    diff = unified_diff("file", before.encode(), after.encode())
    assert diff.text is not None
    if before == after:
        assert diff == ("", 0, 0, False)
        return
    file = tmp_path / "file"
    file.write_text(before)
    subprocess.run(
        ["git", "apply", "--unidiff-zero", "--whitespace=nowarn", "-"],
        cwd=tmp_path,
        input=diff.text,
        text=True,
        check=True,
    )
    assert file.read_text() == after


def test_hunks_have_three_lines_around_them_and_join_when_they_touch() -> None:
    before = "".join(f"{n}\n" for n in range(30))
    after = before.replace("5\n", "five\n", 1).replace("11\n", "eleven\n").replace("25\n", "x\n")
    diff = unified_diff("file", before.encode(), after.encode())
    assert diff.text is not None
    assert [line for line in diff.text.splitlines() if line[0] == "@"] == [
        *("@@ -3,13 +3,13 @@", "@@ -23,7 +23,7 @@"),
    ]
    assert (diff.added_lines, diff.removed_lines) == (3, 3)


def test_new_and_removed_files_come_from_nowhere_and_go_there() -> None:
    new = unified_diff("file", None, b"a\nb")
    assert new.text == "--- /dev/null\n+++ b/file\n@@ -0,0 +1,2 @@\n+a\n+b\n\\ No newline at end of file\n"
    old = unified_diff("file", b"a\n", None)
    assert old.text == "--- a/file\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n"


def test_what_holds_nul_is_not_shown() -> None:
    assert unified_diff("file", b"a", b"a\0") == (None, 0, 0, True)


def test_bytes_that_are_no_text_are_shown_as_escapes() -> None:
    diff = unified_diff("file", b"caf\xe9\n", b"cafe\n")
    assert diff.text is not None
    assert "-caf\\xe9\n+cafe\n" in diff.text


def test_a_text_that_differs_everywhere_is_shown_as_replaced() -> None:
    before = "same\n" + "".join(f"a{n}\n" for n in range(2 * MOST_EDITS)) + "end\n"
    diff = unified_diff("file", before.encode(), before.replace("a", "b").encode())
    assert (diff.added_lines, diff.removed_lines) == (2 * MOST_EDITS + 1, 2 * MOST_EDITS + 1)


@every(
    ("name", "written"),
    [
        ("a b", "a b"),
        ("ä", "ä"),
        ("a\nb", '"a\\012b"'),
        ('"', '"\\""'),
        ("a\\", '"a\\\\"'),
        ("\x1b[31m", '"\\033[31m"'),
        ("\u202e", '"\\342\\200\\256"'),
    ],
)
def test_a_name_cannot_make_up_lines(name: str, written: str) -> None:
    assert quote_name(name) == written


@given(
    before=st.lists(st.sampled_from([b"a\n", b"b\n", b"c\n", b"\xff\n", b"d"]), max_size=60).map(b"".join),
    after=st.lists(st.sampled_from([b"a\n", b"b\n", b"c\n", b"\xff\n", b"e"]), max_size=60).map(b"".join),
)
def test_hunks_can_be_undone_one_by_one(before: bytes, after: bytes) -> None:
    hunks = (unified_diff("x", before, after).text or "").count("\n@@ ")
    assert without_hunks(before, after, ()) == after
    assert without_hunks(before, after, range(hunks)) == before
    halfway = without_hunks(before, after, {0})
    left = (unified_diff("x", before, halfway).text or "").count("\n@@ ")
    assert left <= max(0, hunks - 1)
