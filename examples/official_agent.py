"""An agent written for the official Python SDK, served by ours: `pip install 'dragoman-sdk[official]'`."""

from typing import Any

from acp import Client, InitializeResponse, NewSessionResponse, PromptResponse
from acp.schema import AgentMessageChunk, TextContentBlock

from dragoman import serve
from dragoman.sdk.official import adapt


class Echo:
    """Says what it was told."""

    def on_connect(self, conn: Client) -> None:
        self.client = conn

    async def initialize(self, protocol_version: int, **kwargs: Any) -> InitializeResponse:
        return InitializeResponse(protocol_version=protocol_version)

    async def new_session(self, cwd: str, **kwargs: Any) -> NewSessionResponse:
        return NewSessionResponse(session_id="the only one")

    async def prompt(self, session_id: str, prompt: list[Any], **kwargs: Any) -> PromptResponse:
        said = "".join(block.text for block in prompt if block.type == "text")
        content = TextContentBlock(type="text", text=f"You said: {said}")
        chunk = AgentMessageChunk(session_update="agent_message_chunk", content=content)
        await self.client.session_update(session_id=session_id, update=chunk)
        return PromptResponse(stop_reason="end_turn")


if __name__ == "__main__":
    serve(adapt(Echo()))  # under the official runtime: asyncio.run(acp.run_agent(Echo()))
