"""Diffs of v1 as patches: what `git apply` makes of them is the text that v1 told."""

from __future__ import annotations

import re
import shutil
import subprocess
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.dialect.v2.to_v2 import tool_call as module
from dragoman.dialect.v2.to_v2.tool_call import diff, git_patch, quote
from dragoman.schema.v2 import ToolCallContent
from tests.dialect.v2.to_v2.judge import is_v2, make_writer
from tests.every import every

texts = st.lists(st.sampled_from(["a", "b", "c", "d", "e\r", "\x0c", "é"]), max_size=30).map("\n".join)


def applied(old: str, patch: str) -> str:
    """A patch applied by hand: nothing but its hunks is believed."""
    lines = _lines(old)
    made: list[str] = []
    at = 0
    for hunk in re.split(r"(?m)^(?=@@ )", patch)[1:]:
        head, *body = hunk.removesuffix("\n").split("\n")
        found = re.fullmatch(r"@@ -(\d+)(?:,(\d+))? \+\d+(?:,\d+)? @@", head)
        assert found is not None, head
        start = int(found[1]) - (found[2] != "0")
        made += lines[at:start]
        at = start
        for line, after in pairwise([*body, ""]):
            end = "" if after.startswith("\\") else "\n"
            if line[0] in " -":
                assert lines[at] == line[1:] + end
                at += 1
            if line[0] in " +":
                made.append(line[1:] + end)
    return "".join([*made, *lines[at:]])


def _lines(text: str) -> list[str]:
    found = [line + "\n" for line in text.split("\n")]
    last = found.pop().removesuffix("\n")
    return [*found, last] if last else found


@given(texts, texts)
def test_a_patch_leads_from_the_old_text_to_the_new(old: str, new: str) -> None:
    assert applied(old, git_patch("/f", old, new)) == new


def test_a_part_that_is_too_long_to_compare_is_exchanged_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "TOO_MUCH", 4)
    old = "".join(f"{n}\n" for n in range(20))
    new = old.replace("9\n", "nine\n").replace("13\n", "thirteen\n")
    assert applied(old, git_patch("/f", old, new)) == new


@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("plain.txt", "a\nb\nc\n", "a\nB\nc\n"),
        ("with a space.txt", "a\n", "b"),
        ('wîth "quotes"\t.txt', "a", "a\n"),
        ("emptied.txt", "a\n", ""),
        ("new.txt", None, "a\nb"),
        ("new and empty.txt", None, ""),
    ],
)
def test_git_applies_a_patch(tmp_path: Path, name: str, old: str | None, new: str) -> None:
    file = tmp_path / name
    if old is not None:
        file.write_text(old)
    # Git takes no absolute paths: what stands before the name is its prefix here.
    patch = git_patch(f"/{name}", old, new).replace("/dev/null", "\0").replace("/", "a/", 1)
    patch = re.sub(r'(?<=[ "])/', "a/", patch).replace("\0", "/dev/null")
    run = subprocess.run(
        ["git", "apply", "--unsafe-paths", "--directory", str(tmp_path), "-p1", "-"],
        input=patch.encode(),
        capture_output=True,
        cwd=tmp_path,
    )
    assert run.returncode == 0, (run.stderr.decode(), patch)
    assert file.read_text() == new


def test_a_patch_has_absolute_names_without_prefixes() -> None:
    patch = git_patch("/home/ann/a.txt", "one\n", "two\n")
    assert patch == (
        "diff --git /home/ann/a.txt /home/ann/a.txt\n--- /home/ann/a.txt\n+++ /home/ann/a.txt\n"
        "@@ -1 +1 @@\n-one\n+two\n"
    )
    assert git_patch("/n", None, "x") == (
        "diff --git /n /n\nnew file mode 100644\n--- /dev/null\n+++ /n\n"
        "@@ -0,0 +1 @@\n+x\n\\ No newline at end of file\n"
    )
    assert git_patch("/n", "same", "same") == ""


def test_unusual_names_are_quoted_as_git_quotes_them() -> None:
    assert quote("/a b") == "/a b"
    assert quote('/ä"\n') == '"/\\303\\244\\"\\n"'


def test_a_diff_says_what_was_done_to_which_file() -> None:
    writer, noted = make_writer()
    made = diff(
        {"type": "diff", "path": "a.txt", "oldText": None, "newText": "x\n", "_meta": {"k": 1}}, writer
    )
    assert made is not None
    assert made["changes"] == [{"operation": "add", "path": "/home/ann/a.txt", "fileType": "text"}]
    assert made["patch"]["format"] == "git_patch"
    assert made["_meta"] == {"k": 1}
    assert is_v2(made, ToolCallContent)
    assert noted == {"a diff as two texts", "a relative path"}


def test_a_diff_that_changes_nothing_has_no_patch() -> None:
    made = diff({"type": "diff", "path": "C:\\a", "oldText": "x", "newText": "x"}, make_writer()[0])
    assert made == {"type": "diff", "changes": [{"operation": "modify", "path": "C:\\a", "fileType": "text"}]}


@every("value", [{}, {"path": "/a"}, {"newText": "x"}, {"path": 3, "newText": "x"}])
def test_a_diff_without_file_or_text_is_left_out(value: dict[str, object]) -> None:
    writer, noted = make_writer()
    assert diff(value, writer) is None
    assert noted
