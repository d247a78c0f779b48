"""Diffs of v2 in v1: a new file is told whole, all else is told as text."""

from __future__ import annotations

from typing import Any

from dragoman.dialect.shown_terminal import as_code_block
from dragoman.dialect.v2.to_v1.diffs import diff, paths
from dragoman.dialect.v2.to_v2.tool_call import git_patch
from tests.dialect.v2.to_v1.told import Told
from tests.every import every


def made(path: str, text: str) -> str:
    lines = "".join(f"+{line}\n" for line in text.splitlines())
    return (
        f"diff --git {path} {path}\nnew file mode 100644\n--- /dev/null\n+++ {path}\n@@ -0,0 +1,9 @@\n{lines}"
    )


def of(*changes: dict[str, Any], patch: str | None = None, **more: Any) -> dict[str, Any]:
    told = {"patch": {"format": "git_patch", "text": patch}} if patch is not None else {}
    return {"type": "diff", "changes": list(changes), **told, **more}


def add(path: str, **more: Any) -> dict[str, Any]:
    return {"operation": "add", "path": path, **more}


def test_a_new_file_is_told_whole() -> None:
    told = Told()
    found = diff(of(add("/a"), patch=made("/a", "x\ny"), _meta={"k": 1}), told)
    assert found == [{"type": "diff", "path": "/a", "oldText": None, "newText": "x\ny\n", "_meta": {"k": 1}}]
    assert told.losses == []


def test_several_new_files_are_told_each() -> None:
    found = diff(of(add("/b"), add("/a"), patch=made("/a", "x") + made("/b", "y")), Told())
    assert [(item["path"], item["newText"]) for item in found] == [("/b", "y\n"), ("/a", "x\n")]


@every("text", ["x\ny\n", "x", "é\n\nz", "a\rb\n"])
@every("path", ["/a", "/a b", "/é"])
def test_what_the_other_way_makes_of_a_new_file_is_read_back(path: str, text: str) -> None:
    (found,) = diff(of(add(path), patch=git_patch(path, None, text)), Told())
    assert (found["path"], found["newText"]) == (path, text)


@every(
    "value",
    [
        of({"operation": "modify", "path": "/a"}, patch=made("/a", "x")),
        of(add("/a"), {"operation": "delete", "path": "/b"}, patch=made("/a", "x")),
        of(add("/a", fileType="symlink"), patch=made("/a", "x")),
        of(add("/a"), patch=made("/a", "x").replace("0,0", "1,2")),
        of(add("/a"), patch=made("/a", "x") + " context\n"),
        of(add("/a"), add("/b"), patch=made("/a", "x") + made("/c", "y")),
        of(add("/a"), patch=""),
        of(add("/a")),
        of(patch="odd"),
        of(),
    ],
)
def test_anything_else_is_text_with_its_original(value: dict[str, Any]) -> None:
    told = Told()
    (found,) = diff(value, told)
    assert found["type"] == "content"
    assert found["_meta"]["dragoman/dialect"]["raw"] == value
    assert told.losses == ["a diff without both texts of its files"]


def test_a_patch_is_shown_and_without_one_what_happened() -> None:
    (found,) = diff(of({"operation": "modify", "path": "/a"}, patch="@@ hm @@\n"), Told())
    assert found["content"]["text"] == "```diff\n@@ hm @@\n```"
    moved = {"operation": "move", "oldPath": "/a", "path": "/b"}
    (found,) = diff(of(moved, {"operation": "delete", "path": "/c"}, "odd"), Told())  # type: ignore[arg-type]
    assert found["content"]["text"] == "move /a → /b\ndelete /c"


def test_the_files_of_a_diff_are_named_once() -> None:
    assert paths(of(add("/a"), add("/b"), add("/a"), {"path": 5})) == ["/a", "/b"]
    assert paths({"changes": "none"}) == []


def test_a_fence_is_longer_than_those_inside() -> None:
    assert as_code_block("a ```` b", "x") == "`````x\na ```` b\n`````"
