"""A client of one prompt: a node of LangGraph. It allows every permission, and prints.

Arguments: the prompt, and the agent's command.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

from langgraph_acp import ACPAgentRegistry, StdioACPProvider
from langgraph_acp.node import ACPNode
from langgraph_acp.permissions import ACPPermissionOutcome


async def allow(request: Any) -> Any:
    """The first option that permits."""
    permitting = [option for option in request.options if str(option.kind).startswith("allow")]
    return ACPPermissionOutcome.selected(permitting[0].option_id)


async def main() -> None:
    """One conversation."""
    prompt, *command = sys.argv[1:]
    provider = StdioACPProvider(name="agent", command=command, permissions=allow)
    node = ACPNode(agent="agent", registry=ACPAgentRegistry([provider]), working_directory=Path.cwd())
    sys.stdout.write((await node(prompt)).message)


asyncio.run(main())
