"""The smallest client: it starts an agent, says hello and prints what comes back."""

import asyncio
import sys

from dragoman import connect
from dragoman.schema.v1 import AgentMessageChunk, TextContent


async def main() -> None:
    async with connect([sys.executable, "examples/echo_agent.py"]) as agent:
        session = await agent.new_session(cwd="/tmp")
        async for update in session.prompt("Hello"):
            if isinstance(update, AgentMessageChunk) and isinstance(update.content, TextContent):
                print(update.content.text, end="")
    print()


asyncio.run(main())
