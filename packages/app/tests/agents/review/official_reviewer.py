"""A client of the official Python SDK that has a folder reviewed and mended, and loads the session again.

Arguments: the folder and the agent's command. It prints what it has seen as one JSON object.
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

from acp import PROTOCOL_VERSION, RequestError, spawn_agent_process
from acp.schema import (
    AllowedOutcome,
    ClientCapabilities,
    FileSystemCapabilities,
    PermissionOption,
    ReadTextFileResponse,
    RequestPermissionResponse,
    TextContentBlock,
    ToolCallUpdate,
    WriteTextFileResponse,
)


class Reviewer:
    """Lends its files, allows everything once, and notes what it is told."""

    def __init__(self) -> None:
        self.seen: list[Any] = []
        self.asked: list[list[str]] = []
        self.written: dict[str, str] = {}

    def on_connect(self, conn: Any) -> None:
        self.agent = conn

    async def session_update(self, session_id: str, update: Any, **_: Any) -> None:
        self.seen.append(update)

    async def request_permission(
        self, session_id: str, tool_call: ToolCallUpdate, options: list[PermissionOption], **_: Any
    ) -> RequestPermissionResponse:
        blocks = tool_call.content or []
        self.asked.append([str(tool_call.kind), *(block.type for block in blocks)])
        chosen = next(option.option_id for option in options if option.kind == "allow_once")
        return RequestPermissionResponse(outcome=AllowedOutcome(outcome="selected", option_id=chosen))

    async def read_text_file(self, session_id: str, path: str, **_: Any) -> ReadTextFileResponse:
        return ReadTextFileResponse(content=Path(path).read_text())

    async def write_text_file(
        self, session_id: str, path: str, content: str, **_: Any
    ) -> WriteTextFileResponse:
        self.written[path] = content
        return WriteTextFileResponse()

    async def told(self) -> dict[str, Any]:
        for _ in range(200):  # the SDK handles each update in a task of its own
            await asyncio.sleep(0)
        seen, self.seen = self.seen, []
        kinds = [update.session_update for update in seen]
        tools: dict[str, Any] = {}
        for update in seen:
            if update.session_update in ("tool_call", "tool_call_update"):
                tools[update.tool_call_id] = update.status or tools.get(update.tool_call_id)
        chunks = [update for update in seen if update.session_update == "agent_message_chunk"]
        said = [update for update in seen if update.session_update == "user_message_chunk"]
        plans = [[e.status for e in update.entries] for update in seen if update.session_update == "plan"]
        return {
            "kinds": sorted(set(kinds)),
            "tools": sorted(set(tools.values())),
            "text": "".join(chunk.content.text for chunk in chunks),
            "user": [chunk.content.text for chunk in said],
            "plan": plans[-1] if plans else None,
        }


async def main(folder: str, command: list[str]) -> dict[str, Any]:
    reviewer: Any = Reviewer()
    report: dict[str, Any] = {}
    able = ClientCapabilities(fs=FileSystemCapabilities(read_text_file=True, write_text_file=True))
    async with spawn_agent_process(reviewer, *command) as (agent, _):
        await agent.initialize(protocol_version=PROTOCOL_VERSION, client_capabilities=able)
        made = await agent.new_session(cwd=folder, mcp_servers=[])
        assert made.modes
        assert made.config_options
        report["modes"] = [mode.id for mode in made.modes.available_modes]
        report["options"] = [option.id for option in made.config_options]
        for name, words in (("review", "review src/app.py"), ("fix", "apply the fixes"), ("odd", "sing!")):
            block = TextContentBlock(type="text", text=words)
            answer = await agent.prompt(session_id=made.session_id, prompt=[block])
            report[name] = {"stop": answer.stop_reason, **await reviewer.told()}
    async with spawn_agent_process(reviewer, *command) as (agent, _):
        await agent.initialize(protocol_version=PROTOCOL_VERSION, client_capabilities=able)
        await agent.load_session(cwd=folder, session_id=made.session_id, mcp_servers=[])
        report["loaded"] = await reviewer.told()
        try:
            await agent.load_session(cwd=folder, session_id="lost", mcp_servers=[])
        except RequestError as error:
            report["lost"] = error.code
    return report | {"asked": reviewer.asked, "written": reviewer.written}


if __name__ == "__main__":
    print(json.dumps(asyncio.run(main(sys.argv[1], sys.argv[2:]))))
