"""The review agent, talked to in memory: what is found, told, planned and remembered."""

from __future__ import annotations

import asyncio
import os
import re
from pathlib import Path

import pytest

from dragoman import connect
from dragoman.errors import CallFailed, ErrorAnswer
from dragoman.schema.v1 import (
    AvailableCommandsUpdate,
    EmbeddedResource,
    ReadTextFileRequest,
    ReadTextFileResponse,
    ResourceLink,
    SessionInfoUpdate,
    TextResourceContents,
    UserMessageChunk,
)
from dragoman_app.agents.review.agent import review_agent
from dragoman_review import Severity
from tests.agents.review.ground import (
    APP,
    APP_FINDINGS,
    SHELL_FINDINGS,
    Editor,
    Told,
    findings_in,
    git,
    make_repository,
    reviewing,
    say,
)

pytestmark = pytest.mark.bound(30)  # real tools are started, on a machine that may be busy

NEW = "\n\ndef last(items=[]):\n    return items\n"
NEW_FINDING = {("python/mutable-argument-default", "src/clean.py", 8)}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return make_repository(tmp_path / "project")


async def test_a_named_file_is_reviewed_whole_and_nothing_is_invented(folder: Path) -> None:
    async with reviewing(folder) as (_, session):
        told = await say(session, "review src/app.py")
        assert told.findings == APP_FINDINGS
        assert len(findings_in(told.text)) == len(APP_FINDINGS)  # each once
        assert "1 file reviewed, 4 findings: 1 high, 2 medium, 1 info." in told.text
        assert told.stop == "end_turn"
        clean = await say(session, "review src/clean.py")
        assert clean.findings == set()
        assert "1 file reviewed, no findings." in clean.text


async def test_a_folder_several_paths_and_the_whole_project_are_reviewed(folder: Path) -> None:
    async with reviewing(folder) as (_, session):
        assert (await say(session, "review src")).findings == APP_FINDINGS
        assert (await say(session, "check tools/get.sh and @src/clean.py")).findings == SHELL_FINDINGS
        assert (await say(session, "review everything")).findings == APP_FINDINGS | SHELL_FINDINGS
        assert (await say(session, "review app.py")).findings == APP_FINDINGS  # the one file of that name


async def test_a_file_whose_name_no_message_can_hold_is_named_and_the_others_are_reviewed(
    folder: Path,
) -> None:
    (folder / os.fsdecode(b"odd\xfe.py")).write_text(APP)
    async with reviewing(folder) as (_, session):
        told = await say(session, "review everything")
        assert told.findings == APP_FINDINGS | SHELL_FINDINGS
        assert "odd\ufffd.py: not reviewed: its name is not UTF-8 text" in told.text
        git(folder, "add", ".")
        assert "odd\ufffd.py: not reviewed" in (await say(session, "review my changes")).text


async def test_changes_are_reviewed_line_by_line_or_whole_as_the_option_says(folder: Path) -> None:
    (folder / "src" / "clean.py").write_text((folder / "src" / "clean.py").read_text() + NEW)
    app = folder / "src" / "app.py"
    app.write_text(app.read_text() + "\n\nDONE = True\n")
    (folder / "new.py").write_text("import os\n")
    new = {("python/unused-import", "new.py", 1)}
    async with reviewing(folder) as (_, session):
        told = await say(session, "review my changes")
        assert told.findings == NEW_FINDING | new
        assert told.ends["Ask git what changed"] == "completed"
        await session.set_config_option("scope", "whole")
        assert (await say(session, "review my changes")).findings == NEW_FINDING | new | APP_FINDINGS
        await session.set_config_option("severity", "critical")
        assert (await say(session, "/diff")).findings == set()


