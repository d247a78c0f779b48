"""Patterns, their bounds, and what a search leaves alone."""

from __future__ import annotations

import glob
import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dragoman_local.workspace.refusals import FORBIDDEN, INVALID_PARAMS
from dragoman_local.workspace.settings import FileSettings
from tests.workspace.ground import files_in, refused

TREE = (
    "a.py",
    "b.txt",
    "src/a.py",
    "src/deep/er/a.py",
    "src/deep/b.py",
    "src/[x].py",
    ".hidden/a.py",
    "src/.env",
    ".git/config",
    "sub/.git/config.py",
)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for name in TREE:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    return tmp_path


def found(tree: Path, pattern: str, *, hidden: bool = False) -> list[str]:
    with files_in(tree) as files:
        answer = files.search(pattern, hidden=hidden)
    assert not answer.is_truncated
    return [os.path.relpath(path, tree) for path in answer.matches]


@pytest.mark.parametrize(
    ("pattern", "matches"),
    [
        ("*.py", ["a.py"]),
        ("a.py", ["a.py"]),
        ("none.py", []),
        ("none/*.py", []),
        ("b.txt/*", []),
        ("**/*.py", ["a.py", "src/[x].py", "src/a.py", "src/deep/b.py", "src/deep/er/a.py"]),
        ("**/a.py", ["a.py", "src/a.py", "src/deep/er/a.py"]),
        ("src/**", ["src/[x].py", "src/a.py", "src/deep/b.py", "src/deep/er/a.py"]),
        ("src/**/er/**/*.py", ["src/deep/er/a.py"]),
        ("**/**/b.py", ["src/deep/b.py"]),
        ("src/?.py", ["src/a.py"]),
        ("src/[ab].py", ["src/a.py"]),
        ("src/[!a]*.py", ["src/[x].py"]),
        ("*", ["a.py", "b.txt"]),
        (".*/a.py", [".hidden/a.py"]),
        (".hidden/*", [".hidden/a.py"]),
        ("src/.e*", ["src/.env"]),
        (".git/*", []),
        (".git/config", []),
        ("**/config*", []),
        ("{tree}/src/*.py", ["src/[x].py", "src/a.py"]),
    ],
)
def test_a_pattern_finds_files(pattern: str, matches: list[str], tree: Path) -> None:
    assert found(tree, pattern.replace("{tree}", str(tree))) == matches


def test_hidden_files_are_found_on_request_but_never_those_of_git(tree: Path) -> None:
    hidden = found(tree, "**", hidden=True)
    assert {".hidden/a.py", "src/.env", "a.py"} <= set(hidden)
    assert [path for path in hidden if ".git" in path.split("/")] == []


parts = st.sampled_from(["a", "b", "ab", "*", "a*", "?", "[ab]", "**"])


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(names=st.lists(parts, min_size=1, max_size=4))
def test_it_finds_what_the_standard_library_finds(names: list[str], tmp_path: Path) -> None:
    if not (tmp_path / "a").exists():
        for folder in ("a/b/ab", "ab/a", "b/b"):
            (tmp_path / folder).mkdir(parents=True)
            (tmp_path / folder / "a").write_text("") if folder != "ab/a" else None
            (tmp_path / folder / "x").write_text("")
    pattern = "/".join(names)
    model = {
        path
        for path in glob.glob(f"{glob.escape(str(tmp_path))}/{pattern}", recursive=True)
        if os.path.isfile(path)
    }
    with files_in(tmp_path) as files:
        assert set(files.search(pattern).matches) == model


@pytest.mark.parametrize(
    ("pattern", "reason"),
    [
        ("", (INVALID_PARAMS, "bad_path")),
        ("../*", (INVALID_PARAMS, "bad_path")),
        ("src/../../*", (INVALID_PARAMS, "bad_path")),
        ("a\0b", (INVALID_PARAMS, "bad_path")),
        ("/etc/*", (FORBIDDEN, "outside")),
        ("/*", (FORBIDDEN, "outside")),
        ("out/*", (FORBIDDEN, "outside")),
    ],
)
def test_a_pattern_that_leads_out_is_refused(pattern: str, reason: tuple[int, str], tree: Path) -> None:
    (tree / "out").symlink_to("/etc")
    with files_in(tree) as files:
        assert refused(files.search, pattern) == reason


def test_links_are_not_entered_and_those_to_files_outside_not_listed(tree: Path) -> None:
    root = tree / "src"
    (root / "up").symlink_to("..")
    (root / "etc").symlink_to("/etc")
    (root / "in.py").symlink_to("a.py")
    (root / "out.py").symlink_to("../a.py")
    (root / "gone.py").symlink_to("nothing.py")
    os.mkfifo(root / "pipe.py")
    assert found(root, "*.py") == ["[x].py", "a.py", "in.py"]
    assert found(root, "**/passwd") == []


def test_a_name_that_is_no_text_is_left_out(tree: Path) -> None:
    with open(os.fsencode(tree) + b"/\xff.py", "w"):
        pass
    assert found(tree, "*.py") == ["a.py"]


@pytest.mark.parametrize(
    "bounds",
    [FileSettings(glob_matches=2), FileSettings(glob_entries=3), FileSettings(glob_seconds=0)],
    ids=["matches", "entries", "time"],
)
def test_a_search_is_bounded_and_says_so(bounds: FileSettings, tree: Path) -> None:
    with files_in(tree, settings=bounds) as files:
        answer = files.search("**/*.py")
        assert answer.is_truncated
        assert len(answer.matches) <= 3
    with files_in(tree) as files:
        assert files.search("**/*.py", limit=1) == ([str(tree / "a.py")], True)
        assert not files.search("**/*.py", limit=5).is_truncated
