"""A client of the official Python SDK: it talks in a session, hangs up, and loads it in a new process.

Arguments: the agent's command. It prints what it has seen as one JSON object.
"""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

from acp import PROTOCOL_VERSION, spawn_agent_process
from acp.schema import TextContentBlock


class Keeper:
    """Notes what it is told."""

    def __init__(self) -> None:
        self.seen: list[list[str]] = []

    async def session_update(self, session_id: str, update: Any, **_: Any) -> None:
        if update.session_update == "available_commands_update":
            return
        text = getattr(getattr(update, "content", None), "text", None) or getattr(update, "title", None) or ""
        self.seen.append([update.session_update, text])

    def told(self) -> list[list[str]]:
        seen, self.seen = self.seen, []
        return seen


async def settled() -> None:
    """The SDK handles each update in a task of its own: let them run."""
    for _ in range(200):
        await asyncio.sleep(0)


async def main(command: list[str]) -> dict[str, Any]:
    keeper: Any = Keeper()
    report: dict[str, Any] = {}
    async with spawn_agent_process(keeper, *command) as (agent, _):
        await agent.initialize(protocol_version=PROTOCOL_VERSION)
        made = await agent.new_session(cwd="/tmp", mcp_servers=[])
        assert made.modes
        assert made.config_options
        report["modes"] = [mode.id for mode in made.modes.available_modes]
        report["options"] = [option.id for option in made.config_options]
        block = TextContentBlock(type="text", text="buy milk")
        answer = await agent.prompt(session_id=made.session_id, prompt=[block])
        await settled()
        report |= {"stop": answer.stop_reason, "live": keeper.told()}
    async with spawn_agent_process(keeper, *command) as (agent, _):
        await agent.initialize(protocol_version=PROTOCOL_VERSION)
        loaded = await agent.load_session(cwd="/tmp", session_id=made.session_id, mcp_servers=[])
        await settled()
        assert loaded.modes
        report |= {"mode": loaded.modes.current_mode_id, "replayed": keeper.told()}
        listed = await agent.list_sessions(cwd="/tmp")
        report["listed"] = [[one.session_id == made.session_id, one.title] for one in listed.sessions]
        await agent.fork_session(session_id=made.session_id, cwd="/tmp")
    return report


if __name__ == "__main__":
    print(json.dumps(asyncio.run(main(sys.argv[1:]))))
