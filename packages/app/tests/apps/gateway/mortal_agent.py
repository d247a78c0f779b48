"""An agent that ends its process when it is told to die, and says its process id otherwise."""

import os
import sys

from dragoman import Agent, Turn, serve

agent = Agent("mortal")


@agent.prompt
async def reply(turn: Turn) -> None:
    if "die" in turn.text:
        sys.stderr.write("no will to live\n")
        sys.stderr.flush()
        os._exit(3)
    await turn.say(f"process {os.getpid()}")


serve(agent)
