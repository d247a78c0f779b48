"""The smallest useful agent of the official Python SDK: it repeats what it is told."""

from __future__ import annotations

import asyncio
from typing import Any

from acp import Client, InitializeResponse, NewSessionResponse, PromptResponse, run_agent
from acp.schema import AgentMessageChunk


class EchoAgent:
    def on_connect(self, conn: Client) -> None:
        self.client = conn

    async def initialize(self, protocol_version: int, **_: Any) -> InitializeResponse:
        return InitializeResponse(protocol_version=protocol_version)

    async def new_session(self, cwd: str, **_: Any) -> NewSessionResponse:
        return NewSessionResponse(session_id="echo")

    async def prompt(self, session_id: str, prompt: list[Any], **_: Any) -> PromptResponse:
        for block in prompt:
            said = AgentMessageChunk(session_update="agent_message_chunk", content=block)
            await self.client.session_update(session_id=session_id, update=said)
        return PromptResponse(stop_reason="end_turn")


if __name__ == "__main__":
    agent: Any = EchoAgent()
    asyncio.run(run_agent(agent))
