"""A client of one prompt, written with the official Python SDK. It allows every permission, and prints.

Arguments: the prompt, and the agent's command.
"""

from __future__ import annotations

import asyncio
import os
import sys
from typing import Any, cast

from acp import PROTOCOL_VERSION, spawn_agent_process, text_block
from acp.schema import AllowedOutcome, RequestPermissionResponse


class SdkClient:
    """Without the SDK's `Client` as its base, which would demand every method of it."""

    def on_connect(self, conn: Any) -> None:
        """The SDK calls this when the connection is there."""

    async def request_permission(self, options: Any, **_: Any) -> RequestPermissionResponse:
        """Allow it."""
        chosen = next((option for option in options if option.kind == "allow_once"), options[0])
        return RequestPermissionResponse(
            outcome=AllowedOutcome(outcome="selected", option_id=chosen.option_id)
        )

    async def session_update(self, update: Any, **_: Any) -> None:
        """Print the agent's words."""
        if update.session_update == "agent_message_chunk":
            sys.stdout.write(getattr(update.content, "text", ""))


async def main() -> None:
    """One conversation."""
    prompt, command, *words = sys.argv[1:]
    # Everything that its own environment has: without that the agent would not find its modules.
    spawned = spawn_agent_process(cast(Any, SdkClient()), command, *words, env=dict(os.environ))
    async with spawned as (connection, _):
        await connection.initialize(protocol_version=PROTOCOL_VERSION)
        session = await connection.new_session(cwd=os.getcwd(), mcp_servers=[])
        await connection.prompt(session_id=session.session_id, prompt=[text_block(prompt)])


asyncio.run(main())
