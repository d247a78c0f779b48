"""The smallest client: it starts an agent, says hello and prints what comes back."""

import asyncio
import sys
from pathlib import Path

from dragoman import connect

ECHO = Path(__file__).with_name("echo_agent.py")


async def main() -> None:
    async with connect([sys.executable, str(ECHO)]) as agent:
        session = await agent.new_session(cwd="/tmp")
        async for text in session.prompt("Hello").texts():
            print(text, end="")
    print()


asyncio.run(main())
