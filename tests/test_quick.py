"""`tools/quick.py`: which tests are nearest to a change."""

from __future__ import annotations

import importlib
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

TOOLS = Path(__file__).parents[1] / "tools"

FILES = {
    "packages/sdk/src/dragoman/a/b.py": "",
    "packages/sdk/tests/a/test_b.py": "",
    "packages/sdk/tests/a/helper.py": "from dragoman.a import b\n",
    "packages/sdk/tests/a/test_story.py": "from tests.a.helper import x\n",
    "tests/c/test_other.py": "import dragoman.a.b\n",
    "tests/c/test_far.py": "import dragoman.c\n",
    "tests/test_docs.py": "",
}


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The tool as a module; it is no part of a package."""
    monkeypatch.syspath_prepend(TOOLS)
    monkeypatch.delitem(sys.modules, "quick", raising=False)
    return importlib.import_module("quick")


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    git(tmp_path, "init", "--quiet", "--initial-branch", "main")
    git(tmp_path, "add", "--all")
    commit(tmp_path)
    return tmp_path


def git(folder: Path, *arguments: str) -> None:
    subprocess.run(["git", *arguments], cwd=folder, check=True, capture_output=True)


def commit(folder: Path) -> None:
    git(
        folder, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "--quiet", "--all", "--message", "a: b"
    )


def test_what_is_committed_on_a_branch_changed_or_new_is_a_change(quick: Any, checkout: Path) -> None:
    git(checkout, "checkout", "--quiet", "-b", "work")
    (checkout / "packages/sdk/tests/a/test_b.py").write_text("x = 1\n")
    commit(checkout)
    (checkout / "packages/sdk/tests/a/helper.py").write_text("x = 1\n")
    (checkout / "tests/new.py").write_text("")
    (checkout / "tests/test_docs.py").unlink()
    assert quick.changed_files(checkout) == [
        "packages/sdk/tests/a/helper.py",
        "packages/sdk/tests/a/test_b.py",
        "tests/new.py",
    ]


def nearest(quick: Any, checkout: Path, path: str) -> Any:
    return quick.nearest_tests([path], quick.imports_of_tests(checkout), root=checkout)


def test_the_mirror_comes_first_then_the_room_then_the_others(quick: Any, checkout: Path) -> None:
    found = nearest(quick, checkout, "packages/sdk/src/dragoman/a/b.py")
    assert found == (
        [
            "packages/sdk/tests/a/test_b.py",
            "packages/sdk/tests/a/test_story.py",
            "tests/c/test_other.py",
        ],
        0,
    )


def test_a_changed_helper_runs_the_tests_that_use_it(quick: Any, checkout: Path) -> None:
    found = nearest(quick, checkout, "packages/sdk/tests/a/helper.py")
    assert found == (["packages/sdk/tests/a/test_story.py"], 0)


def test_a_page_runs_the_tests_of_pages(quick: Any, checkout: Path) -> None:
    assert quick.nearest_tests(["docs/hub.md"], {}, root=checkout) == (["tests/test_docs.py"], 0)


def test_what_no_test_imports_has_tests_that_hold_it(quick: Any) -> None:
    root = TOOLS.parent
    found, _ = quick.nearest_tests(["packages/check/src/dragoman_check/requirements.json"], {}, root=root)
    assert found == ["packages/check/tests/check/test_rules_coverage.py", "tests/requirements/test_ledger.py"]
    named = [*quick.HOLDERS, *(name for names in quick.HOLDERS.values() for name in names)]
    assert [name for name in named if not (root / name).exists()] == []


def test_what_is_too_much_is_counted(quick: Any, checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quick, "MOST_FILES", 1)
    found = nearest(quick, checkout, "packages/sdk/src/dragoman/a/b.py")
    assert found == (["packages/sdk/tests/a/test_b.py"], 2)


def test_a_package_is_named_without_its_init(quick: Any) -> None:
    assert quick.module_name("packages/sdk/src/dragoman/a/__init__.py") == "dragoman.a"
    assert quick.importers("dragoman.a", {"tests/test_x.py": {"dragoman.a"}}) == {"tests/test_x.py"}
