"""Agents with one prompt handler, for the tests of turns."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from dragoman import Agent, Turn
from tests.sdk.ends import RawClient

Body = Callable[[Turn], Awaitable[Any]]


def agent_of(body: Body, **options: Any) -> Agent:
    agent = Agent("test", **options)

    @agent.prompt
    async def reply(turn: Turn) -> Any:
        return await body(turn)

    return agent


async def stop_reason(client: RawClient, request_id: Any) -> str:
    answer = await client.answer_to(request_id)
    assert "error" not in answer, answer
    reason: str = answer["result"]["stopReason"]
    return reason
