"""The reviewer hands findings to the coder, which works in the same turn and asks the same person."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from dragoman import Session
from dragoman.testing.models import ModelRequest, ModelTurn, ScriptedModel, call, scripted_model, turn
from dragoman_app.agents.review.intent import FixIntent, HandOverIntent, understand
from tests.agents.review.ground import Editor, say
from tests.agents.review.model_ground import BUG, SHOP, make_shop, model_reviewer, verdict
from tests.every import every

pytestmark = pytest.mark.bound(60)  # the model layer takes seconds to import on a busy machine

FIXED = SHOP.replace("total / count", "total / count if count else 0.0")
REVIEW = [turn(call("report", **BUG)), turn("Done."), verdict("Nobody checks count.", refuted=False)]


def is_coder(request: ModelRequest) -> bool:
    return "edit" in request.tools


def edits(old: str, new: str) -> list[ModelTurn]:
    return [
        turn(call("edit", path="shop.py", old=old, new=new), when=is_coder, times=1),
        turn("It is mended.", when=is_coder, times=1),
    ]


@asynccontextmanager
async def handed(
    tmp_path: Path, script: Sequence[ModelTurn], editor: Editor
) -> AsyncIterator[tuple[Session, Path, ScriptedModel]]:
    """A session in which shop.py was reviewed."""
    folder = make_shop(tmp_path / "project")
    async with (
        scripted_model([*script, *REVIEW]) as model,
        model_reviewer(folder, model.openai_url, editor=editor) as session,
    ):
        await say(session, "review shop.py")
        yield session, folder, model


async def test_the_coder_mends_a_finding_in_the_same_turn_when_the_person_allows_it(tmp_path: Path) -> None:
    editor = Editor(answers="allow")
    script = edits("return total / count", "return total / count if count else 0.0")
    async with handed(tmp_path, script, editor) as (session, folder, model):
        told = await say(session, "let the coder fix 1")
        text = (folder / "shop.py").read_text()
        again = await say(session, "let the coder fix 1")
    assert text == FIXED
    assert "It is mended." in told.text
    assert "shop.py: changed by the coder; it parses, and the rules find nothing new." in told.text
    assert told.stop == "end_turn"
    assert [request.tool_call.kind for request in editor.asked] == ["edit"]
    assert any(title.startswith("Edit shop.py") for title in told.ends)
    prompt = next(request for request in model.requests if is_coder(request)).messages[-1].text
    assert "1. shop.py:5: high: Division by zero (model/finding)" in prompt
    assert "Nobody checks count." in prompt
    assert "by its number" in again.text, "it is settled until the next review"


async def test_a_refused_edit_changes_nothing_and_this_is_told(tmp_path: Path) -> None:
    editor = Editor(answers="reject")
    script = edits("return total / count", "return total / count if count else 0.0")
    async with handed(tmp_path, script, editor) as (session, folder, _):
        told = await say(session, "/code 1")
        assert (folder / "shop.py").read_text() == SHOP
    assert "shop.py: the coder changed nothing." in told.text


async def test_what_the_coder_made_is_judged_by_the_rules(tmp_path: Path) -> None:
    script = edits("return total / count", "return eval(f'{total} / {count}')")
    async with handed(tmp_path, script, Editor(answers="allow")) as (session, _, _):
        told = await say(session, "hand 1 to the coder")
    assert "look at it: the rule python/eval complains about it" in told.text


async def test_the_coder_reads_and_writes_where_the_editor_does(tmp_path: Path) -> None:
    editor = Editor(lends=True, answers="allow")
    script = edits("return total / count", "return total / count if count else 0.0")
    async with handed(tmp_path, script, editor) as (session, folder, _):
        await say(session, "fix 1 with the coder")
        assert (folder / "shop.py").read_text() == SHOP
    assert editor.writes == {str(folder / "shop.py"): FIXED}


async def test_a_file_that_has_changed_since_the_review_is_not_handed_over(tmp_path: Path) -> None:
    async with handed(tmp_path, [], Editor()) as (session, folder, _):
        (folder / "shop.py").write_text(f"# New.\n{SHOP}")
        told = await say(session, "let the coder fix 1")
    assert "review it again" in told.text


@every(
    ("words", "numbers"),
    [
        ("let the coder fix 3", (3,)),
        ("please have the coder mend 1, 4-6", (1, 4, 5, 6)),
        ("hand finding #2 to the coder", (2,)),
        ("fix 7 with the coder", (7,)),
        ("ask the coder", ()),
    ],
)
def test_words_that_hand_findings_to_the_coder_are_understood(words: str, numbers: tuple[int, ...]) -> None:
    assert understand(words) == HandOverIntent(numbers)
    assert understand("fix 3") == FixIntent(numbers=(3,))
