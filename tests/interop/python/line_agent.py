"""An agent that gives a whole line for a shell to the client's terminal, as crow-cli 0.1 does."""

from __future__ import annotations

from dragoman import Agent, Turn, serve

agent = Agent("line")


@agent.prompt
async def prompt(turn: Turn) -> None:
    line = turn.text.rpartition("[interop:run ")[2].removesuffix("]")
    async with (
        turn.tool(line, kind="execute"),
        await turn.create_terminal(line) as terminal,
    ):
        await terminal.wait()


if __name__ == "__main__":
    serve(agent)
