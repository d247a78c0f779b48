"""An agent with durable sessions: it keeps notes, and still has them after a restart.

    python examples/notes_agent.py [JOURNAL]

Everything that goes into a session is kept by the kit; what the agent itself must know again, it remembers.
"""

import asyncio
import sys

from dragoman import Agent, Kit, KitSession, KitTurn, Modes, Option, serve


class Notebook:
    """The notes of one session, made anew from what was remembered."""

    def __init__(self, session: KitSession["Notebook"]) -> None:
        self.notes = [str(note) for note in session.memories]


agent = Agent("notes", version="1.0.0", title="Notes")
kit = Kit(
    agent,
    journal=sys.argv[1] if len(sys.argv) > 1 else None,
    conversation=Notebook,
    modes=Modes(("plain", "Plain"), ("careful", "Ask before writing")),
    options=[Option("order", [("oldest", "Oldest first"), ("latest", "Latest first")])],
)


@kit.command("list", "Shows all notes")
async def show(turn: KitTurn[Notebook], argument: str) -> None:
    notes = turn.session.conversation.notes
    ordered = notes if turn.session["order"] == "oldest" else notes[::-1]
    await turn.say("\n".join(ordered) or "There are no notes.")


@kit.command("wait", "Waits, until it is cancelled", hint="seconds")
async def wait(turn: KitTurn[Notebook], argument: str) -> None:
    async with turn.tool("Wait", kind="execute"):
        await asyncio.sleep(float(argument or 3600))


@kit.prompt
async def take(turn: KitTurn[Notebook]) -> None:
    await turn.think("A note, then.")
    await turn.plan([("Take the note", "in_progress"), "Say so"])
    async with turn.tool("Write the note", kind="edit", raw_input={"text": turn.text}) as call:
        if turn.session.mode_id == "careful" and not await call.ask():
            await turn.say("I did not write it down.")
            return
        turn.session.conversation.notes.append(turn.text)
        turn.session.remember(turn.text)
    await turn.plan([("Take the note", "completed"), ("Say so", "completed")])
    await turn.say(f"That is note {len(turn.session.conversation.notes)}.")


if __name__ == "__main__":
    serve(agent)
