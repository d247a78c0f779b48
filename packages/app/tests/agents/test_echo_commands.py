"""The slash commands of the echo agent that only talk."""

import asyncio

import pytest

from dragoman.errors import CallFailed
from dragoman.schema.v1 import (
    STOP_REASONS,
    AgentMessageChunk,
    AgentThoughtChunk,
    CurrentModeUpdate,
    Notice,
    Plan,
    SessionUpdate,
    UsageUpdate,
)
from dragoman.testing import Transcript, talking_to
from dragoman_app.agents.echo import echo_agent
from dragoman_app.agents.echo_commands import SECRET


async def updates(text: str) -> list[SessionUpdate]:
    async with talking_to(echo_agent()) as handle:
        session = await handle.new_session(cwd="/tmp")
        return [update async for update in session.prompt(text)]


async def test_stream_sends_that_many_updates_of_that_size_in_order() -> None:
    sent = [update.content.text for update in await updates("/stream 250 12")]  # type: ignore[union-attr]
    assert sent == [f"{number} ".ljust(12, ".") for number in range(250)]


async def test_a_plan_is_worked_through() -> None:
    plans = [
        [entry.status for entry in update.entries]
        for update in await updates("/plan")
        if isinstance(update, Plan)
    ]
    assert plans[0] == ["in_progress", "pending", "pending"]
    assert plans[-1] == ["completed"] * 3


async def test_thoughts_come_before_the_answer() -> None:
    kinds = [type(update) for update in await updates("/think hard")]
    assert kinds == [AgentThoughtChunk, AgentMessageChunk]


async def test_usage_is_reported_in_an_update_and_in_the_answer() -> None:
    async with talking_to(echo_agent()) as handle:
        session = await handle.new_session(cwd="/tmp")
        turn = session.prompt("/usage 1234")
        seen = [update async for update in turn]
        assert turn.result.usage is not None
        assert turn.result.usage.total_tokens == 1234
    assert [update.used for update in seen if isinstance(update, UsageUpdate)] == [1234]


async def test_a_notice_is_given() -> None:
    seen = await updates("/notice Mind the gap")
    assert [update.title for update in seen if isinstance(update, Notice)] == ["Mind the gap"]


async def test_a_mode_that_the_agent_changes_is_told() -> None:
    seen = await updates("/mode bench")
    assert [update.current_mode_id for update in seen if isinstance(update, CurrentModeUpdate)] == ["bench"]


@pytest.mark.parametrize("reason", sorted(STOP_REASONS))
async def test_every_stop_reason_can_be_had(reason: str) -> None:
    async with talking_to(echo_agent()) as handle:
        session = await handle.new_session(cwd="/tmp")
        assert (await session.prompt(f"/stop {reason}")).stop_reason == reason


async def test_a_failure_tells_nothing_of_its_reason(caplog: pytest.LogCaptureFixture) -> None:
    transcript: Transcript = []
    async with talking_to(echo_agent(), transcript=transcript) as handle:
        session = await handle.new_session(cwd="/tmp")
        with pytest.raises(CallFailed) as failed:
            await session.prompt("/fail")
    assert (failed.value.code, failed.value.message) == (-32603, "Internal error")
    assert not any(SECRET.encode() in frame or b"RuntimeError" in frame for _, frame in transcript)
    assert SECRET in caplog.text  # for us, the reason is in the log


@pytest.mark.parametrize(
    "text",
    [
        *(
            "/stream",
            "/stream x",
            "/stream 1 2 3",
            "/stream -1",
            "/stream ²",
            "/wait",
            "/wait nan",
            "/wait -1",
            f"/stream {'9' * 5000}",
            "/mode nonsense",
        ),
        *(
            "/stop because",
            "/usage much",
            "/read",
            "/write",
            "/ask",
            "/run",
            '/run "',
            "/child soon",
            "/child inf",
        ),
    ],
)
async def test_an_argument_that_makes_no_sense_is_answered_with_the_usage(text: str) -> None:
    async with talking_to(echo_agent()) as handle:
        session = await handle.new_session(cwd="/tmp")
        result = await session.prompt(text)
    assert result.text.startswith(f"Usage: {text.split()[0]} ")
    assert result.stop_reason == "end_turn"


async def test_waiting_ends_by_itself() -> None:
    async with talking_to(echo_agent()) as handle:
        session = await handle.new_session(cwd="/tmp")
        assert (await session.prompt("/wait 0.01")).text == "Waited 0.01 seconds."


@pytest.mark.parametrize("text", ["/wait 1000", "/stream 100000000"])
async def test_a_long_command_is_cancelled_at_once(text: str) -> None:
    async with talking_to(echo_agent()) as handle:
        session = await handle.new_session(cwd="/tmp")
        turn = asyncio.ensure_future(session.prompt(text))
        await asyncio.sleep(0)  # it is asked for
        assert session.turn is not None
        await session.cancel()
        assert (await turn).stop_reason == "cancelled"
