"""Whose a change is, and how it is told: with its hunks, its lines counted, its secrets covered."""

from __future__ import annotations

from dragoman_hub.lending.change_owner import _tell_apart, attribute, count_lines, describe_change
from dragoman_hub.lending.folder_turn import FolderTurn
from dragoman_hub.lending.named_files import NamedFiles
from dragoman_hub.lending.turn_overlap import TurnOverlap
from dragoman_local.workspace.change_set import FileChange

DIFF = """\
--- a/f.txt
+++ b/f.txt
@@ -1,2 +1,2 @@
-old
+new
 same
@@ -9,0 +10,2 @@
+--- added
+++ token = "abcdefgh12345678"
"""


def names(*paths: str) -> NamedFiles:
    files = NamedFiles("/work", place="there")
    for path in paths:
        files.name(path)
    return files


def test_who_alone_names_a_file_has_changed_it() -> None:
    files = [FileChange(path=f"/work/{name}", kind="modified") for name in ("ours", "theirs", "both", "none")]
    others = [names("/work/theirs"), names("/work/both")]
    own, rest = _tell_apart(names("/work/ours", "both"), others, files)
    assert [change.path for change in own] == ["/work/ours"]
    assert [(change.path, by) for change, by in rest] == [
        ("/work/theirs", "others"),
        ("/work/both", "unknown"),
        ("/work/none", "unknown"),
    ]


async def test_a_turn_that_was_alone_has_changed_everything() -> None:
    files = [FileChange(path="/work/none", kind="modified")]
    turns = [FolderTurn(name, "key", "/work") for name in ("a", "b")]
    assert await attribute(turns[0], files) == (files, [])
    overlap = TurnOverlap()
    turns[0].stay = overlap.enter("", ["/work"], turns[0].named)
    assert await attribute(turns[0], files) == (files, [])
    turns[1].stay = overlap.enter("", ["/work"], turns[1].named)
    assert await attribute(turns[0], []) == ([], [])
    assert await attribute(turns[0], files) == ([], [(files[0], "unknown")])


def test_a_change_is_told_by_its_hunks_and_without_secrets() -> None:
    told = describe_change(FileChange(path="/work/f.txt", kind="modified", diff=DIFF))
    assert (told["path"], told["kind"]) == ("/work/f.txt", "modified")
    assert [hunk["id"] for hunk in told["hunks"]] == [0, 1]
    assert told["hunks"][0]["text"] == "@@ -1,2 +1,2 @@\n-old\n+new\n same"
    assert told["hunks"][1]["text"].startswith("@@ -9,0 +10,2 @@\n+--- added\n+")
    assert told["diff"].startswith("--- a/f.txt\n+++ b/f.txt\n@@ -1,2 +1,2 @@\n-old\n+new\n same\n@@")
    assert "abcdefgh12345678" not in str(told)
    binary = FileChange(path="/work/f.txt", kind="added", binary=True)
    assert describe_change(binary) == {"path": "/work/f.txt", "kind": "added", "diff": "", "hunks": []}


def test_lines_of_all_hunks_are_counted_and_headers_are_none() -> None:
    changes = [
        FileChange(path="/work/f.txt", kind="modified", diff=DIFF),
        FileChange(path="/work/g", kind="added", binary=True),
    ]
    assert count_lines(changes) == {"files": 2, "added": 3, "removed": 1}
    assert count_lines([]) == {"files": 0, "added": 0, "removed": 0}
