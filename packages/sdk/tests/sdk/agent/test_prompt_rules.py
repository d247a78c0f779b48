"""`usage` in the answer to a prompt is not in the stable schema: a client has to ask for it."""

from __future__ import annotations

from typing import Any

import pytest

from dragoman import Agent, Turn
from dragoman.schema.v1 import PromptResponse, Usage
from tests.runtime.raw import request
from tests.sdk.ends import raw_client


def counting() -> Agent:
    agent = Agent("counting")

    @agent.prompt
    async def count(turn: Turn) -> PromptResponse:
        usage = Usage(total_tokens=3, input_tokens=2, output_tokens=1)
        return PromptResponse(stop_reason="end_turn", usage=usage)

    return agent


@pytest.mark.parametrize(
    ("capabilities", "is_told"),
    [({}, False), ({"_meta": {"dragoman": {"usage": True}}}, True), ({"_meta": {"dragoman": {}}}, False)],
)
async def test_usage_is_told_to_whoever_asked_for_it(capabilities: Any, is_told: bool) -> None:
    async with raw_client(counting()) as client:
        session_id = await client.open(capabilities)
        params = {"sessionId": session_id, "prompt": [{"type": "text", "text": "go"}]}
        client.send(request("p", "session/prompt", params))
        answer = await client.answer_to("p")
        assert ("usage" in answer["result"]) == is_told
