"""The tests of a project judge the fixes of a model: in a copy, in bounds, and only if that is allowed."""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from dragoman.schema.v1 import Diff
from dragoman.testing.models import ModelTurn, ScriptedModel, call, scripted_model, turn
from dragoman_app.agents.code.permission import SessionGrants
from dragoman_app.agents.review import project_tests
from dragoman_app.agents.review.project_tests import ProjectTests, SuiteCommand, find_suite
from tests.agents.review.ground import Editor, Told, say
from tests.agents.review.model_ground import BUG, OTHER, make_shop, model_reviewer, verdict
from tests.every import every

pytestmark = pytest.mark.bound(60)  # the model layer takes seconds to import, and pytest runs in a process

TESTS = """from shop import discount, price


def test_price():
    assert price(6, 3) == 2


def test_discount():
    assert discount(20) == 18
"""
GOOD = BUG | {
    "fix_old": "    return total / count\n",
    "fix_new": "    return total / count if count else 0.0\n",
}
BAD = OTHER | {"fix_old": "amount // 10", "fix_new": "amount // 100"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = make_shop(tmp_path / "project")
    (folder / "test_shop.py").write_text(TESTS)
    (folder / ".venv").symlink_to(sys.prefix)  # its interpreter has pytest
    (folder / "pytest.ini").write_text("[pytest]\naddopts = --disable-plugin-autoload\n")
    return folder


@pytest.fixture
def copies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where copies are made; nothing may be left here."""
    place = tmp_path / "temporary"
    place.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    return place


def reports(*findings: dict[str, object]) -> list[ModelTurn]:
    return [
        turn(*(call("report", **finding) for finding in findings)),
        turn("Done."),
        verdict("Yes.", refuted=False),
    ]


async def reviewed(
    folder: Path, script: Sequence[ModelTurn], *, answer: str = "allow", run_tests: str = "ask"
) -> tuple[Told, ScriptedModel, Editor]:
    editor = Editor(answers=answer)
    async with (
        scripted_model(script) as model,
        model_reviewer(folder, model.openai_url, editor=editor) as session,
    ):
        await session.set_config_option("run_tests", run_tests)
        return await say(session, "review shop.py"), model, editor


def files_of(folder: Path) -> dict[str, bytes]:
    found = [path for path in folder.rglob("*") if path.is_file() and ".venv" not in path.parts]
    return {str(path.relative_to(folder)): path.read_bytes() for path in found}


async def test_a_fix_that_passes_the_tests_is_shown_and_one_that_fails_them_is_dropped(
    folder: Path, copies: Path
) -> None:
    before = files_of(folder)
    told, _, editor = await reviewed(folder, reports(GOOD, BAD))
    assert "Tests of the project: passed with the fix (pytest)." in told.text
    assert (
        "Tests of the project: failed with the fix that was proposed (pytest), so it is not shown."
        in told.text
    )
    assert "+    return total / count if count else 0.0" in told.text
    assert "amount // 100" not in told.text
    assert "1 fix that it proposed did not pass the checks." in told.text
    assert told.ends["Run pytest in a copy with the fix of shop.py:5"] == "completed"
    assert told.ends["Run pytest in a copy with the fix of shop.py:9"] == "failed"
    assert len(editor.asked) == 1, "one question for all runs of a review"
    assert files_of(folder) == before
    assert os.listdir(copies) == []


async def test_tests_that_fail_without_the_fix_judge_nothing(folder: Path, copies: Path) -> None:
    (folder / "test_shop.py").write_text("def test_broken():\n    assert False\n")
    told, _, _ = await reviewed(folder, reports(GOOD))
    assert "Tests of the project: not run: pytest fails without the fix too." in told.text
    assert "+    return total / count if count else 0.0" in told.text


SHOWS_BUG = {
    "test_path": "test_empty_cart.py",
    "test": "from shop import price\n\n\ndef test_empty_cart():\n    try:\n        price(0, 0)\n"
    "    except ZeroDivisionError:\n        assert False, 'an empty cart'\n",
}


async def test_a_test_that_the_model_wrote_fails_before_its_fix_and_passes_after_it(
    folder: Path, copies: Path
) -> None:
    before = files_of(folder)
    told, _, editor = await reviewed(folder, reports(GOOD | SHOWS_BUG))
    assert (
        "This test fails on the code as it is (`test_empty_cart.py`):\n\n```\nfrom shop import" in told.text
    )
    assert "Tests of the project: passed with the fix (pytest). So does the test above." in told.text
    assert told.ends["Run the model's test for shop.py:5 in a copy"] == "completed"
    [_, about_test] = editor.asked
    assert [option.kind for option in about_test.options] == ["allow_once", "reject_once"]
    assert isinstance(about_test.tool_call.content, list)
    [shown] = about_test.tool_call.content
    assert isinstance(shown, Diff)
    assert shown.new_text == SHOWS_BUG["test"], "who allows it has seen it"
    assert files_of(folder) == before
    assert os.listdir(copies) == []


async def test_tests_that_take_too_long_are_ended(
    folder: Path, copies: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(project_tests, "SECONDS", 0.4)
    (folder / "test_shop.py").write_text("import time\ntime.sleep(600)\n")
    told, _, _ = await reviewed(folder, reports(GOOD))
    assert "Tests of the project: not run: pytest took longer than 0 seconds." in told.text
    assert os.listdir(copies) == []


async def test_tests_that_nobody_allows_are_not_run(folder: Path) -> None:
    told, _, editor = await reviewed(folder, reports(GOOD, BAD), answer="reject")
    assert told.text.count("Tests of the project: not run: running them was not allowed.") == 2
    assert len(editor.asked) == 1
    assert [option.kind for option in editor.asked[0].options] == [
        "allow_once",
        "allow_always",
        "reject_once",
    ]


async def test_a_session_that_says_never_is_not_asked(folder: Path) -> None:
    told, model, editor = await reviewed(folder, reports(GOOD), run_tests="never")
    assert "Tests of the project: not run: the session's option says never." in told.text
    assert editor.asked == []
    assert "tests" not in model.requests[0].tools


async def test_the_model_can_run_the_tests_as_a_tool(folder: Path, copies: Path) -> None:
    script = [turn(call("tests")), turn("They pass.")]
    told, model, _ = await reviewed(folder, script)
    [result] = model.requests[1].results.values()
    assert result.text.startswith("pytest: passed\n")
    assert "2 passed" in result.text
    assert told.ends["Run pytest in a copy of the project"] == "completed"


async def test_a_cancel_while_the_folder_of_the_copy_is_made_leaves_nothing(
    folder: Path, copies: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    turn: Any = SimpleNamespace(session=SimpleNamespace(cwd=str(folder)))
    meter: Any = SimpleNamespace(seconds_left=lambda: 60.0)
    suite = ProjectTests(turn, SuiteCommand("sh", ("sh",)), SessionGrants(), meter)
    running = asyncio.ensure_future(suite._run_copy({}))
    loop, make = asyncio.get_running_loop(), tempfile.mkdtemp

    def make_and_cancel(**options: Any) -> str:
        loop.call_soon_threadsafe(running.cancel)
        return make(**options)

    monkeypatch.setattr(tempfile, "mkdtemp", make_and_cancel)
    with pytest.raises(asyncio.CancelledError):
        await running
    assert os.listdir(copies) == []


async def test_a_cancel_ends_the_tests_and_removes_the_copy(folder: Path, copies: Path) -> None:
    began = folder.with_name("began")
    os.mkfifo(began)
    (folder / "test_shop.py").write_text(f"import time\nopen({str(began)!r}, 'w').close()\ntime.sleep(600)\n")
    editor = Editor(answers="allow")
    async with (
        scripted_model(reports(GOOD)) as model,
        model_reviewer(folder, model.openai_url, editor=editor) as session,
    ):
        prompt = asyncio.ensure_future(say(session, "review shop.py"))
        await asyncio.to_thread(began.read_text)
        assert os.listdir(copies)
        await session.cancel()
        assert (await prompt).stop == "cancelled"
    assert os.listdir(copies) == []


SUITES: dict[str, tuple[dict[str, str], str | None]] = {
    "nothing": ({}, None),
    "pyproject": ({"pyproject.toml": "[tool.pytest.ini_options]\n"}, "python3 -m pytest"),
    "other pyproject": ({"pyproject.toml": "[tool.ruff]\n"}, None),
    "broken pyproject": ({"pyproject.toml": "[tool"}, None),
    "pytest.ini": ({"pytest.ini": "[pytest]\n"}, "python3 -m pytest"),
    "setup.cfg": ({"setup.cfg": "[tool:pytest]\n"}, "python3 -m pytest"),
    "tests": ({"tests/test_a.py": ""}, "python3 -m pytest"),
    "npm": ({"package.json": '{"scripts": {"test": "node --test"}}'}, "npm test"),
    "pnpm": ({"package.json": '{"scripts": {"test": "vitest run"}}', "pnpm-lock.yaml": ""}, "pnpm test"),
    "placeholder": ({"package.json": '{"scripts": {"test": "echo no test specified && exit 1"}}'}, None),
    "no scripts": ({"package.json": "[]"}, None),
    "go": ({"go.mod": "module x\n"}, "go test ./..."),
    "cargo": ({"Cargo.toml": "[package]\n"}, "cargo test --quiet"),
}


@every(("files", "words"), SUITES.values(), ids=SUITES)
def test_the_command_is_found_by_the_files_of_the_projects_tools(
    files: dict[str, str], words: str | None
) -> None:
    with tempfile.TemporaryDirectory() as name:
        for path, text in files.items():
            (Path(name) / path).parent.mkdir(exist_ok=True)
            (Path(name) / path).write_text(text)
        found = find_suite(Path(name))
    assert (found is None) == (words is None)
    if found is not None and words is not None:
        assert " ".join(found.words).startswith(words)


def test_a_copy_has_no_link_that_leads_out_of_it(tmp_path: Path) -> None:
    source = tmp_path / "source"
    (source / "inner").mkdir(parents=True)
    (tmp_path / "outside").write_text("")
    (source / "inner" / "file").write_text("x")
    for name, to in {"out": "../outside", "absolute": str(source / "inner"), "in": "inner/file"}.items():
        (source / name).symlink_to(to)
    found = {str(path.relative_to(source)) for path in project_tests._files_of(source)}
    assert found == {"inner/file", "in"}
