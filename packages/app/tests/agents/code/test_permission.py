"""Who decides what the coder may do: the mode, an earlier answer, or the user."""

from pathlib import Path

import pytest

from dragoman.schema.v1 import Diff
from dragoman.testing.models import ModelTurn, call, turn
from tests.agents.code.coder_runs import Person, calls, coding, status

pytestmark = pytest.mark.bound(30)


def editing(**more: str) -> list[ModelTurn]:
    return [turn(call("edit", **{"path": "a.py", "old": "x = 1", "new": "x = 2", **more})), turn("Done.")]


async def test_an_edit_is_asked_about_with_its_diff(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = 1\n")
    async with coding(editing(), tmp_path) as coder:
        _, updates = await coder.prompt("Change x")
    (question,) = coder.person.asked
    assert question.tool_call.title == "Edit a.py"
    diff = Diff(path=str(tmp_path / "a.py"), old_text="x = 1\n", new_text="x = 2\n")
    assert question.tool_call.content == [diff]
    assert [option.kind for option in question.options] == ["allow_once", "allow_always", "reject_once"]
    assert (tmp_path / "a.py").read_text() == "x = 2\n"
    assert status(calls(updates)["Edit a.py"]) == "completed"


async def test_a_denied_permission_is_told_to_the_model_and_nothing_happens(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = 1\n")
    async with coding(editing(), tmp_path, person=Person("reject")) as coder:
        stop, updates = await coder.prompt("Change x")
    assert stop == "end_turn"
    (result,) = coder.model.requests[1].results.values()
    assert "did not allow" in result.text
    assert (tmp_path / "a.py").read_text() == "x = 1\n"
    assert status(calls(updates)["Edit a.py"]) == "failed"


async def test_an_answer_that_was_not_offered_is_a_no(tmp_path: Path) -> None:
    async with coding(
        [turn(call("run", command="touch x")), turn("Ok.")], tmp_path, person=Person("yes!")
    ) as coder:
        await coder.prompt("Go")
    assert not (tmp_path / "x").exists()


async def test_a_command_that_was_allowed_for_always_is_asked_about_once(tmp_path: Path) -> None:
    script = [turn(call("run", command="echo 1 >> log"), call("run", command="echo 1 >> log")), turn("Ok.")]
    async with coding(script, tmp_path, person=Person("always")) as coder:
        await coder.prompt("Go")
    assert len(coder.person.asked) == 1
    assert (tmp_path / "log").read_text() == "1\n1\n"


async def test_another_command_is_asked_about_again(tmp_path: Path) -> None:
    script = [turn(call("run", command="true"), call("run", command="true; true")), turn("Ok.")]
    async with coding(script, tmp_path, person=Person("always")) as coder:
        await coder.prompt("Go")
    assert len(coder.person.asked) == 2


async def test_accepted_edits_need_no_question_but_commands_do(tmp_path: Path) -> None:
    script = [
        turn(call("write", path="new/b.py", content="y = 1\n"), call("run", command="true")),
        turn("Ok."),
    ]
    async with coding(script, tmp_path, mode="accept_edits") as coder:
        await coder.prompt("Go")
    assert [question.tool_call.title for question in coder.person.asked] == ["true"]
    assert (tmp_path / "new" / "b.py").read_text() == "y = 1\n"


@pytest.mark.parametrize("path", [".git/hooks/pre-commit", "link/hooks/pre-commit"])
async def test_an_edit_that_can_do_more_than_it_seems_is_asked_about(path: str, tmp_path: Path) -> None:
    (tmp_path / ".git" / "hooks").mkdir(parents=True)
    (tmp_path / "link").symlink_to(".git")
    script = [turn(call("write", path=path, content="#!/bin/sh\n")), turn("Ok.")]
    async with coding(script, tmp_path, mode="accept_edits", person=Person("reject")) as coder:
        await coder.prompt("Go")
    (question,) = coder.person.asked
    assert "allow_always" not in [option.kind for option in question.options]
    assert not (tmp_path / ".git" / "hooks" / "pre-commit").exists()


async def test_a_plan_changes_nothing(tmp_path: Path) -> None:
    async with coding([turn(call("run", command="touch x")), turn("Ok.")], tmp_path, mode="plan") as coder:
        await coder.prompt("Go")
    assert not coder.person.asked
    assert not (tmp_path / "x").exists()
    offered = coder.model.requests[0].tools
    assert {"read", "search", "plan"} <= offered.keys()
    assert not {"edit", "write", "run"} & offered.keys()
    assert "planning only" in coder.model.requests[0].system
    (result,) = coder.model.requests[1].results.values()
    assert "Only plans are made" in result.text


async def test_the_full_mode_asks_nothing(tmp_path: Path) -> None:
    script = [turn(call("run", command="touch x")), turn("Ok.")]
    async with coding(script, tmp_path, mode="full", person=Person("reject")) as coder:
        await coder.prompt("Go")
    assert not coder.person.asked
    assert (tmp_path / "x").exists()


async def test_a_file_that_changed_while_the_user_decided_is_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = 1\n")

    class Slow(Person):
        @property
        def answer(self) -> str:
            (tmp_path / "a.py").write_text("x = 3\n")
            return "allow"

        @answer.setter
        def answer(self, value: str) -> None: ...

    async with coding(editing(), tmp_path, person=Slow()) as coder:
        await coder.prompt("Change x")
    assert (tmp_path / "a.py").read_text() == "x = 3\n"
    (result,) = coder.model.requests[1].results.values()
    assert "changed since it was read" in result.text


async def test_a_mode_that_is_changed_during_a_turn_holds_at_once(tmp_path: Path) -> None:
    script = [turn(call("run", command="touch x")), turn(call("run", command="touch y")), turn("Ok.")]
    async with coding(script, tmp_path) as coder:
        switched = False
        async for _ in coder.session.prompt("Go"):
            if coder.person.asked and not switched:
                switched = True
                await coder.session.set_mode("full")
    assert len(coder.person.asked) == 1
    assert (tmp_path / "y").exists()
