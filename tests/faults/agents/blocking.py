"""An agent whose handler is a plain function that blocks its thread."""

import os
import time

from dragoman import Agent, Limits, serve

agent = Agent("blocking")


@agent.prompt
def block(turn: object) -> None:
    time.sleep(60)


# Whoever knows that it will not end by itself need not wait for that.
serve(agent, limits=Limits(end_seconds=0.2, cancel_seconds=0.2) if "AT_ONCE" in os.environ else None)
