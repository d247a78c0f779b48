"""An agent whose handler is a plain function that blocks its thread."""

import time

from dragoman import Agent, serve

agent = Agent("blocking")


@agent.prompt
def block(turn: object) -> None:
    time.sleep(60)


serve(agent)
