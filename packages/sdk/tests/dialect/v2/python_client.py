"""A v2 client of the official Python SDK's coming version: arguments are a folder and the agent's command.

It has the folder reviewed and mended, closes the session, and prints what it has seen as one JSON object. The
version that is installed has no v2, so nothing of this is typed.
"""

from __future__ import annotations

import asyncio
import json
import sys
from importlib import import_module
from typing import Any

v2: Any = import_module("acp.experimental.v2")
schema: Any = import_module("acp.experimental.v2.schema")


class Watcher:
    """A client of the SDK: it allows everything, and waits for the session to be idle."""

    def __init__(self) -> None:
        self.updates: list[Any] = []
        self.asked: list[Any] = []
        self.idle = asyncio.Event()

    async def session_update(self, session_id: str, update: Any, **kwargs: Any) -> None:
        self.updates.append(update.model_dump(mode="json", by_alias=True, exclude_unset=True))
        if self.updates[-1].get("state") == "idle":
            self.idle.set()

    async def request_permission(self, session_id: str, title: str, options: Any, **kwargs: Any) -> Any:
        self.asked.append(title)
        chosen = next(option for option in options if option.kind == "allow_once")
        outcome = {"outcome": "selected", "optionId": chosen.option_id}
        return schema.RequestPermissionResponse.model_validate({"outcome": outcome})

    async def turn(self, agent: Any, session_id: str, text: str) -> dict[str, Any]:
        self.idle.clear()
        self.updates.clear()
        block = schema.TextContentBlock.model_validate({"type": "text", "text": text})
        answer = await agent.prompt(session_id=session_id, prompt=[block])
        await self.idle.wait()
        chunks = [one for one in self.updates if one["sessionUpdate"] == "agent_message_chunk"]
        said = [one["messageId"] for one in self.updates if one["sessionUpdate"] == "user_message"]
        return {
            "acknowledged": said == [answer.message_id],
            "states": [one.get("stopReason") or one["state"] for one in self.updates if "state" in one],
            "text": "".join(one["content"]["text"] for one in chunks),
        }


async def main(cwd: str, *command: str) -> dict[str, Any]:
    child = await asyncio.create_subprocess_exec(
        *command, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
    )
    watcher = Watcher()
    agent = v2.client.connect_to_agent(watcher, child.stdin, child.stdout)
    info = schema.Implementation(name="python-v2", version="1")
    met = await agent.initialize(protocol_version=2, info=info)
    session = await agent.new_session(cwd=cwd, mcp_servers=[])
    report: dict[str, Any] = {"agent": met.info.name}
    report["options"] = [option.config_id for option in session.config_options]
    report["review"] = await watcher.turn(agent, session.session_id, "review src/app.py")
    report["fix"] = await watcher.turn(agent, session.session_id, "apply the fixes")
    await agent.close_session(session_id=session.session_id)
    await agent.close()
    if child.stdin is not None:
        child.stdin.close()
    await child.wait()
    return {**report, "asked": watcher.asked}


if __name__ == "__main__":
    print(json.dumps(asyncio.run(main(*sys.argv[1:]))))
