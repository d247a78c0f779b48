"""The smallest agent: it says what it was told."""

from dragoman import Agent, Turn, serve

agent = Agent("echo")


@agent.prompt
async def reply(turn: Turn) -> None:
    await turn.say(f"You said: {turn.text}")


if __name__ == "__main__":
    serve(agent)