async def test_staged_text_and_a_branch_are_compared_with_what_was_there(folder: Path) -> None:
    clean = folder / "src" / "clean.py"
    clean.write_text(clean.read_text() + NEW)
    git(folder, "add", "-A")
    clean.write_text("# not staged\n")
    async with reviewing(folder) as (_, session):
        assert (await say(session, "review staged")).findings == NEW_FINDING
        git(folder, "checkout", "-q", "-b", "topic", "-f")
        clean.write_text(clean.read_text() + NEW)
        git(folder, "commit", "-q", "-a", "-m", "More")
        assert "Nothing has changed since the last commit" in (await say(session, "review my changes")).text
        assert (await say(session, "review the diff against main")).findings == NEW_FINDING
        assert (await say(session, "review this branch")).findings == NEW_FINDING
        assert (await say(session, "/diff HEAD~1")).findings == NEW_FINDING
        told = await say(session, "review the diff against nowhere")
        assert "there is no revision 'nowhere'" in told.text
        assert told.stop == "end_turn"


async def test_without_a_name_the_changes_are_meant_and_without_changes_everything(folder: Path) -> None:
    async with reviewing(folder) as (_, session):
        told = await say(session, "Review this file for issues")
        assert "No file was named and nothing has changed" in told.text
        assert told.findings == APP_FINDINGS | SHELL_FINDINGS
        (folder / "src" / "clean.py").write_text((folder / "src" / "clean.py").read_text() + NEW)
        told = await say(session, "review")
        assert "No file was named" in told.text
        assert told.findings == NEW_FINDING


async def test_a_folder_without_git_can_be_reviewed_but_has_no_changes(tmp_path: Path) -> None:
    folder = tmp_path / "plain"
    folder.mkdir()
    (folder / "a.py").write_text("import os\n")
    async with reviewing(folder) as (_, session):
        assert (await say(session, "review")).findings == {("python/unused-import", "a.py", 1)}
        told = await say(session, "review my changes")
        assert "is not in a git repository" in told.text
        assert set(told.ends.values()) == {"failed"}


async def test_attached_texts_links_and_pasted_code_are_reviewed(folder: Path) -> None:
    text = TextResourceContents(uri=(folder / "src" / "clean.py").as_uri(), text="import os\n")
    link = ResourceLink(name="app", uri=(folder / "src" / "app.py").as_uri())
    async with reviewing(folder) as (_, session):
        told = await say(session, "What do you think?", EmbeddedResource(resource=text), link)
        # The embedded text counts, not what is on the disk.
        assert told.findings == {("python/unused-import", "src/clean.py", 1)} | APP_FINDINGS
        told = await say(session, "review this:\n```python\nimport os\n```\n")
        assert told.findings == {("python/unused-import", "snippet-1.py", 1)}
        lines = ResourceLink(name="app", uri=f"{link.uri}#L13-L14")
        told = await say(session, "review", lines)
        assert {line for _, _, line in told.findings} == {13, 14}


async def test_what_the_editor_holds_is_reviewed_also_if_it_is_not_saved(folder: Path) -> None:
    editor = Editor(lends=True)
    clean = folder / "src" / "clean.py"
    editor.buffers[str(clean)] = clean.read_text() + NEW
    async with reviewing(folder, editor) as (_, session):
        told = await say(session, "review src/clean.py")
        assert told.findings == NEW_FINDING
        assert editor.reads == [str(clean)]
        # Git knows of another change in it; the lines are those of the text that is not saved.
        clean.write_text(f"# a comment\n{clean.read_text()}")
        assert (await say(session, "review my changes")).findings == NEW_FINDING


async def test_a_file_that_the_editor_refuses_is_not_read_behind_its_back(folder: Path) -> None:
    editor = Editor()

    @editor.client.read_text_file
    async def refuse(request: ReadTextFileRequest) -> ReadTextFileResponse:
        raise ErrorAnswer(403, "not this one")

    async with reviewing(folder, editor) as (_, session):
        told = await say(session, "review src/app.py")
        assert told.findings == set()
        assert "src/app.py: not reviewed: the editor did not give it: not this one" in told.text
        assert told.stop == "end_turn"


