"""Findings explained by a model: a scripted one, over real HTTP."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from dragoman import Session, connect
from dragoman.schema.v1 import AgentMessageChunk, TextContent
from dragoman.testing.models import ModelTurn, ScriptedModel, fail, hold, scripted_model, think, turn
from dragoman.testing.pace import deadline
from dragoman_app.agents.code.config import CoderConfig
from dragoman_app.agents.review.agent import review_agent
from tests.agents.review.ground import APP_FINDINGS, Editor, make_repository, say

pytestmark = pytest.mark.bound(40)  # the model layer takes seconds to import on a busy machine

KEY = "ghp_" + "9fQ2xLrT7vKpW3sZ8dYb1nHc6mJg4aEuRoIq"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return make_repository(tmp_path / "project")


@asynccontextmanager
async def explained(folder: Path, model: ScriptedModel) -> AsyncIterator[Session]:
    config = CoderConfig(model="openai:clever", base_url=model.openai_url, retries=0)
    agent = review_agent(sessions=folder.with_name("sessions.db"), model=config)
    async with connect(agent, client=Editor().client) as handle:
        session = await handle.new_session(cwd=str(folder))
        await session.set_config_option("model_use", "explain")
        yield session


async def test_findings_are_explained_by_the_model_after_they_were_told(folder: Path) -> None:
    script = [turn(think("Hm."), "3 (src/app.py:13) is the worst.")]
    async with scripted_model(script) as model, explained(folder, model) as session:
        turned = session.prompt("review src/app.py")
        told = "".join([text async for text in turned.texts()])
        assert turned.result.usage
        assert turned.result.usage.total_tokens > 0
    assert "## Summary" in told
    assert told.endswith("## Explained by clever\n\n3 (src/app.py:13) is the worst.\n")
    [request] = model.requests
    assert "python/shell-true" in request.text
    assert "13:     subprocess.run(command, shell=True)" in request.text


async def test_no_secret_and_no_line_far_from_a_finding_is_sent(folder: Path) -> None:
    far = "".join(f"# line {n}\n" for n in range(30))
    (folder / "config.py").write_text(f'TOKEN = "{KEY}"\n{far}FAR = 1\n')
    async with scripted_model([turn("Yes.")]) as model, explained(folder, model) as session:
        await say(session, "review config.py")
    [request] = model.requests
    assert "TOKEN = " in request.text
    assert KEY not in request.text
    assert "FAR" not in request.text


async def test_a_secret_that_is_not_reported_is_not_sent_either(folder: Path) -> None:
    silenced = f'TOKEN = "{KEY}"  # dragoman: ignore[secrets/hardcoded] it is known'
    (folder / "config.py").write_text(f"{silenced}\n\n\ndef tokens(seen=[]):\n    return seen\n")
    async with scripted_model([turn("Yes.")]) as model, explained(folder, model) as session:
        await say(session, "review config.py")
    [request] = model.requests
    assert "1: TOKEN = " in request.text
    assert KEY not in request.text


async def test_without_findings_or_if_the_session_says_so_no_model_is_asked(folder: Path) -> None:
    async with scripted_model([]) as model, explained(folder, model) as session:
        told = await say(session, "review src/clean.py")
        assert set(told.plans[-1]) == {"completed"}
        await session.set_config_option("model_use", "none")
        assert (await say(session, "review src/app.py")).findings == APP_FINDINGS
        assert model.requests == []


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ([turn(fail(401, "No"))], "refuses the key"),
        ([turn(fail(500, "Oh"))], "failed"),
        ([turn("I will not.", stop="refusal")], "The model refused."),
    ],
)
async def test_a_model_that_fails_takes_nothing_from_the_review(
    folder: Path, script: list[ModelTurn], words: str
) -> None:
    async with scripted_model(script) as model, explained(folder, model) as session:
        told = await say(session, "review src/app.py")
    assert told.findings == APP_FINDINGS
    assert told.stop == "end_turn"
    assert words in told.text
    assert "The findings are complete without that." in told.text
    assert [status for title, status in told.ends.items() if title.startswith("Ask clever")] == ["failed"]


async def test_a_cancel_ends_the_models_answer_too(folder: Path) -> None:
    async with scripted_model([turn("It is", hold())]) as model, explained(folder, model) as session:
        turned = session.prompt("review src/app.py")
        async for update in turned:
            match update:
                case AgentMessageChunk(content=TextContent(text="It is")):
                    await session.cancel()
        assert turned.result.stop_reason == "cancelled"
        async with deadline(10):
            assert (await say(session, "help")).stop == "end_turn"
