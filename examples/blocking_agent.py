"""An agent of plain functions: it counts the lines of a file that its client lends it.

    python examples/blocking_agent.py

No `async` anywhere: the handler has a thread of its own, and each call waits for its answer.
"""

from dragoman.blocking import Agent, Turn, serve

agent = Agent("line-counter")


@agent.prompt
def reply(turn: Turn) -> None:
    path = turn.text.strip()
    with turn.tool(f"Read {path}", kind="read") as call:
        content = turn.read_text_file(path)
        call.complete(f"{len(content)} characters")
    turn.say(f"{path} has {len(content.splitlines())} lines.")


if __name__ == "__main__":
    serve(agent)
