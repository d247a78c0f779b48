"""The agent of the official Python SDK. It does what a prompt's text orders; ``figures`` tells what it cost.

Runs under 0.12.1 and 1.0.0rc3 alike: both accept models with their discriminators written out.
"""

from __future__ import annotations

import asyncio
import json
import time
from typing import Any

from acp import (
    Client,
    InitializeResponse,
    LoadSessionResponse,
    NewSessionResponse,
    PromptResponse,
    SessionNotification,
    run_agent,
)
from acp.schema import AgentCapabilities, AgentMessageChunk, TextContentBlock

from peers.measure import Meter, load_mix, percentiles, texts_to_say

LIMIT = 512 * 1024 * 1024  # the default of 50 MB would refuse the large message
PATH = "/project/src/parser.py"


def chunk(text: str) -> AgentMessageChunk:
    content = TextContentBlock(type="text", text=text)
    return AgentMessageChunk(session_update="agent_message_chunk", content=content)


class BenchAgent:
    """Written without the Agent protocol as its base: that would demand every method of it."""

    def __init__(self) -> None:
        self.meter = Meter()
        self.latencies: dict[str, float] = {}

    def on_connect(self, conn: Client) -> None:
        self.client = conn

    async def initialize(self, protocol_version: int, **_: Any) -> InitializeResponse:
        return InitializeResponse(
            protocol_version=protocol_version, agent_capabilities=AgentCapabilities(load_session=True)
        )

    async def new_session(self, cwd: str, **_: Any) -> NewSessionResponse:
        self.mix = [SessionNotification.model_validate({"sessionId": "any", "update": u}) for u in load_mix()]
        self.meter.baseline()
        return NewSessionResponse(session_id="bench")

    async def load_session(self, cwd: str, session_id: str, **_: Any) -> LoadSessionResponse:
        count = int(session_id.removeprefix("replay-"))
        self.meter.start()
        for n in range(count):
            await self.client.session_update(session_id=session_id, update=self.mix[n % len(self.mix)].update)
        return LoadSessionResponse()

    async def prompt(self, session_id: str, prompt: list[Any], **_: Any) -> PromptResponse:
        text = prompt[0].text
        if not text.startswith("{"):
            await self.say(session_id, str(len(text)))
            return PromptResponse(stop_reason="end_turn")
        order = json.loads(text)
        if order["do"] != "figures":
            self.meter.start()
        await getattr(self, order["do"])(session_id, order)
        return PromptResponse(stop_reason="end_turn")

    async def say(self, session_id: str, text: str) -> None:
        await self.client.session_update(session_id=session_id, update=chunk(text))

    async def stream(self, session_id: str, order: dict[str, int]) -> None:
        for text in texts_to_say(order["count"], order["size"]):
            await self.say(session_id, text)

    async def read_file(self, session_id: str) -> None:
        answer = await self.client.read_text_file(session_id=session_id, path=PATH)
        assert len(answer.content) == 100

    async def reads(self, session_id: str, order: dict[str, int]) -> None:
        taken = []
        for _ in range(order["count"]):
            began = time.perf_counter()
            await self.read_file(session_id)
            taken.append(time.perf_counter() - began)
        self.latencies = percentiles(taken)

    async def inflight(self, session_id: str, order: dict[str, int]) -> None:
        async def worker() -> None:
            for _ in range(order["count"] // order["window"]):
                await self.read_file(session_id)

        await asyncio.gather(*(worker() for _ in range(order["window"])))

    async def figures(self, session_id: str, order: dict[str, int]) -> None:
        await self.say(session_id, json.dumps({**self.meter.read(), **self.latencies}))


if __name__ == "__main__":
    agent: Any = BenchAgent()
    asyncio.run(run_agent(agent, stdio_buffer_limit_bytes=LIMIT))
