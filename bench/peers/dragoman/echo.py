"""The smallest useful agent of Dragoman: it repeats what it is told."""

from __future__ import annotations

from dragoman import Agent, Turn, serve

agent = Agent("echo")


@agent.prompt
async def reply(turn: Turn) -> None:
    for block in turn.prompt:
        await turn.say(block)


if __name__ == "__main__":
    serve(agent)
