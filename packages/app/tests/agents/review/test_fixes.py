"""Fixes: asked for file by file with the diff, written where the text came from, over nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from dragoman.schema.v1 import Diff
from tests.agents.review.ground import APP, APP_FIXED, Editor, Told, make_repository, reviewing, say

pytestmark = pytest.mark.bound(30)  # real tools are started, on a machine that may be busy


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return make_repository(tmp_path / "project")


@pytest.fixture
def app(folder: Path) -> Path:
    return folder / "src" / "app.py"


def number_of(told: Told, rule: str) -> int:
    line = next(line for line in told.text.splitlines() if line.startswith("**") and f"`{rule}`" in line)
    return int(line[2:].partition(".")[0])


async def test_safe_fixes_are_applied_after_the_diff_was_allowed(folder: Path, app: Path) -> None:
    editor = Editor()
    async with reviewing(folder, editor) as (_, session):
        await say(session, "review src")
        assert app.read_text() == APP
        told = await say(session, "apply the fixes")
    assert app.read_text() == APP_FIXED
    [asked] = editor.asked
    assert asked.tool_call.kind == "edit"
    assert asked.tool_call.content == [Diff(path=str(app), old_text=APP, new_text=APP_FIXED)]
    assert asked.tool_call.title == "Fix 2 findings in src/app.py"
    assert told.ends == {"Fix 2 findings in src/app.py": "completed"}
    assert "- src/app.py: 2 fixes" in told.text
    assert "may change what the program does" in told.text  # the third one, which was left out
    assert told.plans == [["in_progress"], ["completed"]]


async def test_a_lending_editor_does_the_writing(folder: Path, app: Path) -> None:
    editor = Editor(lends=True)
    async with reviewing(folder, editor) as (_, session):
        await say(session, "review src/app.py and fix it")
    assert editor.writes == {str(app): APP_FIXED}
    assert app.read_text() == APP  # to save it is the editor's business


async def test_a_no_is_a_no(folder: Path, app: Path) -> None:
    async with reviewing(folder, Editor(answers="skip")) as (_, session):
        await say(session, "review src/app.py")
        told = await say(session, "fix it")
        assert app.read_text() == APP
        assert "because you said no" in told.text
        assert set(told.ends.values()) == {"failed"}
        assert told.stop == "end_turn"


@pytest.mark.parametrize(
    ("answer", "asked", "written"), [("apply_all", 1, 2), ("stop", 1, 0), ("apply", 2, 2)]
)
async def test_one_answer_may_count_for_all_files(
    folder: Path, answer: str, asked: int, written: int
) -> None:
    (folder / "src" / "other.py").write_text(APP)
    editor = Editor(answers=answer)
    async with reviewing(folder, editor) as (_, session):
        await say(session, "review src")
        await say(session, "apply the fixes")
    assert len(editor.asked) == asked
    texts = [path.read_text() for path in folder.glob("src/*.py")]
    assert texts.count(APP_FIXED) == written


async def test_a_file_that_changed_since_the_review_is_not_overwritten(folder: Path, app: Path) -> None:
    editor = Editor()
    async with reviewing(folder, editor) as (_, session):
        await say(session, "review src/app.py")
        app.write_text(APP + "# mine\n")
        told = await say(session, "apply the fixes")
        assert app.read_text() == APP + "# mine\n"
        assert editor.asked == []
        assert "the file has changed since it was reviewed" in told.text
        # Changed while the question was open: too late to ask again, early enough to leave it alone.
        await say(session, "review src/app.py")
        editor.before_answer = lambda: app.write_text("# all new\n")
        told = await say(session, "apply the fixes")
        assert app.read_text() == "# all new\n"
        assert "the file has changed since it was reviewed" in told.text


async def test_unsaved_text_is_not_thrown_away_by_an_editor_that_cannot_write(
    folder: Path, app: Path
) -> None:
    editor = Editor()
    editor.client.read_text_file(editor._read)
    editor.buffers[str(app)] = APP + "# not saved\n"
    async with reviewing(folder, editor) as (_, session):
        await say(session, "review src/app.py")
        told = await say(session, "apply the fixes")
    assert app.read_text() == APP
    assert "the file has changed since it was reviewed" in told.text


async def test_fixes_are_applied_one_by_one_also_when_lines_have_moved(folder: Path, app: Path) -> None:
    async with reviewing(folder) as (_, session):
        told = await say(session, "review src/app.py")
        first = number_of(told, "python/mutable-argument-default")  # adds lines above the other
        second = number_of(told, "python/is-literal")
        await say(session, f"apply fix {first}")
        assert "seen=None" in app.read_text()
        assert "is already fixed" in (await say(session, f"apply fix {first}")).text
        await say(session, f"/fix {second}")
        assert app.read_text().endswith('    return command == "x"\n')
        shown = await say(session, f"explain {second}")
        assert f"src/app.py:{len(app.read_text().splitlines())}" in shown.text
        assert (
            "has no automatic fix"
            in (await say(session, f"apply fix {number_of(told, 'python/shell-true')}")).text
        )
        assert "Unknown finding 99" in (await say(session, "apply fix 99")).text


async def test_the_mode_review_and_fix_offers_the_fixes_at_once(folder: Path, app: Path) -> None:
    editor = Editor()
    async with reviewing(folder, editor) as (_, session):
        await session.set_mode("fix")
        told = await say(session, "review src/app.py")
        assert app.read_text() == APP_FIXED
        assert len(editor.asked) == 1
        assert told.plans[-1] == ["completed"] * 5


async def test_fix_with_a_path_reviews_what_was_not_reviewed(folder: Path, app: Path) -> None:
    async with reviewing(folder) as (_, session):
        await say(session, "fix src/app.py")
    assert app.read_text() == APP_FIXED


async def test_mode_line_ends_and_encoding_of_a_file_stay_as_they_were(folder: Path, app: Path) -> None:
    before = "\ufeff" + APP.replace("\n", "\r\n")
    app.write_bytes(before.encode())
    app.chmod(0o750)
    async with reviewing(folder) as (_, session):
        told = await say(session, "fix src/app.py")
    assert "Applied:" in told.text, told.text
    assert app.read_bytes() == ("\ufeff" + APP_FIXED.replace("\n", "\r\n")).encode()
    assert app.stat().st_mode & 0o777 == 0o750


async def test_pasted_code_has_fixes_to_look_at_and_none_to_apply(folder: Path) -> None:
    editor = Editor()
    async with reviewing(folder, editor) as (_, session):
        await say(session, "review\n```python\nimport os\n```")
        told = await say(session, "apply the fixes")
    assert editor.asked == []
    assert "not a file" in told.text


async def test_a_secret_beside_a_fix_is_not_shown_with_the_fix(tmp_path: Path) -> None:
    folder = make_repository(tmp_path / "project")
    token = "ghp_" + "9fQ2xLrT7vKpW3sZ8dYb1nHc6mJg4aEuRoIq"
    (folder / "conf.py").write_text(f'TOKEN = "{token}"\n\n\ndef tokens(seen=[]):\n    return seen\n')
    async with reviewing(folder) as (_, session):
        told = await say(session, "review conf.py")
    assert "+def tokens(seen=None):" in told.text
    assert token not in told.text