async def test_nothing_outside_of_the_sessions_folders_is_read(folder: Path) -> None:
    (folder.parent / "other").mkdir()
    (folder.parent / "other" / "secret.py").write_text("import os\n")
    (folder / "link.py").symlink_to(folder.parent / "other" / "secret.py")
    async with reviewing(folder) as (handle, session):
        for words in ("review ../other/secret.py", f"review {folder.parent}/other", "review link.py"):
            told = await say(session, words)
            assert told.findings == set(), words
            assert "outside" in told.text
        wider = await handle.new_session(
            cwd=str(folder), additional_directories=[str(folder.parent / "other")]
        )
        assert len((await say(wider, f"review {folder.parent}/other")).findings) == 1


async def test_a_plan_is_worked_through_and_every_tool_call_comes_to_its_end(folder: Path) -> None:
    async with reviewing(folder) as (_, session):
        told = await say(session, "review src/app.py")
        assert told.plans[0] == ["in_progress", "pending", "pending", "pending"]
        assert told.plans[-1] == ["completed"] * 4
        for before, after in zip(told.plans, told.plans[1:], strict=False):
            order = ["pending", "in_progress", "completed"]
            assert all(order.index(a) >= order.index(b) for b, a in zip(before, after, strict=True))
        assert set(told.ends.values()) == {"completed"}
        kinds = {call.title: call.kind for call in told.calls}
        assert kinds["Find what to review"] == "search"
        assert kinds["Read src/app.py"] == "read"
        assert kinds["ruff: 1 Python file"] == "execute"
        assert told.diffs == []  # a fix is told with its finding, and nothing was changed


async def test_every_fix_is_told_once(folder: Path) -> None:
    async with reviewing(folder) as (_, session):
        told = await say(session, "review src/app.py")
        shown = [told.text, *(f"-{diff.old_text}+{diff.new_text}" for diff in told.diffs)]
        assert "".join(shown).count("-import os") == 1
        assert "".join(shown).count('+    return command == "x"') == 1


async def test_the_worst_findings_are_told_first_then_by_file_and_line(folder: Path) -> None:
    async with reviewing(folder) as (_, session):
        told = await say(session, "review src")
        heads = re.findall(r"\*\*(\d+)\. (\w+): ", told.text)
        assert [int(number) for number, _ in heads] == list(range(1, len(heads) + 1))
        ranks = [Severity(name).rank for _, name in heads]
        places = [(path, line) for _, path, line in findings_in(told.text)]
        assert len(places) == len(ranks) > 2
        order = list(zip(ranks, places, strict=True))
        assert order == sorted(order)
        assert len(set(ranks)) > 1


async def test_words_that_make_no_sense_get_help_and_never_an_error(folder: Path) -> None:
    async with reviewing(folder) as (_, session):
        for words in (
            "tell me a joke",
            "/nothing",
            "ÿ\u202e\0",
            "?",
            "help",
            "/help",
            "   ",
            "fix the login page",
        ):
            told = await say(session, words)
            assert "I review code" in told.text, words
            assert told.stop == "end_turn"
        for words in ("apply the fixes", "/fix 3", "explain 3"):
            told = await say(session, words)
            assert told.stop == "end_turn"
            assert "reviewed" in told.text


async def test_rules_and_findings_are_explained(folder: Path) -> None:
    async with reviewing(folder) as (_, session):
        assert (
            "If any part of the text comes from outside"
            in (await say(session, "explain rule python/eval")).text
        )
        assert "Do you mean `python/eval`" in (await say(session, "/explain python/evil")).text
        assert "`shell/pipe-to-shell`" in (await say(session, "/rules shell")).text
        assert "`python`: " in (await say(session, "which rules are there?")).text
        await say(session, "review tools/get.sh")
        told = await say(session, "explain 1")
        assert "tools/get.sh:3" in told.text
        assert "Unknown finding 9: the last review has 1." in (await say(session, "explain 9")).text


