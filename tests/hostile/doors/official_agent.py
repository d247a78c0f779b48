"""An agent on the official Python SDK that does what its prompt says; `official_agent.mjs` is the same on the
official TypeScript SDK.

A prompt is a JSON list of steps: `{"permit": tool call}` asks, `{"tell": update}` says something of a tool
call, `{"write": …}` and `{"run": …}` use the files and terminals that it is lent. Refusals change nothing.
"""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress
from typing import Any

from acp import Client, InitializeResponse, NewSessionResponse, PromptResponse, RequestError, run_agent
from acp.schema import EnvVariable, PermissionOption, ToolCallProgress, ToolCallUpdate

OPTIONS = [
    PermissionOption(option_id="yes", name="Yes", kind="allow_once"),
    PermissionOption(option_id="no", name="No", kind="reject_once"),
]


class Cheat:
    client: Client

    def __init__(self) -> None:
        self.sessions = 0

    def on_connect(self, conn: Client) -> None:
        self.client = conn

    async def initialize(self, protocol_version: int, **_: Any) -> InitializeResponse:
        return InitializeResponse(protocol_version=protocol_version)

    async def new_session(self, cwd: str, **_: Any) -> NewSessionResponse:
        self.sessions += 1
        return NewSessionResponse(session_id=f"python-{self.sessions}")

    async def prompt(self, prompt: list[Any], session_id: str, **_: Any) -> PromptResponse:
        for step in json.loads(prompt[0].text):
            ((verb, value),) = step.items()
            with suppress(RequestError):
                await getattr(self, verb)(session_id, value)
        return PromptResponse(stop_reason="end_turn")

    async def permit(self, session_id: str, tool_call: dict[str, Any]) -> None:
        asked = ToolCallUpdate.model_validate(tool_call)
        await self.client.request_permission(session_id=session_id, tool_call=asked, options=OPTIONS)

    async def tell(self, session_id: str, update: dict[str, Any]) -> None:
        progress = ToolCallProgress.model_validate({"sessionUpdate": "tool_call_update", **update})
        await self.client.session_update(session_id=session_id, update=progress)

    async def write(self, session_id: str, params: dict[str, Any]) -> None:
        await self.client.write_text_file(session_id=session_id, **params)

    async def run(self, session_id: str, params: dict[str, Any]) -> None:
        env = [EnvVariable(**one) for one in params.pop("env", [])]
        terminal = await self.client.create_terminal(session_id=session_id, env=env, **params)
        await self.client.wait_for_terminal_exit(session_id=session_id, terminal_id=terminal.terminal_id)


if __name__ == "__main__":
    asyncio.run(run_agent(Cheat()))  # type: ignore[arg-type]
