"""A client of one prompt, written with `acp-client`. It allows every permission, and prints.

Arguments: the prompt, and the agent's command.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

from acp_client import Agent


async def allow(request: dict[str, Any]) -> str | None:
    """The first option that permits."""
    kinds = {option["kind"]: option["optionId"] for option in reversed(request["options"])}
    return kinds.get("allow_once") or kinds.get("allow_always")


async def main() -> None:
    """One conversation."""
    prompt, *command = sys.argv[1:]
    agent = Agent(command, Path.cwd(), permission=allow)
    sys.stdout.write(await agent.ask(prompt))
    await agent.stop()


asyncio.run(main())