async def test_commands_modes_options_and_title_are_told(folder: Path) -> None:
    editor = Editor()
    async with reviewing(folder, editor) as (handle, session):
        assert handle.info is not None
        assert handle.info.name == "dragoman-review"
        told = await say(session, "review src/app.py")
        commands = [update for update in editor.updates if isinstance(update, AvailableCommandsUpdate)]
        assert {command.name for command in commands[0].available_commands} == {
            *("review", "diff", "fix", "rules", "explain", "help")
        }
        titles = [update.title for update in told.updates if isinstance(update, SessionInfoUpdate)]
        assert titles == ["Review of src/app.py"]
        assert not [
            update
            for update in (await say(session, "review src")).updates
            if isinstance(update, SessionInfoUpdate)
        ]


async def test_a_loaded_session_replays_its_review_and_still_knows_the_numbers(folder: Path) -> None:
    async with reviewing(folder) as (_, session):
        live = await say(session, "review src/app.py")
    editor = Editor()
    agent = review_agent(sessions=folder.with_name("sessions.db"))
    async with connect(agent, client=editor.client) as handle:
        loaded = await handle.load_session(session.id, cwd=str(folder))
        said = [update for update in editor.updates if isinstance(update, UserMessageChunk)]
        assert [getattr(update.content, "text", "") for update in said] == ["review src/app.py"]
        assert Told(editor.updates, "").text == live.text
        told = await say(loaded, "apply the fixes")
        assert "Applied:" in told.text
        with pytest.raises(CallFailed, match="-32002"):
            await handle.load_session("00000000-0000-0000-0000-000000000000", cwd=str(folder))


async def test_two_sessions_review_at_once_without_mixing(folder: Path) -> None:
    async with reviewing(folder) as (handle, session):
        other = await handle.new_session(cwd=str(folder))
        one, two = await asyncio.gather(say(session, "review src/app.py"), say(other, "review tools/get.sh"))
        assert one.findings == APP_FINDINGS
        assert two.findings == SHELL_FINDINGS


async def test_rules_of_the_project_are_used_and_bad_ones_are_told(folder: Path) -> None:
    rules = folder / ".dragoman" / "rules"
    rules.mkdir(parents=True)
    fields = {"id": "team/no-collect", "title": "No", "why": "So.", "severity": "low", "pattern": "collect"}
    rule = "\n".join(["[[rule]]", *(f'{name} = "{value}"' for name, value in fields.items())])
    (rules / "team.toml").write_text(rule)
    async with reviewing(folder) as (_, session):
        assert ("team/no-collect", "src/app.py", 7) in (await say(session, "review src/app.py")).findings
        (rules / "team.toml").write_text('[[rule]]\nid = "x"\n')
        told = await say(session, "review src/app.py")
        assert told.findings == APP_FINDINGS
        assert "the project's own rules are not used" in told.text


async def test_a_secret_is_found_and_never_repeated(folder: Path) -> None:
    key = "ghp_" + "9fQ2xLrT7vKpW3sZ8dYb1nHc6mJg4aEuRoIq"
    (folder / "config.py").write_text(f'TOKEN = "{key}"\n')
    async with reviewing(folder) as (_, session):
        told = await say(session, "review config.py")
        assert {rule.partition("/")[0] for rule, _, _ in told.findings} == {"secrets"}
        assert key not in repr(told.updates)
    stored = b"".join(path.read_bytes() for path in folder.parent.glob("sessions.db*") if path.is_file())
    assert key.encode() not in stored


def test_the_planted_file_is_what_the_tests_say() -> None:
    assert len(APP.splitlines()) == 14


async def test_a_review_of_changes_tells_which_callers_they_break(folder: Path) -> None:
    (folder / "src" / "use.py").write_text("from clean import add\n\nprint(add(1, 2))\n")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "Use it")
    clean = folder / "src" / "clean.py"
    clean.write_text(clean.read_text().replace("left: int, right: int", "left: int, *, right: int"))
    async with reviewing(folder) as (_, session):
        told = await say(session, "review my changes")
    assert told.findings == {("python/broken-caller", "src/use.py", 3)}
