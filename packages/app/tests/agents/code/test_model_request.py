"""What the coder says and does when its model fails: over real HTTP, in both formats.

Each test drives the agent through the protocol; the model's faults are scripted.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from dragoman import Session
from dragoman.errors import CallFailed
from dragoman.schema import v1
from dragoman.testing import talking_to
from dragoman.testing.models import (
    ModelScript,
    ModelTurn,
    ScriptedModel,
    begin,
    call,
    cut,
    endless,
    fail,
    garbage,
    hold,
    refuse,
    say,
    scripted_model,
    think,
    turn,
)
from dragoman.testing.models.turns import Step
from dragoman_app.agents.code.agent import code_agent
from dragoman_app.agents.code.config import CoderConfig

APIS = ("openai", "anthropic")
AUTH_REQUIRED = -32000
INTERNAL_ERROR = -32603

# A vendor's client is made for each turn, which takes its time on a busy machine.
pytestmark = [pytest.mark.bound(30), pytest.mark.in_turn("api")]


class Spoken:
    """A session, and everything it was told in a turn."""

    def __init__(self, session: Session, model: ScriptedModel) -> None:
        self.session = session
        self.model = model
        self.told = ""
        self._news = asyncio.Condition()

    async def heard(self, text: str) -> None:
        """Wait until this was told."""
        async with self._news:
            await self._news.wait_for(lambda: text in self.told)

    async def prompt(self, text: str = "Hi") -> str:
        """The stop reason; what came before it is in `told`."""
        self.told = ""
        asked = self.session.prompt(text)
        async for update in asked:
            match update:
                case v1.AgentMessageChunk(content=v1.TextContent(text=said)):
                    self.told += said
                case v1.Notice(title=title):
                    self.told += f"[{title}]"
                case v1.CompactionUpdate(status=status):
                    self.told += f"[compaction {status}]"
                case _:
                    pass
            async with self._news:
                self._news.notify_all()
        return asked.result.stop_reason


@asynccontextmanager
async def coder(
    api: str, script: ModelScript | str | list[ModelTurn | str], folder: Path, **config: Any
) -> AsyncIterator[Spoken]:
    async with scripted_model(script) as model:
        settings = {
            "model": f"{api}:m",
            "base_url": model.openai_url if api == "openai" else model.anthropic_url,
            "sessions": str(folder / "sessions.db"),
            "retries": 2,
            "retry_seconds": 0.01,
            **config,
        }
        async with talking_to(code_agent(CoderConfig(**settings))) as handle:
            yield Spoken(await handle.new_session(cwd=str(folder)), model)


async def failure(spoken: Spoken) -> CallFailed:
    with pytest.raises(CallFailed) as caught:
        await spoken.prompt()
    return caught.value


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize("status", [401, 403])
async def test_a_refused_key_is_a_missing_login_with_its_ways_named(
    api: str, status: int, tmp_path: Path
) -> None:
    async with coder(api, [turn(fail(status, "The key is wrong"))], tmp_path) as spoken:
        error = await failure(spoken)
    assert error.code == AUTH_REQUIRED
    assert "The key is wrong" in error.message
    assert {way["id"] for way in error.data["authMethods"]} == {"openai", "anthropic", "server"}
    assert len(spoken.model.requests) == 1


@pytest.mark.parametrize("api", APIS)
async def test_a_key_that_the_server_repeats_is_not_passed_on(api: str, tmp_path: Path) -> None:
    (tmp_path / "key").write_text("sk-very-secret\n", encoding="utf-8")
    script: list[ModelTurn | str] = [turn(fail(401, "Incorrect API key provided: sk-very-secret"))]
    async with coder(api, script, tmp_path, key_file=str(tmp_path / "key")) as spoken:
        error = await failure(spoken)
    assert spoken.model.requests[0].key == "sk-very-secret"
    assert "secret" not in f"{error} {error.data}"


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize("headers", [{"retry_after": 3600}, {"reset": 3600}])
async def test_a_long_limit_ends_the_turn_and_says_when_it_is_over(
    api: str, headers: dict[str, Any], tmp_path: Path
) -> None:
    async with coder(api, [turn(fail(429, "Too much for today", **headers))], tmp_path) as spoken:
        error = await failure(spoken)
    assert error.code == INTERNAL_ERROR
    assert "Too much for today" in error.message
    over = datetime.fromisoformat(error.data["resetsAt"])
    assert timedelta(minutes=50) < over - datetime.now(UTC) <= timedelta(minutes=60)
    assert f"{over:%H:%M}" in error.message
    assert len(spoken.model.requests) == 1


@pytest.mark.parametrize(
    "step",
    [
        fail(429, "You exceeded your current quota", kind="insufficient_quota"),
        fail(402, "Insufficient balance"),
    ],
)
async def test_a_used_up_quota_is_not_asked_again(step: Step, tmp_path: Path) -> None:
    async with coder("openai", [turn(step)], tmp_path) as spoken:
        error = await failure(spoken)
    assert error.data["kind"] == "quota"
    assert len(spoken.model.requests) == 1


@pytest.mark.parametrize("api", APIS)
async def test_a_short_limit_is_waited_for_and_the_user_is_told(api: str, tmp_path: Path) -> None:
    async with coder(api, [turn(fail(429, retry_after=0.05)), turn("Now.")], tmp_path) as spoken:
        assert await spoken.prompt() == "end_turn"
    assert "Too many requests" in spoken.told
    assert spoken.told.endswith("Now.")


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize(
    "step",
    [fail(500), fail(503), fail(529), fail(502, body="<h1>Bad gateway</h1>"), cut("head")],
    ids=["500", "503", "529", "a page", "no answer"],
)
async def test_what_may_pass_is_asked_again(api: str, step: Step, tmp_path: Path) -> None:
    async with coder(api, [turn(step), turn(step), turn("Now.")], tmp_path) as spoken:
        assert await spoken.prompt() == "end_turn"
    assert spoken.told.endswith("Now.")
    assert spoken.told.count("Trying again") == 2
    assert "<h1>" not in spoken.told


@pytest.mark.parametrize("api", APIS)
async def test_what_does_not_pass_is_given_up_and_the_session_lives_on(api: str, tmp_path: Path) -> None:
    script: list[ModelTurn | str] = [turn(fail(500, "Out of order"), times=3), turn("Now.")]
    async with coder(api, script, tmp_path) as spoken:
        error = await failure(spoken)
        assert (error.code, error.data["kind"]) == (INTERNAL_ERROR, "server")
        assert "Out of order" in error.message
        assert await spoken.prompt("And now?") == "end_turn"
    assert spoken.told == "Now."
    assert spoken.model.requests[-1].text == "And now?"


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize(
    "end",
    [cut(), cut("between"), garbage(), fail(529), pytest.param(cut("quietly"), id="quietly")],
    ids=["in an event", "between events", "garbage", "an error", None],
)
async def test_an_answer_that_broke_off_is_told_and_asked_for_again(
    api: str, end: Step, tmp_path: Path
) -> None:
    async with coder(api, [turn("The answer is for", end), turn("42.")], tmp_path) as spoken:
        assert await spoken.prompt() == "end_turn"
    assert spoken.told.startswith("The answer is for")
    assert "The answer starts again" in spoken.told
    assert spoken.told.endswith("42.")
    # What broke off is no part of what the model said.
    assert [message.role for message in spoken.model.requests[1].messages] == ["user"]


@pytest.mark.parametrize("api", APIS)
async def test_a_server_that_is_no_model_is_asked_once_more_and_then_named(api: str, tmp_path: Path) -> None:
    script: list[ModelTurn | str] = [turn(garbage(), times=None)]
    async with coder(api, script, tmp_path, retries=4) as spoken:
        error = await failure(spoken)
    assert error.data["kind"] == "nonsense"
    assert "Check that this is the address of a model." in error.message
    assert len(spoken.model.requests) == 2


@pytest.mark.parametrize("api", APIS)
async def test_a_call_that_broke_off_is_not_made(api: str, tmp_path: Path) -> None:
    script: list[ModelTurn | str] = [turn(call("write", path="a.txt", content="x"), cut()), turn("No.")]
    async with coder(api, script, tmp_path) as spoken:
        assert await spoken.prompt() == "end_turn"
    assert not (tmp_path / "a.txt").exists()
    assert spoken.model.requests[1].results == {}


@pytest.mark.parametrize("api", APIS)
async def test_a_server_that_is_not_there_is_named(api: str, tmp_path: Path) -> None:
    async with coder(api, [turn(refuse())], tmp_path) as spoken:
        spoken.model.refuse()
        error = await failure(spoken)
        assert spoken.model.url in error.message
    assert error.data["kind"] == "network"
    assert spoken.told.count("Trying again") == 2


@pytest.mark.parametrize("api", APIS)
async def test_a_server_that_comes_back_is_found(api: str, tmp_path: Path) -> None:
    async with coder(api, [turn(refuse(0.05)), turn("Back.")], tmp_path, retries=50) as spoken:
        assert await spoken.prompt() == "end_turn"
    assert spoken.told.endswith("Back.")


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize("status", [400, 404, 405, 422, 451])
async def test_what_the_server_will_never_take_is_not_sent_again(
    api: str, status: int, tmp_path: Path
) -> None:
    async with coder(api, [turn(fail(status, "It is thus"), times=None)], tmp_path) as spoken:
        error = await failure(spoken)
    assert "It is thus" in error.message
    assert len(spoken.model.requests) == 1


@pytest.mark.parametrize(
    ("api", "step"),
    [
        ("openai", fail(400, code="context_length_exceeded")),
        ("anthropic", fail(400, "prompt is too long: 250000 tokens > 200000 maximum")),
        ("anthropic", fail(413)),
    ],
)
async def test_a_conversation_that_is_too_long_is_summarised(api: str, step: Step, tmp_path: Path) -> None:
    script = [turn("Hello."), turn(step), turn("They said hello."), turn("Well.")]
    async with coder(api, list(script), tmp_path) as spoken:
        await spoken.prompt("Good day")
        assert await spoken.prompt("And now?") == "end_turn"
    assert "[compaction completed]" in spoken.told
    assert spoken.told.endswith("Well.")
    last = spoken.model.requests[-1]
    assert {message.role for message in last.messages} == {"user"}
    assert "They said hello." in last.messages[0].text
    assert last.text.endswith("And now?")


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize("stop", ["refusal", "content_filter"])
async def test_refused_content_is_a_refusal_and_leaves_no_trace(api: str, stop: str, tmp_path: Path) -> None:
    script: list[ModelTurn | str] = [turn("I will not.", stop=stop), turn("Gladly.")]
    async with coder(api, script, tmp_path) as spoken:
        assert await spoken.prompt("Something bad") == "refusal"
        assert "I will not." in spoken.told
        assert await spoken.prompt("Something good") == "end_turn"
    assert [message.text for message in spoken.model.requests[1].messages] == ["Something good"]


@pytest.mark.parametrize("api", APIS)
async def test_too_many_tokens_are_a_stop_reason(api: str, tmp_path: Path) -> None:
    script: list[ModelTurn | str] = [turn("I would have said mo", stop="length")]
    async with coder(api, script, tmp_path) as spoken:
        assert await spoken.prompt() == "max_tokens"
    assert spoken.told == "I would have said mo"


@pytest.mark.parametrize("api", APIS)
async def test_too_many_requests_are_a_stop_reason(api: str, tmp_path: Path) -> None:
    script: list[ModelTurn | str] = [turn(call("list"), times=None)]
    async with coder(api, script, tmp_path, max_turn_requests=3) as spoken:
        assert await spoken.prompt() == "max_turn_requests"
    assert len(spoken.model.requests) == 3


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize(
    "steps",
    [(hold(),), (begin(), hold()), (think("Hm"), hold()), (say("Hel"), hold())],
    ids=["before the head", "before a word", "while it thinks", "while it talks"],
)
async def test_a_cancel_hangs_up(api: str, steps: tuple[Step, ...], tmp_path: Path) -> None:
    async with coder(api, [turn(*steps), turn("Again.")], tmp_path) as spoken:
        async with asyncio.TaskGroup() as group:
            asked = group.create_task(spoken.prompt())
            await spoken.model.wait_for_hold()
            await spoken.session.cancel()
        assert asked.result() == "cancelled"
        assert await spoken.model.requests[0].over() == "abandoned"
        assert await spoken.prompt() == "end_turn"


@pytest.mark.parametrize("api", APIS)
async def test_a_cancel_ends_an_answer_without_end(api: str, tmp_path: Path) -> None:
    async with coder(api, [turn(endless(pace=0.001))], tmp_path) as spoken:
        async with asyncio.TaskGroup() as group:
            asked = group.create_task(spoken.prompt())
            await spoken.heard("and so on")
            await spoken.session.cancel()
        assert asked.result() == "cancelled"
        assert await spoken.model.requests[0].over() == "abandoned"


@pytest.mark.parametrize("api", APIS)
async def test_a_cancel_ends_the_wait_before_another_attempt(api: str, tmp_path: Path) -> None:
    script: list[ModelTurn | str] = [turn(fail(429, "Slow down", retry_after=3000))]
    async with coder(api, script, tmp_path, patience=4000) as spoken:
        async with asyncio.TaskGroup() as group:
            asked = group.create_task(spoken.prompt())
            await spoken.heard("Trying again")
            await spoken.session.cancel()
        assert asked.result() == "cancelled"
    assert len(spoken.model.requests) == 1


FAR = ("inf", "nan", "9" * 400, "1735689600", "1735689600000")
RESETS = ["soon", "-5", *(pytest.param(reset, id=reset[:10]) for reset in FAR)]


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize("reset", RESETS)
async def test_any_reset_that_a_server_may_send_gives_an_answer(api: str, reset: str, tmp_path: Path) -> None:
    name = "x-ratelimit-reset" if api == "openai" else "anthropic-ratelimit-unified-reset"
    script: list[ModelTurn | str] = [turn(fail(429, "Slow down", headers={name: reset}), times=3)]
    async with coder(api, script, tmp_path) as spoken:
        error = await failure(spoken)
    assert "Slow down" in error.message
    if "resetsAt" in error.data:
        over = datetime.fromisoformat(error.data["resetsAt"])
        assert over - datetime.now(UTC) < timedelta(days=1)


@pytest.mark.parametrize("api", APIS)
async def test_arguments_that_are_no_json_are_told_to_the_model(api: str, tmp_path: Path) -> None:
    script: list[ModelTurn | str] = [turn(call("read", '{"path": ')), turn("I see.")]
    async with coder(api, script, tmp_path) as spoken:
        assert await spoken.prompt() == "end_turn"
    (result,) = spoken.model.requests[1].results.values()
    assert "JSON" in result.text or "argument" in result.text.lower()


@pytest.mark.parametrize("api", APIS)
async def test_a_tool_that_does_not_exist_is_told_to_the_model(api: str, tmp_path: Path) -> None:
    async with coder(api, [turn(call("fly", to="Rome")), turn("I see.")], tmp_path) as spoken:
        assert await spoken.prompt() == "end_turn"
    (result,) = spoken.model.requests[1].results.values()
    assert "fly" in result.text
